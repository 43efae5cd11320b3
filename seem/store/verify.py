"""Checks of the store against itself: every sentence names one thing that is wrong, no sentence means sound.

Takes a store and one memory or all, reads only. Knows nothing about the indexes derived from the store; vectors are
checked as they are stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection, Table

from seem.errors import StoreError
from seem.store import rows
from seem.store import schema as t
from seem.store.batch import Vector
from seem.store.reader import check_key
from seem.store.store import Store

_UNIT_TOLERANCE = 1e-3


def verify(store: Store, memory: str | None) -> list[str]:
    """Give what is wrong with one memory, or with all of them; an empty list when sound."""
    if memory is not None:
        check_key(memory)
    found: list[str] = []
    try:
        with store.reading() as connection:
            found.extend(_file(connection))
            keys = [memory] if memory is not None else list(connection.scalars(sa.select(t.memories.c.key)))
            for key in sorted(keys):
                found.extend(f"memory {key!r}: {fault}" for check in _CHECKS for fault in check(connection, key))
    except StoreError as error:
        found.append(f"the check stopped: {error}")
    return found


def _file(connection: Connection) -> Iterator[str]:
    if connection.dialect.name != "sqlite":
        return
    for row in connection.exec_driver_sql("PRAGMA integrity_check"):
        if row[0] != "ok":
            yield f"the database file is damaged: {row[0]}"
    broken = Counter((row[0], row[2]) for row in connection.exec_driver_sql("PRAGMA foreign_key_check"))
    for (child, parent), count in sorted(broken.items()):
        yield f"{count} row(s) of {child} refer to rows of {parent} that do not exist"


def _provenance(connection: Connection, memory: str) -> Iterator[str]:
    passages = _ids(connection, t.passages, memory)
    for noun, table, links, column in (
        ("frame", t.frames, t.frame_members, "frame_id"),
        ("fact", t.facts, t.fact_sources, "fact_id"),
    ):
        query = sa.select(links.c[column], links.c.passage_id).where(links.c.memory == memory)
        pairs = [tuple(row) for row in connection.execute(query.order_by(links.c[column], links.c.rank))]
        for item_id, passage_id in pairs:
            if passage_id not in passages:
                yield f"the {noun} {item_id} cites the passage {passage_id}, which does not exist"
        for item_id in sorted(_ids(connection, table, memory) - {item_id for item_id, _ in pairs}):
            yield f"the {noun} {item_id} cites no passage"


def _extractions(connection: Connection, memory: str) -> Iterator[str]:
    e = t.extractions.c
    stored = {row.passage_id: row for row in connection.execute(sa.select(t.extractions).where(e.memory == memory))}
    m = t.frame_members.c
    members = set(connection.scalars(sa.select(m.passage_id).where(m.memory == memory)))
    for passage_id in sorted(_ids(connection, t.passages, memory, t.passages.c.status == "done") - stored.keys()):
        yield f"the passage {passage_id} is done, but has no extraction"
    for passage_id, row in stored.items():
        if passage_id not in members and rows.to_extraction(row).events:
            yield f"the extraction of the passage {passage_id} has events, but the passage is in no frame"
    for passage_id in sorted(members - stored.keys()):
        yield f"the passage {passage_id} is in a frame, but has no extraction"


def _graph(connection: Connection, memory: str) -> Iterator[str]:
    entities = _ids(connection, t.entities, memory)
    facts = _ids(connection, t.facts, memory)
    f = t.facts.c
    for row in connection.execute(sa.select(t.facts).where(f.memory == memory).order_by(f.serial)):
        for end in (row.subject_id, row.object_id):
            if end not in entities:
                yield f"the fact {row.id} has the entity {end} at an end, which does not exist"
        if row.superseded_by is not None and row.superseded_by not in facts:
            yield f"the fact {row.id} is superseded by {row.superseded_by}, which does not exist"
    e = t.entities.c
    for row in connection.execute(sa.select(e.id, e.name).where(e.memory == memory).order_by(e.id)):
        if not row.name.strip():
            yield f"the entity {row.id} has an empty name"


def _vectors(connection: Connection, memory: str) -> Iterator[str]:
    v = t.vectors.c
    stored = {
        (row.kind, row.item_id): row.vector
        for row in connection.execute(sa.select(t.vectors).where(v.memory == memory).order_by(v.kind, v.item_id))
    }
    existing = {
        (kind, item_id)
        for kind, table in (("passage", t.passages), ("frame", t.frames), ("fact", t.facts), ("entity", t.entities))
        for item_id in _ids(connection, table, memory)
    }
    told = sa.select(t.extractions).where(t.extractions.c.memory == memory)
    existing |= {("extraction", row.passage_id) for row in connection.execute(told) if rows.to_extraction(row).summary}
    p = t.passages.c
    texts = sa.select(p.id, p.text).where(p.memory == memory, p.status != "pending")
    searched = {("passage", row.id) for row in connection.execute(texts) if row.text.strip()}
    searched |= {key for key in existing if key[0] in ("extraction", "frame", "fact")}
    for kind, item_id in sorted(searched - stored.keys()):
        yield f"the {kind} {item_id} has no vector; run `seem reindex`"
    for kind, item_id in sorted(stored.keys() - existing):
        yield f"there is a vector of the {kind} {item_id}, which does not exist; run `seem reindex`"
    yield from _shapes(stored)


def _shapes(stored: Mapping[tuple[Any, Any], bytes]) -> Iterator[str]:
    """Check length and norm; the commonest length is taken as the right one."""
    lengths = Counter(len(blob) for blob in stored.values())
    for (kind, item_id), blob in stored.items():
        right = lengths.most_common(1)[0][0]
        if len(blob) != right or len(blob) % 4:
            yield (
                f"the vector of the {kind} {item_id} has dimension {len(blob) / 4:g}, the others have {right / 4:g}; "
                "run `seem reindex`"
            )
            continue
        vector: Vector = rows.to_vector(blob)
        norm = float(np.linalg.norm(vector))
        if not abs(norm - 1) <= _UNIT_TOLERANCE:
            yield f"the vector of the {kind} {item_id} has length {norm:.4g} instead of 1; run `seem reindex`"


def _ids(connection: Connection, table: Table, memory: str, *conditions: sa.ColumnElement[bool]) -> set[str]:
    return set(connection.scalars(sa.select(table.c.id).where(table.c.memory == memory, *conditions)))


_CHECKS = (_provenance, _extractions, _graph, _vectors)
