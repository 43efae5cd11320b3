"""The store: the single truth, one transaction a write, one consistent view a read.

Takes drafts and batches, gives passages, frames, facts and whole snapshots. Everything else (vector, word and graph
indexes) can be rebuilt from it. One ``Store`` may be used by several threads, one file by several processes. Knows
nothing about models: what is written was computed before.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from seem.errors import InputError, StoreError
from seem.store import postgres, rows
from seem.store import schema as t
from seem.store.batch import Draft, WriteBatch
from seem.store.commit import write_batch
from seem.store.engine import in_memory, locate, name, open_engine, translated
from seem.store.erasure import Erased, Seen, beside
from seem.store.ids import new_id
from seem.store.ledger import (
    action_of,
    advance,
    close_account,
    note,
    open_account,
    owe_purge,
    owed_purges,
    seen_generation,
    settle_purges,
)
from seem.store.reader import Reader, check_key, check_text
from seem.store.reading import count_rows
from seem.store.statements import chunks
from seem.types import Passage

_log = logging.getLogger(__name__)


class StaleError(StoreError):
    """The memory has changed since the batch was computed; load it again and compute anew. Nothing was written."""


class Store(Reader):
    """A database of memories."""

    def __init__(self, path_or_url: str | Path, *, busy_timeout: float = 30.0) -> None:
        """Open or create the store at a path, ``:memory:`` or URL; wait ``busy_timeout`` seconds for other writers."""
        url = locate(path_or_url)
        self.name = name(url)
        on_disk = url.get_backend_name() == "sqlite" and not in_memory(url) and url.database
        self.path = Path(str(url.database)) if on_disk else None
        self._wait = busy_timeout
        self._engine = open_engine(url, busy_timeout=busy_timeout)
        self._server = self._engine.dialect.name == postgres.BACKEND
        # Threads of one process queue here in order instead of racing for SQLite's lock; PostgreSQL locks by memory.
        self._writing: AbstractContextManager[Any] = nullcontext() if self._server else threading.Lock()
        # A database in memory has one connection, which cannot hold two transactions.
        self._reading = self._writing if in_memory(url) else nullcontext()
        self._settle()

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
    def _write(self, memory: str | None) -> Iterator[Connection]:
        with translated(f"write to the store {self.name}", wait=self._wait), self._writing:
            with self._engine.connect().execution_options(seem_begin="BEGIN IMMEDIATE") as connection:
                if self._server and memory is not None:
                    postgres.lock(connection, f"memory {memory}")
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
        with self._write(memory) as connection:
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
        with self._write(memory) as connection:
            account = open_account(connection, memory, at)
            if expected is not None and expected != account.seen:
                raise StaleError(
                    f"the memory {memory!r} is at generation {account.seen}, the batch was computed at {expected}; "
                    "load it again"
                )
            generation = account.generation + 1
            written, removed = write_batch(connection, memory, batch, generation=generation, at=at)
            advance(connection, memory, generation)
            if batch.remove_passages or batch.untold:
                owe_purge(connection)
            actor = ", ".join(sorted({change.actor for change in batch.history if change.actor}))
            action = action_of(batch)
            note(connection, memory, generation, action=action, ids=written, removed=removed, at=at, actor=actor)
        return generation

    def delete_memory(self, memory: str) -> dict[str, int]:
        """Delete everything of one memory; give the number of rows by table. Call ``purge`` to leave no residue."""
        check_key(memory)
        tables = (t.passages, t.extractions, t.frames, t.entities, t.facts, t.vectors, t.history)
        with self._write(memory) as connection:
            counts = {table.name: count_rows(connection, table, memory) for table in tables}
            generation = seen_generation(connection, memory)
            if generation:
                close_account(connection, memory, generation + 1)
                owe_purge(connection)
                note(connection, memory, generation + 1, action="delete_memory", ids={}, at=rows.now())
        return counts

    def purge(self) -> None:
        """Leave no trace of what was deleted: rewrite the file, empty the write-ahead log. Seconds per gigabyte."""
        with self.reading() as connection:
            owed = owed_purges(connection)
        with translated(f"purge the store {self.name}", wait=self._wait), self._writing:
            if self._server:
                busy = not postgres.purge(self._engine, sorted(t.metadata.tables), wait=self._wait)
            else:
                busy = self._rewrite()
        if busy:
            raise StoreError(
                f"cannot purge the store {self.name}: another connection is reading, so deleted texts remain in the "
                "files; close it and purge again"
            )
        if owed:
            with self._write(None) as connection:
                settle_purges(connection, owed)

    def _rewrite(self) -> bool:
        with self._engine.connect().execution_options(seem_begin=None) as connection:
            # secure_delete misses copies that a page split left in a page's gap; only a rewrite does not.
            connection.exec_driver_sql("VACUUM")
            return bool(connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0])

    def _settle(self) -> None:
        """Make good what a process that died between a deletion and the purge left in the file."""
        with self.reading() as connection:
            owed = owed_purges(connection)
        if owed:
            try:
                self.purge()
            except StoreError as error:
                _log.warning("deleted texts still lie in the file: %s", error)

    def look(self, texts: Erased, folder: Path | None = None, also: Sequence[Path] = ()) -> Seen:
        """Look for erased texts in the database's files, in those of our ``folder`` where it lies there, and in ``also``."""
        if self.path is None:
            return texts.look(None, also)
        own = folder if folder is not None and folder.resolve() == self.path.parent.resolve() else None
        return texts.look(self.path, [*beside(self.path, own), *also])

    def noted(self, memory: str, action: str, ids: Mapping[str, Sequence[str]]) -> None:
        """Write a line of the audit trail about something that changed nothing."""
        with self._write(memory) as connection:
            note(connection, memory, seen_generation(connection, memory), action=action, ids=ids, at=rows.now())

    def encoder(self, memory: str) -> str:
        """Give the fingerprint of the encoder that made the memory's vectors; empty where there are none."""
        with self.reading() as connection:
            return connection.scalar(sa.select(t.memories.c.encoder).where(t.memories.c.key == check_key(memory))) or ""


def _check_draft(number: int, draft: Draft) -> None:
    which = f"passage {number} of the batch (key {draft.key!a})"
    if not draft.key:
        raise InputError(f"passage {number} of the batch has no key; give the message's id or a hash of its content")
    metadata = rows.encoded(dict(draft.metadata))
    for text in (draft.key, draft.text, draft.speaker, draft.session, draft.image, *draft.readers, metadata):
        check_text(text, which)


def _by_key(connection: Connection, memory: str, keys: Sequence[str]) -> dict[str, Passage]:
    found: dict[str, Passage] = {}
    for some in chunks(keys):
        query = sa.select(t.passages).where(t.passages.c.memory == memory, t.passages.c.key.in_(some))
        found.update({row.key: rows.to_passage(row) for row in connection.execute(query)})
    return found
