"""Reading much at once: a whole memory as a snapshot, and the counts.

Takes a connection inside one consistent read transaction. Knows nothing about how it was opened.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy import Connection, Table

from seem.store import rows
from seem.store import schema as t
from seem.store.batch import Kind, Snapshot
from seem.types import Bond


def read_snapshot(connection: Connection, memory: str) -> Snapshot:
    """Give everything of one memory; an unknown memory is empty."""
    head = connection.execute(sa.select(t.memories).where(t.memories.c.key == memory)).one_or_none()
    members = _grouped(connection, t.frame_members, "frame_id", "passage_id", memory)
    sources = _grouped(connection, t.fact_sources, "fact_id", "passage_id", memory)
    aliases = _grouped(connection, t.aliases, "entity_id", "alias", memory)
    return Snapshot(
        memory=memory,
        generation=head.generation if head else 0,
        passages={row.id: rows.to_passage(row) for row in _owned(connection, t.passages, memory, "position")},
        extractions={row.passage_id: rows.to_extraction(row) for row in _owned(connection, t.extractions, memory)},
        frames={
            row.id: rows.to_frame(row, members.get(row.id, ()))
            for row in _owned(connection, t.frames, memory, "serial")
        },
        entities={
            row.id: rows.to_entity(row, aliases.get(row.id, ())) for row in _owned(connection, t.entities, memory, "id")
        },
        facts={
            row.id: rows.to_fact(row, sources.get(row.id, ())) for row in _owned(connection, t.facts, memory, "serial")
        },
        vectors={
            (cast(Kind, row.kind), row.item_id): rows.to_vector(row.vector)
            for row in _owned(connection, t.vectors, memory)
        },
        encoder=head.encoder if head else "",
        bonds=[
            Bond(row.one, row.other, bool(row.together), row.generation)
            for row in _owned(connection, t.bonds, memory, "generation")
        ],
    )


def count_all(connection: Connection, memory: str | None) -> dict[str, int]:
    """Count passages by status and everything made of them, of one memory or of all."""

    def count(table: Table, *conditions: sa.ColumnElement[bool]) -> int:
        return count_rows(connection, table, memory, *conditions)

    tables = (t.passages, t.extractions, t.frames, t.entities, t.facts, t.vectors, t.history)
    counts = {table.name: count(table) for table in tables}
    counts |= {status: count(t.passages, t.passages.c.status == status) for status in t.STATUSES}
    counts["closed_facts"] = count(t.facts, t.facts.c.expired_at.is_not(None))
    counts["truncated"] = count(t.extractions, t.extractions.c.truncated == 1)
    dropped = sa.select(sa.func.coalesce(sa.func.sum(t.extractions.c.dropped), 0))
    if memory is None:
        counts["memories"] = connection.scalar(sa.select(sa.func.count()).select_from(t.memories)) or 0
    else:
        dropped = dropped.where(t.extractions.c.memory == memory)
    counts["dropped"] = int(connection.scalar(dropped) or 0)
    return counts


def count_raw_characters(connection: Connection, memory: str | None) -> int:
    """Count the characters of passages that are stored raw, of one memory or of all."""
    p = t.passages.c
    query = sa.select(sa.func.coalesce(sa.func.sum(sa.func.length(p.text)), 0)).where(p.status == "raw")
    return int(connection.scalar(query if memory is None else query.where(p.memory == memory)) or 0)


def count_rows(connection: Connection, table: Table, memory: str | None, *conditions: sa.ColumnElement[bool]) -> int:
    """Count rows of a table, of one memory or of all."""
    query = sa.select(sa.func.count()).select_from(table).where(*conditions)
    return connection.scalar(query if memory is None else query.where(table.c.memory == memory)) or 0


def _owned(connection: Connection, table: Table, memory: str, order: str | None = None) -> sa.CursorResult[Any]:
    query = sa.select(table).where(table.c.memory == memory)
    return connection.execute(query if order is None else query.order_by(table.c[order]))


def _grouped(connection: Connection, table: Table, group: str, item: str, memory: str) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    query = sa.select(table.c[group], table.c[item]).where(table.c.memory == memory)
    for group_id, item_id in connection.execute(query.order_by(table.c[group], table.c.rank)):
        groups[group_id].append(item_id)
    return groups
