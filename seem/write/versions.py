"""Who said what of a frame or a fact, which version holds, which lost: read from the extractions, kept nowhere else.

Takes a frame or fact with the passages and extractions that it cites; gives every value that was said, in the order in
which it was said. Knows nothing about storage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from seem.types import SLOTS, Entity, Event, Extraction, Fact, Frame, Passage, StoredFact, TimeSpan
from seem.write.fold import in_order, tell
from seem.write.link import entity_key

Value = str | tuple[str, ...] | TimeSpan | Fact


@dataclass(frozen=True, slots=True)
class Version:
    """What one passage said; ``holds`` where nothing said later replaced it."""

    passage: Passage
    value: Value
    holds: bool


@dataclass(frozen=True, slots=True)
class EventVersions:
    """An event of a frame as it holds, and by slot what was said, the first version first."""

    event: Event
    slots: Mapping[str, tuple[Version, ...]]


def versions(
    frame: Frame, passages: Mapping[str, Passage], extractions: Mapping[str, Extraction]
) -> list[EventVersions]:
    """Give what was said of each event of a frame, slot by slot. People add up, so nobody named loses."""
    members = in_order([(passages[p], extractions[p]) for p in frame.provenance])
    return [
        EventVersions(told.event, {slot: said for slot in SLOTS if (said := tuple(_said(told.said, told.event, slot)))})
        for told in tell(members)
    ]


def fact_versions(
    fact: StoredFact,
    passages: Mapping[str, Passage],
    extractions: Mapping[str, Extraction],
    entities: Mapping[str, Entity],
) -> list[Version]:
    """Give a fact in the words of each of its sources; it holds, or has ended, in all of them alike."""
    return [
        Version(passages[p], words, fact.invalid_at is None)
        for p in fact.provenance
        if p in extractions and (words := wording(fact, extractions[p].facts, entities))
    ]


def wording(fact: StoredFact, said: Sequence[Fact], entities: Mapping[str, Entity]) -> Fact | None:
    """Give the words in which a passage says a fact."""
    relation = fact.fact.relation.casefold().split()
    subjects, objects = (_keys(entities[end]) for end in (fact.subject_id, fact.object_id))
    return next(
        (
            words
            for words in said
            if words.relation.casefold().split() == relation
            and entity_key(words.subject) in subjects
            and entity_key(words.object) in objects
        ),
        None,
    )


def _keys(entity: Entity) -> set[str]:
    return {entity_key(name) for name in (entity.name, *entity.aliases)}


def _said(said: Sequence[tuple[Passage, Event]], event: Event, slot: str) -> Iterator[Version]:
    for passage, told in said:
        value = getattr(told, slot)
        if value:
            yield Version(passage, value, slot == "participants" or value == getattr(event, slot))
