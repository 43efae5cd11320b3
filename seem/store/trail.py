"""The audit trail, read: who did what to which ids, and when. It holds no content, so it outlives what it tells of.

Takes a connection, gives entries page by page. Knows nothing about who may read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from seem.store import schema as t


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the trail. ``ids`` by kind are what was written or read, ``removed`` what went; ``at`` is ISO text in UTC."""

    id: int
    memory: str
    generation: int
    at: str
    actor: str
    action: str
    ids: Mapping[str, list[str]]
    removed: Mapping[str, list[str]]


def entries(
    connection: Connection,
    *,
    memory: str | None = None,
    item: str | None = None,
    action: str | None = None,
    actor: str | None = None,
    since: str | None = None,
    until: str | None = None,
    after: int = 0,
    limit: int | None = None,
) -> list[Entry]:
    """Give the entries that fit, oldest first, from behind the one numbered ``after``; moments as stored text."""
    a = t.audit.c
    query = sa.select(t.audit).where(a.id > after)
    for column, wanted in ((a.memory, memory), (a.action, action), (a.actor, actor)):
        query = query if wanted is None else query.where(column == wanted)
    if item is not None:
        query = query.where(a.ids.contains(json.dumps(item), autoescape=True))
    query = query if since is None else query.where(a.at >= since)
    query = query if until is None else query.where(a.at < until)
    return [_entry(row) for row in connection.execute(query.order_by(a.id).limit(limit))]


def _entry(row: Row[Any]) -> Entry:
    ids = json.loads(row.ids)
    removed = ids.pop("removed", {})
    return Entry(row.id, row.memory, row.generation, row.at, row.actor, row.action, ids, removed)
