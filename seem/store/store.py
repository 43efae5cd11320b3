"""The store: the single truth, one transaction a write, one consistent view a read.

Takes drafts and batches, gives passages, frames, facts and whole snapshots. Everything else (vector, word and graph
indexes) can be rebuilt from it. One ``Store`` may be used by several threads, one file by several processes. Knows
nothing about models: what is written was computed before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row, Table
from sqlalchemy.exc import SQLAlchemyError

from seem.errors import InputError, NotFoundError, StoreError
from seem.store import rows
from seem.store import schema as t
from seem.store.batch import Change, Draft, Snapshot, WriteBatch
from seem.store.commit import write_batch
from seem.store.engine import in_memory, locate, name, open_engine, translated
from seem.store.ids import new_id
from seem.store.ledger import advance, close_account, note, open_account, seen_generation
from seem.store.reading import count_all, count_rows, read_snapshot
from seem.store.statements import chunks
from seem.types import Frame, Passage, StoredFact

# A passage that failed this often waits until it is written again; a model that is away does not count as a failure.
MAX_ATTEMPTS = 3


class StaleError(StoreError):
    """The memory has changed since the batch was computed; load it again and compute anew. Nothing was written."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A recorded change and when it was made; texts of deleted passages are ``None``."""

    memory: str
    at: datetime
    change: Change


class Store:
    """A database of memories."""

    def __init__(self, path_or_url: str | Path, *, busy_timeout: float = 30.0) -> None:
        """Open or create the store at a path, ``:memory:`` or URL; wait ``busy_timeout`` seconds for other writers."""
        url = locate(path_or_url)
        self.name = name(url)
        self._wait = busy_timeout
        self._engine = open_engine(url, busy_timeout=busy_timeout)
        # Threads of one process queue here in order instead of racing for SQLite's lock.
        self._writing = threading.Lock()
        # A database in memory has one connection, which cannot hold two transactions.
        self._reading: AbstractContextManager[Any] = self._writing if in_memory(url) else nullcontext()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of every connection."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection inside one consistent read transaction."""
        with translated(f"read the store {self.name}", wait=self._wait), self._reading:
            with self._engine.connect() as connection:
                if connection.dialect.name == "postgresql":
                    connection = connection.execution_options(isolation_level="REPEATABLE READ")
                yield connection

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with translated(f"write to the store {self.name}", wait=self._wait), self._writing:
            with self._engine.connect().execution_options(seem_begin="BEGIN IMMEDIATE") as connection:
                yield connection
                try:
                    connection.commit()
                except SQLAlchemyError:
                    # SQLite keeps a transaction open whose deferred keys fail, SQLAlchemy takes it for closed.
                    connection.connection.rollback()
                    raise

    def add_passages(self, memory: str, drafts: Sequence[Draft]) -> list[tuple[Passage, bool]]:
        """Store the drafts in order; give each passage and whether it is new (False where its key was known)."""
        check_key(memory)
        for number, draft in enumerate(drafts):
            _check_draft(number, draft)
        if not drafts:
            return []
        at = rows.now()
        with self._write() as connection:
            known = _by_key(connection, memory, [draft.key for draft in drafts])
            new: dict[str, Draft] = {}
            for draft in drafts:
                if draft.key not in known:
                    new.setdefault(draft.key, draft)
            if new:
                account = open_account(connection, memory, at)
                fresh = [
                    rows.draft_row(memory, draft, item_id=new_id("p"), position=account.arrivals + offset, at=at)
                    for offset, draft in enumerate(new.values())
                ]
                connection.execute(sa.insert(t.passages), fresh)
                generation = account.generation + 1
                advance(connection, memory, generation, arrivals=account.arrivals + len(fresh))
                note(connection, memory, generation, action="add", ids={"passage": [row["id"] for row in fresh]}, at=at)
                known |= _by_key(connection, memory, list(new))
        return [(known[draft.key], new.pop(draft.key, None) is not None) for draft in drafts]

    def apply(self, memory: str, batch: WriteBatch, *, expected: int | None = None) -> int:
        """Write the batch in one transaction; give the memory's new generation.

        With ``expected`` given and another generation stored, raise StaleError. A batch that does not fit what is
        stored (a missing passage, a frame left unfolded, another encoder's vectors) raises StoreError. Either way
        nothing is written.
        """
        check_key(memory)
        at = rows.now()
        with self._write() as connection:
            account = open_account(connection, memory, at)
            if expected is not None and expected != account.seen:
                raise StaleError(
                    f"the memory {memory!r} is at generation {account.seen}, the batch was computed at {expected}; "
                    "load it again"
                )
            generation = account.generation + 1
            touched = write_batch(connection, memory, batch, generation=generation, at=at)
            advance(connection, memory, generation)
            actors = sorted({change.actor for change in batch.history if change.actor})
            note(connection, memory, generation, action="apply", ids=touched, at=at, actor=", ".join(actors))
        return generation

    def delete_memory(self, memory: str) -> dict[str, int]:
        """Delete everything of one memory; give the number of rows by table. Call ``purge`` to leave no residue."""
        check_key(memory)
        tables = (t.passages, t.extractions, t.frames, t.entities, t.facts, t.vectors, t.history)
        with self._write() as connection:
            counts = {table.name: count_rows(connection, table, memory) for table in tables}
            generation = seen_generation(connection, memory)
            if generation:
                close_account(connection, memory, generation + 1)
                note(connection, memory, generation + 1, action="delete_memory", ids={}, at=rows.now())
        return counts

    def purge(self) -> None:
        """Leave no trace of what was deleted: rewrite the file, empty the write-ahead log. Seconds per gigabyte."""
        if self._engine.dialect.name != "sqlite":
            return
        with translated(f"purge the store {self.name}", wait=self._wait), self._writing:
            with self._engine.connect().execution_options(seem_begin=None) as connection:
                # secure_delete misses copies that a page split left in a page's gap; only a rewrite does not.
                connection.exec_driver_sql("VACUUM")
                busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
        if busy:
            raise StoreError(
                f"cannot purge the store {self.name}: another connection is reading, so deleted texts remain in the "
                "write-ahead log; close it and purge again"
            )

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
        query = sa.select(t.history).where(t.history.c.item_id == item_id).order_by(t.history.c.id)
        with self.reading() as connection:
            return [_entry(row) for row in connection.execute(query)]

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

    def load(self, memory: str) -> Snapshot:
        """Give the whole memory as of one generation; an unknown memory is empty."""
        check_key(memory)
        with self.reading() as connection:
            return read_snapshot(connection, memory)


