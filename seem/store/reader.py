"""What a store can tell: single items, lists, the history, the trail, whole memories; all of it inside one consistent view.

Takes what opens such a view, gives values. Writes nothing. Knows nothing about how the database was opened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row, Table

from seem.errors import InputError, NotFoundError
from seem.store import rows
from seem.store import schema as t
from seem.store.batch import Change, Snapshot
from seem.store.erasure import Erased, erased, former
from seem.store.history import read_history
from seem.store.ledger import seen_generation
from seem.store.reading import count_all, count_raw_characters, read_snapshot
from seem.store.trail import Entry, entries
from seem.types import Frame, Passage, StoredFact

# A passage that failed this often waits until it is written again; a model that is away does not count as a failure.
MAX_ATTEMPTS = 3
CORRECTIONS = ("SPLIT", "MERGE", "REASSIGN", "UNDO")


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A recorded change and when it was made; texts of deleted passages are ``None``.

    ``before`` and ``after`` are the passages that the old and the new text were made of (of a frame: its members), less
    those deleted since. What one write changed bears one ``generation``.
    """

    memory: str
    at: datetime
    change: Change
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    generation: int = 0


class Reader(ABC):
    """The reading half of a store."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """Give a connection inside one consistent read transaction."""

    def passage(self, passage_id: str) -> Passage:
        """Give a passage; raise NotFoundError where there is none."""
        with self.reading() as connection:
            return rows.to_passage(_one(connection, t.passages, passage_id))

    def passages(
        self, memory: str, *, status: str | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Passage]:
        """Give the passages in order of arrival, all or those of one status."""
        check_key(memory)
        query = sa.select(t.passages).where(t.passages.c.memory == memory)
        if status is not None:
            query = query.where(t.passages.c.status == status)
        with self.reading() as connection:
            found = connection.execute(query.order_by(t.passages.c.position).limit(limit).offset(offset))
            return [rows.to_passage(row) for row in found]

    def pending(self, memory: str | None, limit: int) -> list[Passage]:
        """Give the passages that await extraction, failed ones up to MAX_ATTEMPTS included, in order of arrival."""
        p = t.passages.c
        waiting = (p.status == "pending") | ((p.status == "failed") & (p.attempts < MAX_ATTEMPTS))
        query = sa.select(t.passages).where(waiting).limit(limit)
        if memory is None:
            query = query.order_by(p.created_at, p.memory, p.position)
        else:
            query = query.where(p.memory == check_key(memory)).order_by(p.position)
        with self.reading() as connection:
            return [rows.to_passage(row) for row in connection.execute(query)]

    def failures(self, memory: str) -> dict[str, tuple[str, int]]:
        """Give error text and number of attempts of each failed passage, by id."""
        p = t.passages.c
        query = sa.select(p.id, p.error, p.attempts).where(p.memory == check_key(memory), p.status == "failed")
        with self.reading() as connection:
            return {row.id: (row.error or "", row.attempts) for row in connection.execute(query.order_by(p.position))}

    def frame(self, frame_id: str) -> Frame:
        """Give a frame; raise NotFoundError where there is none."""
        m = t.frame_members.c
        with self.reading() as connection:
            row = _one(connection, t.frames, frame_id)
            members = sa.select(m.passage_id).where(m.memory == row.memory, m.frame_id == frame_id).order_by(m.rank)
            return rows.to_frame(row, connection.scalars(members))

    def fact(self, fact_id: str) -> StoredFact:
        """Give a fact; raise NotFoundError where there is none."""
        s = t.fact_sources.c
        with self.reading() as connection:
            row = _one(connection, t.facts, fact_id)
            sources = sa.select(s.passage_id).where(s.memory == row.memory, s.fact_id == fact_id).order_by(s.rank)
            return rows.to_fact(row, connection.scalars(sources))

    def history(self, item_id: str) -> list[HistoryEntry]:
        """Give the changes of one passage, frame, fact or entity, oldest first."""
        with self.reading() as connection:
            return [_entry(*found) for found in read_history(connection, t.history.c.item_id == item_id)]

    def owner(self, item_id: str) -> str:
        """Give the memory of a passage, frame or fact, also of a frame that went; raise NotFoundError where none is known."""
        with self.reading() as connection:
            for table in (t.passages, t.frames, t.facts, t.history):
                key = table.c.item_id if table is t.history else table.c.id
                found = connection.scalars(sa.select(table.c.memory).where(key == item_id).limit(1)).one_or_none()
                if found is not None:
                    return str(found)
        raise NotFoundError(f"there is no item {item_id!r}; it may have been deleted")

    def corrections(self, memory: str) -> list[HistoryEntry]:
        """Give what was split, merged, reassigned and undone in a memory, oldest first."""
        h = t.history.c
        with self.reading() as connection:
            found = read_history(connection, h.memory == check_key(memory), h.event.in_(CORRECTIONS))
            return [_entry(*one) for one in found]

    def memories(self) -> list[str]:
        """Give the keys of all memories, sorted."""
        with self.reading() as connection:
            return list(connection.scalars(sa.select(t.memories.c.key).order_by(t.memories.c.key)))

    def generation(self, memory: str) -> int:
        """Give the number of the memory's last write; 0 where there is no such memory."""
        check_key(memory)
        with self.reading() as connection:
            return seen_generation(connection, memory)

    def stats(self, memory: str | None) -> dict[str, int]:
        """Count what is stored, of one memory or of all."""
        with self.reading() as connection:
            return count_all(connection, memory)

    def raw_characters(self, memory: str | None) -> int:
        """Count the characters of what is stored raw, of one memory or of all."""
        with self.reading() as connection:
            return count_raw_characters(connection, memory)

    def load(self, memory: str) -> Snapshot:
        """Give the whole memory as of one generation; an unknown memory is empty."""
        check_key(memory)
        with self.reading() as connection:
            return read_snapshot(connection, memory)

    def audit(self, **which: Any) -> list[Entry]:
        """Give lines of the audit trail, oldest first; see ``seem.store.trail.entries``."""
        with self.reading() as connection:
            return entries(connection, **which)

    def former(self, memory: str, gone: Sequence[str]) -> dict[str, set[str]]:
        """Give what passages said before they were corrected, by id."""
        with self.reading() as connection:
            return former(connection, check_key(memory), gone)

    def erased(self, memory: str, gone: Sequence[str], untold: Sequence[str] = ()) -> Erased:
        """Gather every text that goes with these passages, before they go; of ``untold`` what was made of them."""
        with self.reading() as connection:
            return erased(connection, check_key(memory), gone, untold)


def check_key(memory: str) -> str:
    """Give the memory's key back; refuse an empty or unstorable one. Keys are compared letter by letter."""
    if not memory:
        raise InputError("the memory's key is empty; name whose memory is meant")
    check_text(memory, "the memory's key")
    return memory


def check_text(text: str, which: str) -> None:
    """Refuse a text that no database takes; ``which`` says where it stands."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{which} holds a lone surrogate at character {error.start}, which is no text; replace it "
            "(nothing was stored)"
        ) from None


def _one(connection: Connection, table: Table, item_id: str) -> Row[Any]:
    row = connection.execute(sa.select(table).where(table.c.id == item_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no {table.name[:-1]} {item_id!r}; it may have been deleted")
    return row


def _entry(row: Row[Any], before: tuple[str, ...], after: tuple[str, ...]) -> HistoryEntry:
    change = Change(row.item_id, row.event, row.old, row.new, row.actor, row.undoes)
    return HistoryEntry(row.memory, datetime.fromisoformat(row.at), change, before, after, row.generation)
