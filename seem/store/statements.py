"""Statements that every writer of the store needs: ids in chunks, inserts that replace.

Knows the two dialects and the tables' keys, nothing about what is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

_CHUNK = 500
# What a second write of the same item must not move.
_UNCHANGED = {
    "passages": ("key", "position", "created_at", "updated_at"),
    "frames": ("serial", "created_at"),
    "facts": ("serial",),
}


def chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    """Split ids into lists short enough for one statement."""
    unique = list(dict.fromkeys(ids))
    for start in range(0, len(unique), _CHUNK):
        yield unique[start : start + _CHUNK]


def insert(connection: Connection, table: Table) -> Any:
    """Give the dialect's INSERT, the one that knows ON CONFLICT."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def upsert(connection: Connection, table: Table, values: Sequence[dict[str, Any]]) -> None:
    """Insert the rows, replacing those whose key exists."""
    if not values:
        return
    statement = insert(connection, table)
    keys = [column.name for column in table.primary_key]
    fixed = {*keys, *_UNCHANGED.get(table.name, ())}
    changed = {column: statement.excluded[column] for column in values[0] if column not in fixed}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), values)
