"""What PostgreSQL needs and SQLite does not: a schema per store, settings of a session, locks by memory, its own purge.

Takes URLs, engines and connections. ``?schema=NAME`` in a URL names the schema, which is made where it is missing.
Knows nothing about passages or frames.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine

from seem.errors import ConfigError, StoreError

BACKEND = "postgresql"
# Functions on 64-bit transaction numbers came with 13.
_LEAST = (13,)
_LONGEST_NAME = 63
# Every tenant of a server has an engine of its own, and a server of PostgreSQL takes some hundred connections.
_KEPT, _BEYOND = 2, 14
_POLL_SECONDS = 0.02

# By SQLSTATE, whole or its class.
SENTENCES = {
    "55P03": "the database is locked by another process that did not let go within {wait:g} s; try again later",
    "40": "two writers got into each other's way; try again (nothing of this write was kept)",
    "53100": "the disk of the database server is full; free some space, nothing of this write was kept",
    "53300": "the database server takes no more connections; raise max_connections, or lower tenant.open",
    "25006": "the database is read-only; name its primary, or check default_transaction_read_only",
    "42501": "the database's user lacks a right; let it own the schema, and create schemas in the database",
    "57": "the database server shuts down or cancelled the statement; try again later",
    "58": "the disk of the database server could not be read or written; check its health and free space",
    "XX": "the database is damaged; restore a backup, or let pg_amcheck say what is wrong",
    "23": (
        "the write contradicts what is stored (an id of another memory, a missing passage, frame, fact or entity, or a "
        "passage in two frames); nothing of it was kept"
    ),
}
UNREACHABLE = (
    "the database server cannot be reached, does not let us in, or broke the connection; check host, port, database, "
    "user and password, then try again"
)

# A transaction that began before the deletion keeps what was deleted alive, in whichever schema it reads or writes.
_EARLIER = """
SELECT count(*) FROM (
  SELECT greatest(age(backend_xid), age(backend_xmin)) AS age FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND (datname IS NULL OR datname = current_database())
  UNION ALL SELECT greatest(age(xmin), age(catalog_xmin)) FROM pg_replication_slots
  UNION ALL SELECT age(transaction) FROM pg_prepared_xacts WHERE database = current_database()
) AS held WHERE age > age(CAST(CAST(:now AS text) AS xid))
"""


def make_engine(url: URL, busy_timeout: float) -> Engine:
    """Give an engine whose connections stand in the URL's schema and are durable; nothing is connected yet."""
    if find_spec("psycopg") is None:
        raise StoreError("PostgreSQL needs a driver that is not installed: pip install 'seem-memory[postgres]'")
    schema = _schema(url)
    plain = url.difference_update_query(["schema"])
    if plain.drivername == BACKEND:
        plain = plain.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(
        plain,
        hide_parameters=True,
        pool_size=_KEPT,
        max_overflow=_BEYOND,
        pool_timeout=max(1.0, busy_timeout),
        pool_pre_ping=True,
        connect_args={"connect_timeout": max(2, int(busy_timeout)), "application_name": "seem"},
    )

    # Before SQLAlchemy's own first look, which asks for the name of the schema.
    @sa.event.listens_for(engine, "connect", insert=True)
    def connected(connection: Any, record: Any) -> None:
        with connection.cursor() as cursor:
            _set_up(cursor, schema, busy_timeout)
        connection.commit()

    return engine


def check(connection: Connection) -> None:
    """Refuse a server that is too old, or a database that cannot hold every character."""
    version = connection.dialect.server_version_info or (0,)
    if version < _LEAST:
        raise StoreError(f"PostgreSQL {'.'.join(map(str, version))} is too old; at least {_LEAST[0]} is needed")
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise StoreError(f"the database is encoded in {encoding}; make one with ENCODING 'UTF8' TEMPLATE template0")


def lock(connection: Connection, what: str) -> None:
    """Wait until nobody else in this schema holds ``what``, and hold it to the end of the transaction."""
    # Two names whose hashes are equal wait for each other, no more.
    name = sa.func.concat(sa.func.current_schema(), "/", sa.bindparam("what", what.encode().hex(), sa.String))
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(name, 0))))


def purge(engine: Engine, tables: Iterable[str], *, wait: float) -> bool:
    """Write every table anew without what was deleted; tell whether that was possible within ``wait`` seconds.

    What lies in the write-ahead log stays until the server reuses or removes its files.
    """
    deadline = time.monotonic() + wait
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        now = connection.exec_driver_sql("SELECT CAST(CAST(pg_current_xact_id() AS xid) AS text)").scalar_one()
        while connection.execute(sa.text(_EARLIER), {"now": now}).scalar_one():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        connection.exec_driver_sql(f"VACUUM (FULL) {', '.join(tables)}")
    return True


def _schema(url: URL) -> str | None:
    named = url.query.get("schema")
    if named is None:
        return None
    if not isinstance(named, str) or not named or len(named.encode()) > _LONGEST_NAME or "\0" in named:
        # PostgreSQL would cut a longer name short, and two tenants might meet.
        raise ConfigError(
            f"the schema in the store's URL must be one name of 1 to {_LONGEST_NAME} bytes, not {named!r}"
        )
    return named


def _set_up(cursor: Any, schema: str | None, busy_timeout: float) -> None:
    settings = {
        "lock_timeout": f"{max(1, int(busy_timeout * 1000))}ms",
        # A writer whose machine is gone lets go of its locks after a minute, not after two hours.
        "tcp_keepalives_idle": "30",
        "tcp_keepalives_interval": "10",
        "tcp_keepalives_count": "3",
    }
    if schema is not None:
        settings["search_path"] = '"' + schema.replace('"', '""') + '"'
        cursor.execute("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s", [schema])
        if cursor.fetchone() is None:
            # IF NOT EXISTS alone fails where two make it at once.
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"schema {schema}"])
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {settings['search_path']}")
    for name, value in settings.items():
        cursor.execute("SELECT set_config(%s, %s, false)", [name, value])
    # What is acknowledged must be on disk, whatever the server's default; a stricter one stands.
    cursor.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
