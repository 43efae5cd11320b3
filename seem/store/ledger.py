"""The book-keeping of each memory: its generation, its count of arrivals, and the audit trail (ids, no content).

A generation is never given twice, not even to a memory that was deleted and made again: an index built before the
deletion must notice. Knows nothing about what is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from seem.store import schema as t
from seem.store.batch import WriteBatch
from seem.store.statements import insert

# Who acts, where a change does not say so itself: set for a call, and read by whatever it writes.
ACTOR: ContextVar[str] = ContextVar("actor", default="")
_FLOOR = "deleted_up_to"
_UNPURGED = "unpurged"
_BY_HAND = {"MERGE", "SPLIT", "REASSIGN", "UNDO"}


@dataclass(frozen=True, slots=True)
class Account:
    """A memory's numbers under lock; ``seen`` is the generation that readers have seen (0 before the first write)."""

    generation: int
    arrivals: int
    seen: int


def seen_generation(connection: Connection, memory: str) -> int:
    """Give the generation of the last write; 0 where there is no such memory."""
    return connection.scalar(sa.select(t.memories.c.generation).where(t.memories.c.key == memory)) or 0


def open_account(connection: Connection, memory: str, at: str) -> Account:
    """Lock the memory for this transaction, creating it where it is new."""
    floor = connection.scalar(sa.select(t.counters.c.value).where(t.counters.c.name == _FLOOR)) or 0
    row = {"key": memory, "generation": floor, "arrivals": 0, "encoder": "", "created_at": at}
    made = insert(connection, t.memories).on_conflict_do_nothing().returning(t.memories.c.key)
    created = connection.execute(made, row).first() is not None
    numbers = sa.select(t.memories.c.generation, t.memories.c.arrivals).where(t.memories.c.key == memory)
    generation, arrivals = connection.execute(numbers.with_for_update()).one()
    return Account(generation, arrivals, 0 if created else generation)


def advance(connection: Connection, memory: str, generation: int, *, arrivals: int | None = None) -> None:
    """Set the new generation, and the number of passages that ever arrived where it changed."""
    values = {"generation": generation} if arrivals is None else {"generation": generation, "arrivals": arrivals}
    connection.execute(sa.update(t.memories).where(t.memories.c.key == memory).values(values))


def close_account(connection: Connection, memory: str, generation: int) -> None:
    """Delete the memory with all its rows; no memory will start at or below ``generation`` again."""
    connection.execute(sa.delete(t.memories).where(t.memories.c.key == memory))
    raised = insert(connection, t.counters).values(name=_FLOOR, value=generation)
    higher = t.counters.c.value < raised.excluded.value
    connection.execute(
        raised.on_conflict_do_update(index_elements=["name"], set_={"value": raised.excluded.value}, where=higher)
    )


def owe_purge(connection: Connection) -> None:
    """Note that deleted texts lie in the file until it is rewritten, so that a crash before that is made good later."""
    owing = insert(connection, t.counters).values(name=_UNPURGED, value=1)
    connection.execute(owing.on_conflict_do_update(index_elements=["name"], set_={"value": t.counters.c.value + 1}))


def owed_purges(connection: Connection) -> int:
    """Count the deletions since the file was last rewritten."""
    return connection.scalar(sa.select(t.counters.c.value).where(t.counters.c.name == _UNPURGED)) or 0


def settle_purges(connection: Connection, seen: int) -> None:
    """Note that the file was rewritten after ``seen`` deletions; one that came meanwhile is still owed."""
    owed = t.counters.c
    connection.execute(sa.delete(t.counters).where(owed.name == _UNPURGED, owed.value == seen))


def action_of(batch: WriteBatch) -> str:
    """Name what a batch does: delete, share (other readers), correct (frames, by hand), derive (by models), update, promote, fail, index."""
    events = {change.event for change in batch.history}
    named = (
        ("delete", batch.remove_passages),
        ("share", events & {"GRANT", "REVOKE"}),
        ("correct", events & _BY_HAND),
        ("derive", batch.extractions),
        ("update", batch.passages),
        ("promote", batch.again),
        ("fail", batch.failed),
    )
    return next((name for name, told in named if told), "index")


def note(
    connection: Connection,
    memory: str,
    generation: int,
    *,
    action: str,
    ids: Mapping[str, Sequence[str]],
    at: str,
    removed: Mapping[str, Sequence[str]] | None = None,
    actor: str = "",
) -> None:
    """Write the audit row: who did what to which ids, and when."""
    told: dict[str, object] = dict(_listed(ids))
    if gone := _listed(removed or {}):
        told["removed"] = gone
    row = {
        "memory": memory,
        "generation": generation,
        "at": at,
        "actor": actor or ACTOR.get(),
        "action": action,
        "ids": json.dumps(told),
    }
    connection.execute(sa.insert(t.audit), row)


def _listed(ids: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {kind: list(dict.fromkeys(items)) for kind, items in ids.items() if items}
