"""What happened to which item, and which passages each recorded text was made of.

The sources make forgetting complete: when a passage goes, every old or new text that quotes it is nulled, on
whichever item it was recorded. A text whose sources are unknown is not kept at all. Knows nothing about frames beyond
their members.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from seem.store import schema as t
from seem.store.batch import Change, WriteBatch
from seem.store.ledger import ACTOR
from seem.store.statements import chunks


def provenance(connection: Connection, memory: str, item_ids: Sequence[str]) -> dict[str, set[str]]:
    """Give the passages that each known item is made of; entities have none."""
    known: dict[str, set[str]] = defaultdict(set)
    for ids in chunks(item_ids):
        for table, item in ((t.frame_members, "frame_id"), (t.fact_sources, "fact_id")):
            owned = table.c.memory == memory
            query = sa.select(table.c[item], table.c.passage_id).where(owned, table.c[item].in_(ids))
            for item_id, passage_id in connection.execute(query):
                known[item_id].add(passage_id)
        for table, mine in ((t.passages, True), (t.entities, False)):
            query = sa.select(table.c.id).where(table.c.memory == memory, table.c.id.in_(ids))
            for item_id in connection.scalars(query):
                known[item_id].update({item_id} if mine else set())
    return known


def read_history(
    connection: Connection, *conditions: sa.ColumnElement[bool]
) -> list[tuple[Row[Any], tuple[str, ...], tuple[str, ...]]]:
    """Give rows of the history, oldest first, each with the passages that its old and its new text were made of.

    What was deleted is not among them any more.
    """
    found = connection.execute(sa.select(t.history).where(*conditions).order_by(t.history.c.id)).all()
    s, p = t.history_sources.c, t.passages.c
    made: dict[tuple[int, str], list[str]] = defaultdict(list)
    query = (
        sa.select(s.history_id, s.side, s.passage_id)
        .join(t.passages, (p.memory == s.memory) & (p.id == s.passage_id))
        .where(s.history_id.in_(sa.select(t.history.c.id).where(*conditions)))
    )
    for history_id, side, passage_id in connection.execute(query.order_by(p.position, p.id)):
        made[history_id, side].append(passage_id)
    return [(row, tuple(made[row.id, "old"]), tuple(made[row.id, "new"])) for row in found]


def forget_passages(connection: Connection, memory: str, passage_ids: Iterable[str]) -> None:
    """Null every text of the history that was made of these passages."""
    passage_ids = list(passage_ids)
    for ids in chunks(passage_ids):
        _null_quotes(connection, memory, ids, sa.true())
    blank(connection, memory, passage_ids)


def untell(connection: Connection, memory: str, passage_ids: Iterable[str]) -> None:
    """Null every text of the history that was made of these passages, but not their own words."""
    for ids in chunks(passage_ids):
        _null_quotes(connection, memory, ids, t.history.c.item_id.not_in(ids))


def _null_quotes(connection: Connection, memory: str, ids: Sequence[str], which: sa.ColumnElement[bool]) -> None:
    s = t.history_sources.c
    for side, column in (("old", t.history.c.old), ("new", t.history.c.new)):
        quoting = sa.select(s.history_id).where(s.memory == memory, s.passage_id.in_(ids), s.side == side)
        connection.execute(sa.update(t.history).where(t.history.c.id.in_(quoting), which).values({column: None}))


def blank(connection: Connection, memory: str, item_ids: Iterable[str]) -> None:
    """Null the texts of the items' own history."""
    for ids in chunks(item_ids):
        owned = t.history.c.memory == memory
        connection.execute(sa.update(t.history).where(owned, t.history.c.item_id.in_(ids)).values(old=None, new=None))


def write_history(
    connection: Connection, memory: str, batch: WriteBatch, before: dict[str, set[str]], *, generation: int, at: str
) -> None:
    """Write the batch's changes with the sources of their texts; ``before`` is the provenance ahead of the batch."""
    if not batch.history:
        return
    after = provenance(connection, memory, [i for c in batch.history for i in (c.item_id, c.new_of) if i is not None])
    values, links = [], []
    for change in batch.history:
        sides = _sides(change, before, after, set(batch.remove_passages) | set(batch.remove_entities))
        values.append(
            {
                "memory": memory,
                "generation": generation,
                "item_id": change.item_id,
                "event": change.event,
                "old": sides["old"][0],
                "new": sides["new"][0],
                "actor": change.actor or ACTOR.get(),
                "undoes": change.undoes,
                "at": at,
            }
        )
        links.append({side: sources for side, (text, sources) in sides.items() if text is not None})
    made = connection.scalars(sa.insert(t.history).returning(t.history.c.id, sort_by_parameter_order=True), values)
    sources = [
        {"history_id": history_id, "side": side, "memory": memory, "passage_id": passage_id}
        for history_id, sides_of in zip(made, links, strict=True)
        for side, passage_ids in sides_of.items()
        for passage_id in sorted(passage_ids)
    ]
    if sources:
        connection.execute(sa.insert(t.history_sources), sources)


def _sides(
    change: Change, before: dict[str, set[str]], after: dict[str, set[str]], removed: set[str]
) -> dict[str, tuple[str | None, set[str]]]:
    """Give each text of a change with its sources; a text whose sources are removed or unknown is not kept."""
    sides: dict[str, tuple[str | None, set[str]]] = {}
    for side, text, known, item_id in (
        ("old", change.old, before, change.item_id),
        ("new", change.new, after, change.new_of or change.item_id),
    ):
        sources = known.get(item_id)
        keep = sources is not None and change.item_id not in removed and not sources & removed
        sides[side] = (text if keep else None, sources or set())
    return sides
