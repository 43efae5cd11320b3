"""How well an extractor does: gold and predicted extractions of the same turns in, the figures of recipes E1 out.

Events are aligned by Hungarian assignment on their mean slot F1 and scored slot by slot, softly: the credit of a slot
is its token F1. Facts likewise, on subject, relation and object together. So defined, two teacher annotations of the
corpus agree at what its guide reports. Knows nothing about models or files; the caller says what the extractor saw.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from seem.errors import InputError
from seem.types import SLOTS, Event, Extraction, Fact, TimeSpan
from training.evaluate.metrics import Score, content_tokens, score, share, token_f1

Item = TypeVar("Item")

ALIGNED_ABOVE = 0.3
STRICT_FROM = 0.8

_NEGATION = re.compile(
    r"\b(?:not|cannot|never|no|nor|neither|nobody|nothing|none|nowhere|without|unable)\b|n['\u2019]t\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """Everything measured over the turns; the last four are (share, how many it is a share of).

    ``null`` has "nothing worth remembering" as its positive class. ``intervals_equal`` compares the resolved times of
    aligned events that both have one; how the resolver does on gold words is ``time_exact``.
    """

    null: Score
    slots: Score
    slots_strict: Score
    macro_f1: float
    by_slot: Mapping[str, Score]
    facts: Score
    facts_strict: Score
    null_accuracy: tuple[float, int]
    polarity_flips: tuple[float, int]
    intervals_equal: tuple[float, int]
    unsupported: tuple[float, int]


def report(
    gold: Sequence[Extraction],
    predicted: Sequence[Extraction],
    *,
    shown: Sequence[Collection[str]] = (),
    aliases: Mapping[str, str] | None = None,
) -> ExtractionReport:
    """Compare two lists of extractions of the same turns, in the same order; InputError where they are not.

    ``shown``: of each turn the texts that the extractor saw (turn, context, speakers, names in play); without it
    ``unsupported`` stays (0, 0). ``aliases``: lower-case name to the name that it is folded into.
    """
    names = aliases or {}
    turns = _paired([_folded(each, names) for each in gold], [_folded(each, names) for each in predicted])
    pairs = [pair for wanted, said in turns for pair in _aligned(wanted.events, said.events, event_similarity)]
    by_slot = {slot: _slot_score(slot, turns, pairs, _soft) for slot in SLOTS}
    strict = [_slot_score(slot, turns, pairs, _strict) for slot in SLOTS]
    times = [(one.time, other.time) for one, other in pairs if one.time and other.time]
    return ExtractionReport(
        null=null_score(gold, predicted),
        slots=_together(by_slot.values()),
        slots_strict=_together(strict),
        macro_f1=sum(each.f1 for each in by_slot.values()) / len(SLOTS),
        by_slot=by_slot,
        facts=_fact_score(turns, _soft),
        facts_strict=_fact_score(turns, _strict),
        null_accuracy=share(bool(wanted.events) == bool(said.events) for wanted, said in turns),
        polarity_flips=share(negated(one.action) != negated(other.action) for one, other in pairs),
        intervals_equal=time_exact([one for one, _ in times], [other for _, other in times]),
        unsupported=unsupported(predicted, shown) if shown else (0.0, 0),
    )


def null_score(gold: Sequence[Extraction], predicted: Sequence[Extraction]) -> Score:
    """Score the decision that a turn holds nothing worth remembering: no events."""
    turns = _paired(gold, predicted)
    both = sum(not wanted.events and not said.events for wanted, said in turns)
    return score(both, sum(not each.events for each in predicted), sum(not each.events for each in gold))


def event_similarity(one: Event, other: Event) -> float:
    """Give the mean token F1 over the slots that at least one of the events fills."""
    filled = [(slot_text(one, slot), slot_text(other, slot)) for slot in SLOTS]
    values = [token_f1(*texts) for texts in filled if any(texts)]
    return sum(values) / len(values) if values else 0.0


def fact_similarity(one: Fact, other: Fact) -> float:
    """Give the token F1 of subject, relation and object, each fact read as one text."""
    return token_f1(*(f"{each.subject} {each.relation} {each.object}" for each in (one, other)))


def slot_text(event: Event, slot: str) -> str:
    """Give the words of a slot, empty where it is not filled; participants joined, of a time the words alone."""
    if slot == "participants":
        return " ".join(event.participants).strip()
    if slot == "time":
        return event.time.text.strip() if event.time else ""
    return (getattr(event, slot) or "").strip()


def negated(action: str) -> bool:
    """Tell whether an action denies something."""
    return bool(_NEGATION.search(action))


def time_exact(gold: Sequence[TimeSpan | None], predicted: Sequence[TimeSpan | None]) -> tuple[float, int]:
    """Give the share of the gold times whose start and end were both met exactly, and their number."""
    if len(gold) != len(predicted):
        raise InputError(f"{len(gold)} gold times against {len(predicted)} predicted ones: give as many of both")
    return share(
        said is not None and (said.start, said.end) == (wanted.start, wanted.end)
        for wanted, said in zip(gold, predicted, strict=True)
        if wanted is not None
    )


def unsupported(predicted: Sequence[Extraction], shown: Sequence[Collection[str]]) -> tuple[float, int]:
    """Give the share of filled slots with a content word that was not shown, and the number of filled slots.

    Slots are the six of each event and subject, object and time words of each fact; relations are free. Words are
    compared as stems. ``shown`` holds texts or words, one collection an extraction.
    """
    if len(predicted) != len(shown):
        raise InputError(f"{len(predicted)} extractions but {len(shown)} windows: give what was shown of each")
    hits: list[bool] = []
    for extraction, texts in zip(predicted, shown, strict=True):
        seen = frozenset[str]().union(*map(content_tokens, texts))
        hits += [not content_tokens(words) <= seen for words in _claims(extraction)]
    return share(hits)


def _claims(extraction: Extraction) -> list[str]:
    """List the words of every filled slot, relations aside."""
    said = [slot_text(event, slot) for event in extraction.events for slot in SLOTS]
    for fact in extraction.facts:
        said += [fact.subject, fact.object, fact.time.text if fact.time else ""]
    return [words for words in said if words.strip()]


def _aligned(
    gold: Sequence[Item], predicted: Sequence[Item], similarity: Callable[[Item, Item], float]
) -> list[tuple[Item, Item]]:
    """Pair the items so that their similarities sum highest, and keep the pairs above ``ALIGNED_ABOVE``."""
    if not gold or not predicted:
        return []
    values = np.array([[similarity(wanted, said) for said in predicted] for wanted in gold])
    rows, columns = linear_sum_assignment(values, maximize=True)
    return [(gold[i], predicted[j]) for i, j in zip(rows, columns, strict=True) if values[i, j] > ALIGNED_ABOVE]


def _slot_score(
    slot: str,
    turns: Sequence[tuple[Extraction, Extraction]],
    pairs: Sequence[tuple[Event, Event]],
    credit: Callable[[float], float],
) -> Score:
    """Score one slot: credit over aligned pairs, denominators over all events."""
    texts = [(slot_text(one, slot), slot_text(other, slot)) for one, other in pairs]
    given = sum(bool(slot_text(event, slot)) for _, said in turns for event in said.events)
    wanted = sum(bool(slot_text(event, slot)) for gold, _ in turns for event in gold.events)
    return score(sum(credit(token_f1(*both)) for both in texts if all(both)), given, wanted)


def _fact_score(turns: Sequence[tuple[Extraction, Extraction]], credit: Callable[[float], float]) -> Score:
    pairs = [pair for wanted, said in turns for pair in _aligned(wanted.facts, said.facts, fact_similarity)]
    given = sum(len(said.facts) for _, said in turns)
    return score(
        sum(credit(fact_similarity(*pair)) for pair in pairs), given, sum(len(gold.facts) for gold, _ in turns)
    )


def _together(scores: Iterable[Score]) -> Score:
    """Sum soft counts over slots: micro."""
    listed = list(scores)
    credit = sum(each.precision * each.predicted for each in listed)
    return score(credit, sum(each.predicted for each in listed), sum(each.support for each in listed))


def _soft(similarity: float) -> float:
    return similarity


def _strict(similarity: float) -> float:
    return float(similarity >= STRICT_FROM)


def _folded(extraction: Extraction, aliases: Mapping[str, str]) -> Extraction:
    """Put the one name in place of its aliases, in participants (each then once) and ends of facts."""

    def name(words: str) -> str:
        return aliases.get(words.lower().strip(), words)

    return replace(
        extraction,
        events=tuple(
            replace(event, participants=tuple(dict.fromkeys(map(name, event.participants))))
            for event in extraction.events
        ),
        facts=tuple(replace(fact, subject=name(fact.subject), object=name(fact.object)) for fact in extraction.facts),
    )


def _paired(gold: Sequence[Extraction], predicted: Sequence[Extraction]) -> list[tuple[Extraction, Extraction]]:
    """Pair extractions of the same turn; refuse lists that do not match."""
    if [each.passage_id for each in gold] != [each.passage_id for each in predicted]:
        raise InputError(
            f"{len(gold)} gold and {len(predicted)} predicted extractions are not of the same turns in the same order"
        )
    return list(zip(gold, predicted, strict=True))
