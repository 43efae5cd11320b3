"""What an erasure has to leave no trace of, and the search for such traces.

Takes the passages that go, gives every text that only rows of theirs hold, cut into pieces that survive in any form in
which a file may hold them; then looks for the pieces in files. Knows nothing about what is refolded.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import sys
import time
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, Connection, Table

from seem.errors import StoreError
from seem.store import schema as t
from seem.store.look import SHORTEST, Needles, chunks_of
from seem.store.statements import chunks

# A long text lies on several pages: it is looked for in pieces, of which each page holds some.
PIECE = 48
_PIECES_A_TEXT = 200
# Of more pieces than this, as many are drawn: enough to see whether an erasure worked.
MOST = 20_000
# A packed file is read so far, in parts of a MiB; a longer one counts as holding what is looked for.
UNPACKED = 4096
# What JSON writes otherwise than it was said.
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')
_PROGRAM = Path(__file__).with_name("look.py")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a search saw: files by name with bytes and hits, pieces looked for, and how many of them others say too.

    ``too_short`` counts erased texts that are too short to be told from chance, so nobody looked for them; ``unsearched``
    pieces of a database that lies in no files of ours.
    """

    files: tuple[dict[str, Any], ...] = ()
    bytes: int = 0
    looked_for: int = 0
    too_short: int = 0
    unsearched: int = 0
    said_elsewhere: int = 0
    hits: int = 0
    seconds: float = 0.0