def check_key(memory: str) -> str:
    """Give the memory's key back; refuse an empty or unstorable one. Keys are compared letter by letter."""
    if not memory:
        raise InputError("the memory's key is empty; name whose memory is meant")
    _check_text(memory, "the memory's key")
    return memory


def _check_draft(number: int, draft: Draft) -> None:
    which = f"passage {number} of the batch (key {draft.key!a})"
    if not draft.key:
        raise InputError(f"passage {number} of the batch has no key; give the message's id or a hash of its content")
    metadata = rows.encoded(dict(draft.metadata))
    for text in (draft.key, draft.text, draft.speaker, draft.session, draft.image, *draft.readers, metadata):
        _check_text(text, which)


def _check_text(text: str, which: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{which} holds a lone surrogate at character {error.start}, which is no text; replace it "
            "(nothing was stored)"
        ) from None


def _by_key(connection: Connection, memory: str, keys: Sequence[str]) -> dict[str, Passage]:
    found: dict[str, Passage] = {}
    for some in chunks(keys):
        query = sa.select(t.passages).where(t.passages.c.memory == memory, t.passages.c.key.in_(some))
        found.update({row.key: rows.to_passage(row) for row in connection.execute(query)})
    return found


def _one(connection: Connection, table: Table, item_id: str) -> Row[Any]:
    row = connection.execute(sa.select(table).where(table.c.id == item_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no {table.name[:-1]} {item_id!r}; it may have been deleted")
    return row


def _entry(row: Row[Any]) -> HistoryEntry:
    change = Change(item_id=row.item_id, event=row.event, old=row.old, new=row.new, actor=row.actor)
    return HistoryEntry(memory=row.memory, at=datetime.fromisoformat(row.at), change=change)
