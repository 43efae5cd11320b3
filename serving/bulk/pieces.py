"""Files of JSON lines to rows that say whose memory each line belongs to, and which worker's turn it is.

Takes paths, gives pieces (cut between lines, so that many read one file), then rows; all lines of one memory have one
shard. Knows nothing about Ray or the store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.scope import IDS, scope
from seem.sources.files import parse

PIECE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines of a file: bytes from ``start`` to ``end``, the first of which is line ``line`` (from 1)."""

    number: int
    path: str
    start: int
    end: int
    line: int


def cut(paths: Sequence[Path], size: int = PIECE_BYTES) -> list[Piece]:
    """Cut files into pieces of about ``size`` bytes, in order; raise InputError where a file cannot be read."""
    pieces: list[Piece] = []
    for path in paths:
        try:
            with path.open("rb") as file:
                line = 1
                while data := file.read(size):
                    start = file.tell() - len(data)
                    rest = b"" if data.endswith(b"\n") else file.readline()
                    pieces.append(Piece(len(pieces), str(path.resolve()), start, file.tell(), line))
                    line += data.count(b"\n") + rest.count(b"\n")
        except OSError as error:
            raise InputError(f"The file {str(path)!r} cannot be read: {error.strerror or error}.") from error
    return pieces


def rows(piece: Piece, shards: int, done: Collection[int], owner: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Give a row for each line that is not blank, but for those of shards that are ``done``.

    ``owner`` holds the ids of lines that name nobody. A line that cannot be used has a ``why``, and no memory.
    """
    with Path(piece.path).open("rb") as file:
        file.seek(piece.start)
        data = file.read(piece.end - piece.start)
    for offset, line in enumerate(data.split(b"\n")):
        if not line.strip():
            continue
        memory, why = _whose(line, owner)
        shard = shard_of(memory or piece.path, shards)
        if shard not in done:
            place = {"shard": shard, "piece": piece.number, "file": piece.path, "line": piece.line + offset}
            yield {**place, "memory": memory, "why": why, "data": b"" if why else line}


def ids_of(message: Mapping[str, Any], owner: Mapping[str, str]) -> dict[str, str]:
    """Give the ids that a line names, else the owner's; they are checked by ``scope``."""
    own = {name: message[name] for name in IDS if message.get(name) is not None}
    return own or dict(owner)


def shard_of(memory: str, shards: int) -> int:
    """Give the shard of a memory, the same on every machine."""
    return int.from_bytes(hashlib.sha256(memory.encode("utf-8", "replace")).digest()[:8]) % shards


def _whose(line: bytes, owner: Mapping[str, str]) -> tuple[str, str]:
    try:
        message = parse(line)
        if not isinstance(message, dict):
            raise InputError("a line must be an object with a text")
        return scope(None, **ids_of(message, owner)).memory, ""
    except ValueError as error:
        return "", f"not JSON: {error}"
    except InputError as error:
        return "", str(error)
