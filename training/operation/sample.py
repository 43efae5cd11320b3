"""A sample of the passages that a memory took in, each as its extractor saw it, with what the student stored.

Takes an opened store; passages that the prompted model of a cascade extracted are left out. Knows nothing about the
teacher.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from seem.errors import InputError
from seem.prompts.texts import CONTEXT_TURNS
from seem.store import rows
from seem.store import schema as t
from seem.store.store import Store
from seem.types import Extraction, Passage

PROMPTED = "+prompt@"
NAMES = 6


@dataclass(frozen=True, slots=True)
class Live:
    """A stored passage, the ones before it, the people in play, and what the student made of it."""

    passage: Passage
    before: tuple[Passage, ...]
    names: tuple[str, ...]
    extraction: Extraction


def sampled(store: Store, count: int, *, since: datetime | None, memory: str | None, seed: int) -> list[Live]:
    """Draw ``count`` passages, or all where there are fewer; raise InputError where there is none."""
    if count < 1:
        raise InputError(f"--sample must be at least 1, not {count}")
    found = [one for key in ([memory] if memory else store.memories()) for one in _stored(store, key, since)]
    if not found:
        when = f" since {since.isoformat()}" if since else ""
        raise InputError(f"{store.name} holds no passage that a student extracted{when}; choose an earlier --since")
    drawn = random.Random(seed).sample(range(len(found)), min(count, len(found)))
    return [_live(*found[n]) for n in sorted(drawn)]


def _stored(store: Store, memory: str, since: datetime | None) -> list[tuple[Sequence[Passage], int, Extraction]]:
    """Give a memory's passages with the place of each that a student extracted, and its extraction."""
    passages = store.passages(memory)
    with store.reading() as connection:
        query = sa.select(t.extractions).where(t.extractions.c.memory == memory)
        said = {row.passage_id: rows.to_extraction(row) for row in connection.execute(query)}
    found: list[tuple[Sequence[Passage], int, Extraction]] = []
    for n, passage in enumerate(passages):
        extraction = said.get(passage.id)
        new = since is None or (passage.created_at is not None and passage.created_at >= since)
        if extraction and new and passage.status == "done" and PROMPTED not in extraction.model:
            found.append((passages, n, extraction))
    return found


def _live(passages: Sequence[Passage], n: int, extraction: Extraction) -> Live:
    """Show a passage with those before it and who had spoken: in its session first, the latest first, as the pipeline does."""
    latest = passages[n::-1]
    own = [p.speaker for p in latest if p.session == passages[n].session]
    names = dict.fromkeys(name for name in (*own, *(p.speaker for p in latest)) if name)
    return Live(passages[n], tuple(passages[max(0, n - CONTEXT_TURNS) : n]), tuple(names)[:NAMES], extraction)
