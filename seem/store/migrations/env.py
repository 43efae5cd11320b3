"""What Alembic runs to migrate: the steps, on the connection and inside the transaction that the engine hands over.

Knows nothing about files or URLs; there is no offline mode and no alembic.ini.
"""

from __future__ import annotations

from alembic import context

from seem.store import schema

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=schema.metadata,
    version_table=schema.VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
