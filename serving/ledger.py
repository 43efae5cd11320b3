"""The server's own database: tenants, keys, replies to idempotency keys, jobs. What is remembered lies elsewhere.

Takes a folder, gives connections in transactions. One server process holds a folder at a time; the admin commands may
write beside it. Knows nothing about requests.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa
from sqlalchemy import Column, Integer, MetaData, Table, Text
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import SQLAlchemyError

from seem.errors import StoreError

VERSION = 1
LOCK = "serving.lock"

metadata = MetaData()

tenants = Table(
    "tenants",
    metadata,
    Column("id", Text, primary_key=True),
    Column("requests_per_minute", Integer),
    Column("passages", Integer),
    Column("created_at", Text, nullable=False),
)

# Of a key only the SHA-256 is kept: keys are 256 random bits, which no dictionary holds.
keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("principals", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text),
    Column("revoked_at", Text),
)

replies = Table(
    "replies",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("memory", Text, nullable=False, server_default=""),
    Column("status", Integer),
    Column("body", Text),
    Column("created_at", Text, nullable=False, index=True),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("memory", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("total", Integer),
    Column("result", Text),
    Column("error", Text),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
)


class Ledger:
    """The database, opened. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        """Open or create ``serving.db`` in the folder; raise StoreError where that cannot be done."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "serving.db"
        self._writing = threading.Lock()
        self._engine = sa.create_engine(URL.create("sqlite", database=str(self.path)), hide_parameters=True)
        sa.event.listen(self._engine, "connect", _connected)
        sa.event.listen(self._engine, "begin", _begun)
        with self.write() as connection:
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if version not in (0, VERSION):
                raise StoreError(f"{self.path} was written by another version of the server ({version}); update SEEM")
            metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")

    def close(self) -> None:
        """Let go of every connection."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection for reading."""
        with self._told(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give a connection in one transaction, durable when this returns."""
        with self._told(), self._writing, self._engine.connect().execution_options(begin="BEGIN IMMEDIATE") as wire:
            yield wire
            wire.commit()

    def files(self) -> list[Path]:
        """Name the files in which it lies."""
        return [self.path, self.path.with_name(f"{self.path.name}-wal")]

    def purge(self) -> None:
        """Leave no trace of what was deleted."""
        with self._told(), self._writing, self._engine.connect().execution_options(begin=None) as connection:
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            kind = type(getattr(error, "orig", None) or error).__name__
            raise StoreError(
                f"the server's database {self.path} refused ({kind}); check its disk and rights"
            ) from error


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Hold the folder for this process: a second server on it would not see what the first has loaded."""
    folder.mkdir(parents=True, exist_ok=True)
    file: IO[str]
    with (folder / LOCK).open("a") as file:
        if not _locked(file):
            raise StoreError(f"another server runs on {folder}; stop it, or name another data_dir")
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def holder(folder: Path) -> int:
    """Give the process id of the server that holds the folder; raise StoreError where none does."""
    try:
        with (folder / LOCK).open("r") as file:
            if not _locked(file):
                return int(file.read())
    except (FileNotFoundError, ValueError):
        pass
    raise StoreError(f"no server runs on {folder}; start it, or name its configuration with --config")


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def now() -> str:
    """Give this moment as it is stored."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _connected(connection: Any, _: Any) -> None:
    connection.isolation_level = None
    for pragma in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begun(connection: Connection) -> None:
    statement = connection.get_execution_options().get("begin", "BEGIN")
    if statement:
        connection.exec_driver_sql(statement)
