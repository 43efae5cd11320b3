"""All that a memory holds, as one text: every table, and what the verbs tell. For asking what must not be there."""

from __future__ import annotations

import sqlalchemy as sa

from seem.memory import Memory
from seem.store import schema
from seem.store.verify import verify


def scan(memory: Memory, user: str = "ana", question: str = "what happened") -> str:
    """Give the rows of every table, the list, and what a search finds."""
    with memory.parts.store.reading() as connection:
        rows = [
            str(tuple(row)) for table in schema.metadata.sorted_tables for row in connection.execute(sa.select(table))
        ]
    told = [memory.get_all(user_id=user), memory.search(question, user_id=user, top_k=50, explain=True)]
    return "\n".join([*rows, *map(repr, told)])


def sound(memory: Memory) -> bool:
    """Tell whether store, vectors and provenance agree; show what does not."""
    found = verify(memory.parts.store, None)
    assert found == []
    return True
