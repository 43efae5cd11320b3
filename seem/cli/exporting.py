"""A memory as JSON lines: its passages with ids, times and metadata, and what was made of them.

Takes an opened memory; gives objects that ``seem import --format jsonl`` takes back as the same passages. A frame or
fact stands with the first passage that it cites; ``frame_id`` and ``fact_ids`` tell of the others. To a restricted
reader only what he may read is told. Knows nothing about models.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from seem.envelope import fact_dict, frame_dict
from seem.memory import Memory
from seem.rights import APART, principals_of
from seem.scope import IDS
from seem.store import schema as t
from seem.store.batch import Snapshot
from seem.store.store import Store
from seem.types import Passage

if TYPE_CHECKING:
    from seem.state import State


def export(memory: Memory, key: str, principals: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Give one object a passage of the memory ``key``, in order of arrival."""
    who = principals_of(principals)
    memory.parts.store.noted(key, "export", {})
    if who is None:
        yield from _lines(memory.parts.store, memory.parts.store.load(key))
        return
    with memory.pipeline.states.state(key, who) as state:
        lines = list(_lines(memory.parts.store, state))
    for line in lines:
        # What tells a message apart from one that this reader may not know of tells of that one.
        yield line | {"id": line["id"].partition(APART)[0]}


def _lines(store: Store, snapshot: Snapshot | State) -> Iterator[dict[str, Any]]:
    with store.reading() as connection:
        query = sa.select(t.passages.c.id, t.passages.c.key).where(t.passages.c.memory == snapshot.memory)
        keys = {row.id: row.key for row in connection.execute(query)}
    frame_of = {p: f.id for f in snapshot.frames.values() for p in f.provenance}
    facts_of: dict[str, list[str]] = {}
    for fact in snapshot.facts.values():
        for passage_id in fact.provenance:
            facts_of.setdefault(passage_id, []).append(fact.id)
    for passage in snapshot.passages.values():
        told = _passage(passage, keys.get(passage.id, passage.id))
        yield told | _made(snapshot, passage.id, frame_of.get(passage.id), facts_of.get(passage.id, []))


def write(lines: Iterable[Mapping[str, Any]], path: Path | None) -> int:
    """Write the objects to a file, whole or not at all, or to standard output; give their number."""
    texts = (json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    if path is None:
        return sum(1 for text in texts if sys.stdout.write(text))
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8") as file:
            count = sum(1 for text in texts if file.write(text))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return count


def _passage(passage: Passage, key: str) -> dict[str, Any]:
    own = {name: value for name, value in passage.metadata.items() if name not in IDS}
    told = {
        "id": key,
        "text": passage.text,
        "speaker": passage.speaker,
        "role": own.pop("role", None),
        "session": passage.session,
        "time": passage.time.isoformat() if passage.time else None,
        "image": passage.image,
        "readers": list(passage.readers),
        "metadata": own,
        "passage_id": passage.id,
        "status": passage.status,
        "created_at": passage.created_at.isoformat() if passage.created_at else None,
        **{name: passage.metadata[name] for name in IDS if name in passage.metadata},
    }
    return {name: value for name, value in told.items() if value not in (None, "", [], {})}


def _made(snapshot: Snapshot | State, passage_id: str, frame_id: str | None, fact_ids: list[str]) -> dict[str, Any]:
    told: dict[str, Any] = {"frame_id": frame_id} if frame_id else {}
    if frame_id and snapshot.frames[frame_id].provenance[0] == passage_id:
        told["frame"] = frame_dict(snapshot.frames[frame_id])
    first = [fact_dict(snapshot.facts[i]) for i in fact_ids if snapshot.facts[i].provenance[0] == passage_id]
    return told | ({"fact_ids": fact_ids} if fact_ids else {}) | ({"facts": first} if first else {})
