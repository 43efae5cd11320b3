"""The tables of the store, for SQLite and PostgreSQL.

Every row belongs to one memory, and every key holds the memory's name: the database itself refuses a link from one
memory into another. Moments are ISO text in UTC; a passage's own ``time`` keeps its offset. A change here needs a new
file in ``migrations/versions`` and the new ``REVISION``. Knows nothing about who reads or writes.
"""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
)

from seem.store.columns import Long, Text

REVISION = "0002"
VERSION_TABLE = "seem_schema"
STATUSES = ("pending", "raw", "done", "failed")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _text(name: str, default: str | None = None) -> Column[str]:
    return Column(name, Text, nullable=False, server_default=default)


def _owner(*, primary: bool = True) -> Column[str]:
    return Column("memory", Text, ForeignKey("memories.key", ondelete="CASCADE"), primary_key=primary, nullable=False)


def _link(column: str, table: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["memory", column], [f"{table}.memory", f"{table}.id"], ondelete="CASCADE")


def _deferred(column: str, table: str) -> ForeignKeyConstraint:
    # A batch may remove an entity before it rewrites the facts that pointed at it: only the end state counts.
    return ForeignKeyConstraint(
        ["memory", column], [f"{table}.memory", f"{table}.id"], deferrable=True, initially="DEFERRED"
    )


counters = Table("counters", metadata, Column("name", Text, primary_key=True), Column("value", Integer, nullable=False))

memories = Table(
    "memories",
    metadata,
    Column("key", Text, primary_key=True),
    Column("generation", Integer, nullable=False),
    Column("arrivals", Integer, nullable=False),
    _text("encoder", ""),
    _text("created_at"),
)

passages = Table(
    "passages",
    metadata,
    _owner(),
    Column("id", Text, primary_key=True),
    _text("key"),
    Column("position", Integer, nullable=False),
    _text("text"),
    _text("speaker", ""),
    _text("session", ""),
    Column("time", Text),
    _text("image", ""),
    _text("readers", "[]"),
    _text("metadata", "{}"),
    _text("created_at"),
    Column("updated_at", Text),
    _text("status"),
    Column("error", Text),
    Column("attempts", Integer, nullable=False, server_default="0"),
    UniqueConstraint("id"),
    UniqueConstraint("memory", "key"),
    UniqueConstraint("memory", "position"),
    CheckConstraint("status IN ('pending', 'raw', 'done', 'failed')", name="status"),
    Index(None, "memory", "status", "position"),
)

extractions = Table(
    "extractions",
    metadata,
    Column("memory", Text, primary_key=True),
    Column("passage_id", Text, primary_key=True),
    _text("payload"),
    _text("model"),
    Column("confidence", Float, nullable=False),
    Column("dropped", Integer, nullable=False),
    Column("truncated", Integer, nullable=False),
    _link("passage_id", "passages"),
)

frames = Table(
    "frames",
    metadata,
    _owner(),
    Column("id", Text, primary_key=True),
    Column("serial", Integer, nullable=False),
    _text("payload"),
    _text("summary"),
    _text("created_at"),
    _text("updated_at"),
    UniqueConstraint("id"),
    Index(None, "memory", "serial"),
)

frame_members = Table(
    "frame_members",
    metadata,
    Column("memory", Text, primary_key=True),
    Column("passage_id", Text, primary_key=True),
    _text("frame_id"),
    Column("rank", Integer, nullable=False),
    _link("passage_id", "passages"),
    _link("frame_id", "frames"),
    Index(None, "memory", "frame_id"),
)

# A person's corrections, pair by pair (one < other); of one pair the row with the highest generation holds.
bonds = Table(
    "bonds",
    metadata,
    Column("memory", Text, primary_key=True),
    Column("one", Text, primary_key=True),
    Column("other", Text, primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("together", Integer, nullable=False),
    _link("one", "passages"),
    _link("other", "passages"),
    Index(None, "memory", "other"),
)

entities = Table(
    "entities",
    metadata,
    _owner(),
    Column("id", Text, primary_key=True),
    _text("name"),
    UniqueConstraint("id"),
)

aliases = Table(
    "aliases",
    metadata,
    Column("memory", Text, primary_key=True),
    Column("entity_id", Text, primary_key=True),
    Column("rank", Integer, primary_key=True, autoincrement=False),
    _text("alias"),
    _link("entity_id", "entities"),
)

facts = Table(
    "facts",
    metadata,
    _owner(),
    Column("id", Text, primary_key=True),
    Column("serial", Integer, nullable=False),
    _text("payload"),
    _text("subject_id"),
    _text("object_id"),
    Column("valid_at", Text),
    Column("invalid_at", Text),
    _text("created_at"),
    Column("expired_at", Text),
    Column("superseded_by", Text),
    UniqueConstraint("id"),
    _deferred("subject_id", "entities"),
    _deferred("object_id", "entities"),
    _deferred("superseded_by", "facts"),
    Index(None, "memory", "serial"),
    Index(None, "memory", "subject_id"),
    Index(None, "memory", "object_id"),
    Index(None, "memory", "superseded_by"),
)

fact_sources = Table(
    "fact_sources",
    metadata,
    Column("memory", Text, primary_key=True),
    Column("fact_id", Text, primary_key=True),
    Column("passage_id", Text, primary_key=True),
    Column("rank", Integer, nullable=False),
    _link("fact_id", "facts"),
    _link("passage_id", "passages"),
    Index(None, "memory", "passage_id"),
)

vectors = Table(
    "vectors",
    metadata,
    _owner(),
    Column("kind", Text, primary_key=True),
    Column("item_id", Text, primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)

history = Table(
    "history",
    metadata,
    Column("id", Long, primary_key=True),
    _owner(primary=False),
    Column("generation", Integer, nullable=False),
    _text("item_id"),
    _text("event"),
    Column("old", Text),
    Column("new", Text),
    _text("actor", ""),
    _text("at"),
    Column("undoes", Integer),
    Index(None, "memory", "item_id"),
    Index(None, "item_id"),
)

# Which passages the texts of a history row were made of, so that deleting one finds every text that quotes it.
history_sources = Table(
    "history_sources",
    metadata,
    Column("history_id", Long, ForeignKey("history.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("side", Text, primary_key=True),
    Column("memory", Text, primary_key=True),
    Column("passage_id", Text, primary_key=True),
    _link("passage_id", "passages"),
    Index(None, "memory", "passage_id"),
)

# No foreign key to memories: the note that a memory was deleted outlives it. Ids only, no content.
audit = Table(
    "audit",
    metadata,
    Column("id", Long, primary_key=True),
    _text("memory"),
    Column("generation", Integer, nullable=False),
    _text("at"),
    _text("actor"),
    _text("action"),
    _text("ids"),
    Index(None, "memory", "generation"),
)
