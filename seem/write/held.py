"""What had been said by a moment, and the facts that held then: a memory as it was, read from the memory as it is.

Takes a loaded memory and a moment of the story: a passage counts from when it was said (of an unknown time: from when it
came in), a fact in the words of those passages alone, so that an end which was told later has not happened yet. Knows
nothing about questions.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from seem.state import State
from seem.types import Passage, StoredFact
from seem.write.contradict import reopened, told_by
from seem.write.versions import wording


def said_by(state: State, moment: datetime, allowed: Collection[str] | None) -> set[str]:
    """Give the passages that had been said by a moment, of those allowed."""
    return {i for i, passage in state.passages.items() if _said(passage, moment) and (allowed is None or i in allowed)}


def held_at(state: State, moment: datetime, said: Collection[str]) -> dict[str, StoredFact]:
    """Give the facts that held at a moment, as the passages of ``said`` tell them."""
    day = moment.date().isoformat()
    known = {i: told for i, fact in state.facts.items() if (told := _told(state, fact, said)) is not None}
    sure = told_by({i: state.passages[i] for i in said})
    by_subject: dict[str, list[StoredFact]] = {}
    for fact in known.values():
        by_subject.setdefault(fact.subject_id, []).append(fact)
    for fact in list(known.values()):
        if fact.superseded_by is not None and fact.superseded_by not in known:
            known[fact.id] = reopened(fact, by_subject[fact.subject_id], sure)
    return {i: fact for i, fact in known.items() if _holds(fact, day)}


def _said(passage: Passage, moment: datetime) -> bool:
    since = passage.time or passage.created_at
    return since is None or since <= moment


def _told(state: State, fact: StoredFact, said: Collection[str]) -> StoredFact | None:
    """Give a fact in the words of those of its sources that are in ``said``."""
    left = tuple(p for p in fact.provenance if p in said)
    if not left:
        return None
    if left[0] == fact.provenance[0]:
        return replace(fact, provenance=left)
    words = wording(fact, state.extractions[left[0]].facts, state.entities)
    if words is None:
        return None
    time = state.passages[left[0]].time
    start = words.time.start if words.time else None
    valid = start or (time.date().isoformat() if time else None)
    return replace(fact, fact=words, provenance=left, valid_at=valid)


def _holds(fact: StoredFact, day: str) -> bool:
    """Tell whether a fact holds on a day: from its first day on, to before the day that ended it."""
    return (fact.valid_at or "") <= day and (fact.invalid_at is None or day < fact.invalid_at)
