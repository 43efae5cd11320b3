"""Opening a database: connection settings, the check that it is ours, migrations, and errors put into sentences.

Takes a path or URL, gives a SQLAlchemy engine ready for use. Refuses what it does not know and writes nothing to it.
Knows nothing about passages or frames.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from seem.errors import ConfigError, InputError, StoreError
from seem.store import postgres, schema

_MAGIC = b"SQLite format 3\x00"
_MEMORY = ":memory:"
# Alembic keeps its running context in module globals: one migration at a time in a process.
_migrating = threading.Lock()

_SENTENCES = {
    "SQLITE_BUSY": "the database is locked by another process that did not let go within {wait:g} s; try again later",
    "SQLITE_LOCKED": "the database is locked by another connection; try again later",
    "SQLITE_FULL": "the disk is full; free some space, nothing of this write was kept",
    "SQLITE_READONLY": "the database is read-only; check the rights of the file and its folder",
    "SQLITE_CANTOPEN": "the file cannot be opened; check that the folder exists and may be written",
    "SQLITE_NOTADB": "the file is not a SEEM database (not SQLite, or damaged); it was left untouched",
    "SQLITE_CORRUPT": "the database is damaged (malformed); restore a backup, or let `seem verify` say what is wrong",
    "SQLITE_IOERR": "the disk could not be read or written; check its health and free space",
    "SQLITE_TOOBIG": "a text is too long for the database; split it",
    "SQLITE_CONSTRAINT": postgres.SENTENCES["23"],
    **postgres.SENTENCES,
}


def locate(path_or_url: str | Path) -> URL:
    """Give the URL of a path, of ``:memory:`` or of a URL; a path means an SQLite file."""
    if isinstance(path_or_url, str) and "://" in path_or_url:
        try:
            return make_url(path_or_url)
        except ArgumentError as error:
            raise ConfigError("the store's URL cannot be read; write dialect://user:password@host/database") from error
    if str(path_or_url) == _MEMORY:
        return URL.create("sqlite", database=_MEMORY)
    if not str(path_or_url):
        raise ConfigError("the store's path is empty; name a file, or :memory:")
    return URL.create("sqlite", database=str(Path(path_or_url).expanduser()))


def in_memory(url: URL) -> bool:
    """Tell whether the database lives in this process only."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", _MEMORY)


def open_engine(url: URL, *, busy_timeout: float) -> Engine:
    """Open, check and migrate the database; raise StoreError in a sentence where that cannot be done."""
    with translated(f"open the store {name(url)}", wait=busy_timeout):
        if url.get_backend_name() == "sqlite" and not in_memory(url):
            _check_file(url)
        engine = _make_engine(url, busy_timeout)
        try:
            if engine.dialect.name == "sqlite":
                _set_up_sqlite(engine, busy_timeout)
            _prepare(engine, url, busy_timeout)
        except BaseException:
            engine.dispose()
            raise
        return engine


def _make_engine(url: URL, busy_timeout: float) -> Engine:
    if url.get_backend_name() == postgres.BACKEND:
        return postgres.make_engine(url, busy_timeout)
    options: dict[str, Any] = {"hide_parameters": True}
    if in_memory(url):
        options["poolclass"] = sa.StaticPool
        options["connect_args"] = {"check_same_thread": False}
    return sa.create_engine(url, **options)


def name(url: URL) -> str:
    """Say which store is meant, without the password."""
    if url.get_backend_name() == "sqlite":
        return url.database or _MEMORY
    return url.render_as_string(hide_password=True)


@contextmanager
def translated(doing: str, *, wait: float) -> Iterator[None]:
    """Turn whatever the database raises into a StoreError: what was attempted, what is wrong, what to do."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InputError(f"cannot {doing}: a text holds a lone surrogate; replace it (nothing was written)") from error
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise StoreError(f"cannot {doing}: {_reason(error, wait)}") from error


def _reason(error: Exception, wait: float) -> str:
    origin = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(origin, "sqlite_errorname", None) or getattr(origin, "sqlstate", None) or ""
    for prefix, sentence in _SENTENCES.items():
        if code.startswith(prefix):
            return sentence.format(wait=wait)
    if isinstance(error, OSError):
        return f"{error.strerror or 'the operating system refused'}; check the path and its rights"
    if isinstance(error, sa.exc.IntegrityError):
        return _SENTENCES["SQLITE_CONSTRAINT"]
    if isinstance(error, sa.exc.TimeoutError):
        return f"every connection was in use for {wait:g} s; try again later"
    if isinstance(error, sa.exc.OperationalError) and hasattr(origin, "sqlstate"):
        return postgres.UNREACHABLE
    if isinstance(error, sa.exc.NoSuchModuleError):
        return "no driver for this kind of database is installed"
    # The library's own text may quote SQL and the user's words: only the kind of the error is told.
    return f"the database refused ({type(origin).__name__})"


def _check_file(url: URL) -> None:
    database = url.database or ""
    if database.startswith("file:"):
        return
    path = Path(database)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise StoreError(f"cannot open the store {path}: it is a folder; name a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise StoreError(f"cannot open the store {path}: {_SENTENCES['SQLITE_READONLY']}")
    if path.exists() and path.stat().st_size:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise StoreError(f"cannot open the store {path}: {_SENTENCES['SQLITE_NOTADB']}")


def _set_up_sqlite(engine: Engine, busy_timeout: float) -> None:
    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, record: Any) -> None:
        # The driver's own guesses about transactions are switched off: BEGIN is said below, once, in the right kind.
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {int(busy_timeout * 1000)}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")

    @sa.event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        statement = connection.get_execution_options().get("seem_begin", "BEGIN")
        if statement:
            connection.exec_driver_sql(statement)


def _prepare(engine: Engine, url: URL, busy_timeout: float) -> None:
    with engine.connect() as connection:
        if engine.dialect.name == postgres.BACKEND:
            postgres.check(connection)
        current = _revision(connection, url)
    if engine.dialect.name == "sqlite" and not in_memory(url):
        _write_ahead(engine, busy_timeout)
    if current == schema.REVISION:
        return
    with _migrating, engine.connect().execution_options(seem_begin="BEGIN IMMEDIATE") as connection:
        if engine.dialect.name == postgres.BACKEND:
            postgres.lock(connection, "migration")
        # Read again under the lock: another process may have been first.
        if _revision(connection, url) != schema.REVISION:
            _migrate(connection, url)
        connection.commit()


def _revision(connection: Connection, url: URL) -> str | None:
    tables = sa.inspect(connection).get_table_names()
    if schema.VERSION_TABLE in tables:
        version = sa.table(schema.VERSION_TABLE, sa.column("version_num"))
        return str(connection.execute(sa.select(version.c.version_num)).scalar_one())
    if tables:
        raise StoreError(
            f"cannot open the store {name(url)}: the database holds tables of another program; name another file"
        )
    return None


def _write_ahead(engine: Engine, busy_timeout: float) -> None:
    """Switch to write-ahead logging; SQLite does not wait for others here, so this does."""
    deadline = time.monotonic() + busy_timeout
    with engine.connect().execution_options(seem_begin=None) as connection:
        while connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() != "wal":
            try:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            except DBAPIError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


def _migrate(connection: Connection, url: URL) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    # Alembic reads % as the start of a variable.
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StoreError(
            f"cannot open the store {name(url)}: it was written by a newer SEEM (its schema is not among ours, "
            f"the newest of which is {schema.REVISION}); update SEEM"
        ) from error
