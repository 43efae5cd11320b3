"""Small real memories for the tests of the store."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import numpy as np

from seem.store.batch import Change, Draft, Vector, WriteBatch
from seem.store.store import Store
from seem.types import Entity, Event, Extraction, Fact, Frame, Passage, StoredFact, TimeSpan

WHEN = datetime(2024, 5, 6, 9, 30, tzinfo=UTC)


def draft(text: str, key: str = "", **rest: object) -> Draft:
    key = key or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return Draft(text=text, key=key, time=WHEN, **rest)  # type: ignore[arg-type]


def unit(seed: int, dimension: int = 8) -> Vector:
    values = np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)
    return (values / np.linalg.norm(values)).astype(np.float32)


def extraction(passage_id: str, action: str = "sold the piano") -> Extraction:
    event = Event(("Odile",), action, time=TimeSpan("on Saturday", "2024-05-04", "2024-05-04"), location="at home")
    fact = Fact("Odile", "sold", "the piano", TimeSpan("2024", "2024", None))
    return Extraction(passage_id, (event,), (fact,), f"Odile {action}.", "test-1", 0.75, dropped=2, truncated=True)


def fill(
    store: Store, memory: str, texts: tuple[str, ...] = ("I sold the piano.", "Rune fetched it.")
) -> list[Passage]:
    """Write passages, one frame over all of them, one fact from the first, and every vector."""
    passages = [passage for passage, _ in store.add_passages(memory, [draft(text) for text in texts])]
    ids = [passage.id for passage in passages]
    extractions = [extraction(passage_id, text) for passage_id, text in zip(ids, texts, strict=True)]
    events = tuple(event for item in extractions for event in item.events)
    frame = Frame(f"f_{memory}", memory, tuple(ids), " ".join(texts), events)
    ends = [
        Entity(f"n_{memory}_odile", memory, "Odile", ("Odi", "Mrs O")),
        Entity(f"n_{memory}_piano", memory, "piano"),
    ]
    told = Fact("Odile", "sold", "the piano", TimeSpan("on Saturday", "2024-05-04", "2024-05-04"))
    fact = StoredFact(f"q_{memory}", memory, told, ends[0].id, ends[1].id, (ids[0],), valid_at="2024-05-04")
    vectors = [("passage", passage_id, unit(number)) for number, passage_id in enumerate(ids)]
    vectors += [("extraction", passage_id, unit(20 + number)) for number, passage_id in enumerate(ids)]
    batch = WriteBatch(
        encoder="enc-1",
        extractions=extractions,
        frames=[frame],
        entities=ends,
        facts=[fact],
        vectors=[*vectors, ("frame", frame.id, unit(50)), ("fact", fact.id, unit(51))],  # type: ignore[list-item]
        done=ids,
        history=[
            *(Change(passage.id, "ADD", None, passage.text, "odile") for passage in passages),
            Change(frame.id, "ADD", None, frame.summary),
            Change(fact.id, "ADD", None, "Odile sold the piano"),
        ],
    )
    store.apply(memory, batch)
    return passages