class Erased:
    """The texts of an erasure. Never shown: they are what is to be gone."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        """Take the texts as they were stored."""
        texts = set(texts)
        self.pieces = {piece for text in texts for piece in _pieces(text)}
        self.too_short = sum(1 for text in texts if 0 < len(text.encode("utf-8", "replace")) < SHORTEST)

    def __or__(self, other: Erased) -> Erased:
        both = Erased()
        both.pieces = self.pieces | other.pieces
        both.too_short = self.too_short + other.too_short
        return both

    def in_file(self, path: Path) -> bool:
        """Tell whether a file, or one packed into it, holds any of it; so does one that cannot be unpacked."""
        needles = Needles(self.pieces)
        try:
            with zipfile.ZipFile(path) as packed:
                parts = itertools.chain.from_iterable(chunks_of(packed.open(name)) for name in packed.namelist())
                held = needles.inside_all(itertools.islice(parts, UNPACKED))
                return bool(held) or next(parts, None) is not None
        except zipfile.BadZipFile:
            with path.open("rb") as file:
                return bool(needles.inside_all(chunks_of(file)))
        except (RuntimeError, NotImplementedError, EOFError, zlib.error):
            return True

    def look(self, database: Path | None, files: Sequence[Path]) -> Seen:
        """Look for it in files; what rows of ``database`` still say is no trace. Raise StoreError where that cannot be done."""
        if not files or not self.pieces:
            return Seen(unsearched=len(self.pieces), too_short=self.too_short)
        begun = time.monotonic()
        pieces = sorted(self.pieces)
        chosen = pieces if len(pieces) <= MOST else random.Random(0).sample(pieces, MOST)
        asked = {
            "needles": [piece.hex() for piece in chosen],
            "database": str(database) if database else None,
            "files": [str(file) for file in files],
        }
        try:
            done = subprocess.run(
                [sys.executable, "-P", str(_PROGRAM)],
                input=json.dumps(asked),
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
            told = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise StoreError(
                f"what was deleted is gone from the database, but its files could not be searched for traces of it "
                f"({type(error).__name__}); see that they can be read and that {sys.executable or 'Python'} can be started"
            ) from error
        files_told = tuple(told.pop("files"))
        return Seen(files_told, too_short=self.too_short, seconds=round(time.monotonic() - begun, 3), **told)


def erased(connection: Connection, memory: str, gone: Sequence[str], untold: Sequence[str] = ()) -> Erased:
    """Gather the texts of passages that go, and what was made of those that are told anew (``untold``)."""
    found: set[str] = set()
    for ids in chunks(gone):
        p = t.passages.c
        query = sa.select(p.text, p.image, p.session, p.error, p.metadata).where(p.memory == memory, p.id.in_(ids))
        for *words, metadata in connection.execute(query):
            found.update(word for word in words if word)
            found.update(_strings(json.loads(metadata)))
        found.update(_history(connection, memory, ids))
    for ids in chunks([*gone, *untold]):
        e = t.extractions.c
        told = sa.select(e.payload).where(e.memory == memory, e.passage_id.in_(ids))
        found.update(text for payload in connection.scalars(told) for text in _strings(json.loads(payload)))
        f = t.frames.c
        frames = _made(
            connection, t.frame_members, t.frame_members.c.frame_id, t.frames, (f.summary, f.payload), memory, ids
        )
        for summary, payload in frames:
            found.update((summary, *_strings(json.loads(payload))))
        facts = _made(connection, t.fact_sources, t.fact_sources.c.fact_id, t.facts, (t.facts.c.payload,), memory, ids)
        found.update(text for (payload,) in facts for text in _strings(json.loads(payload)))
    return Erased(found)


def former(connection: Connection, memory: str, gone: Sequence[str]) -> dict[str, set[str]]:
    """Give what passages said before they were corrected, by id."""
    found: dict[str, set[str]] = defaultdict(set)
    h = t.history.c
    for ids in chunks(gone):
        query = sa.select(h.item_id, h.old, h.new).where(h.memory == memory, h.item_id.in_(ids))
        for item_id, *texts in connection.execute(query):
            found[item_id].update(text for text in texts if text)
    return found


def beside(path: Path, folder: Path | None) -> list[Path]:
    """Name the files to be searched: the database, its log, what begins with its name, and what lies in our own folder."""
    named = [path, *sorted(path.parent.glob(f"{_literal(path.name)}?*"))]
    own = sorted(folder.iterdir()) if folder is not None and folder.is_dir() else []
    return [file for file in dict.fromkeys([*named, *own]) if file.is_file()]


def _literal(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _history(connection: Connection, memory: str, ids: Sequence[str]) -> Iterator[str]:
    h, s = t.history.c, t.history_sources.c
    quoting = sa.select(s.history_id).where(s.memory == memory, s.passage_id.in_(ids))
    query = sa.select(h.old, h.new).where(h.memory == memory, h.id.in_(quoting) | h.item_id.in_(ids))
    for row in connection.execute(query):
        yield from (text for text in row if text)


def _made(
    connection: Connection,
    links: Table,
    column: Column[Any],
    table: Table,
    columns: Sequence[Column[Any]],
    memory: str,
    ids: Sequence[str],
) -> Iterable[Any]:
    """Give columns of the frames or facts that cite any of the passages."""
    citing = sa.select(column).where(links.c.memory == memory, links.c.passage_id.in_(ids))
    return connection.execute(sa.select(*columns).where(table.c.memory == memory, table.c.id.in_(citing)))


def _strings(value: Any) -> Iterator[str]:
    """Give every text in a JSON value; names of fields are the user's only in metadata, where they are few."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _pieces(text: str) -> Iterator[bytes]:
    """Give the pieces in which a file may hold a text: as UTF-8, and as JSON in plain ASCII."""
    whole = text.encode("utf-8", "replace")
    runs = [run.encode("utf-8", "replace") for run in _ESCAPED.split(text)]
    if not text.isascii():
        runs += [run.encode() for run in re.split(r'\\["\\/bfnrt]', json.dumps(text)[1:-1])]
    for run in runs:
        if len(run) < SHORTEST or (len(run) < len(whole) and len(run) < PIECE // 2):
            # A short remainder beside an escape says little and stands in many texts.
            continue
        step = max(PIECE, len(run) // _PIECES_A_TEXT)
        starts = [*range(0, max(1, len(run) - PIECE), step), max(0, len(run) - PIECE)]
        yield from {run[start : start + PIECE] for start in starts}
