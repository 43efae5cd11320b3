"""0002: what people decided about pairs of passages, which change of the history undoes which, and FUSE for what the judge joined."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, ForeignKeyConstraint, Integer, PrimaryKeyConstraint

from seem.store.columns import Text

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the table and the column; a hand's MERGE did not exist before, so every one was the judge's."""
    op.create_table(
        "bonds",
        Column("memory", Text, nullable=False),
        Column("one", Text, nullable=False),
        Column("other", Text, nullable=False),
        Column("generation", Integer, nullable=False, autoincrement=False),
        Column("together", Integer, nullable=False),
        PrimaryKeyConstraint("memory", "one", "other", "generation", name="pk_bonds"),
        *(
            ForeignKeyConstraint(
                ["memory", column],
                ["passages.memory", "passages.id"],
                name=f"fk_bonds_memory_{column}",
                ondelete="CASCADE",
            )
            for column in ("one", "other")
        ),
    )
    op.create_index("ix_bonds_memory_other", "bonds", ["memory", "other"])
    op.add_column("history", Column("undoes", Integer))
    history = sa.table("history", sa.column("event"))
    op.execute(sa.update(history).where(history.c.event == "MERGE").values(event="FUSE"))
