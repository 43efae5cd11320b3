"""The fold: a frame is a pure function of the extractions that tell of its occurrence (F_fuse by code).

Takes passages with their extractions in the order in which they were said; gives events with merged slots and a
composed summary. The later original words win a conflict; what was said before stays in its extraction and can be
shown. The same members give the same frame, in whatever order and by whatever path they came together. Knows nothing
about storage.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from seem.types import Event, Extraction, Frame, Passage, TimeSpan
from seem.write.polarity import is_negated
from seem.write.summary import compose

Member = tuple[Passage, Extraction]
MAX_EVENTS = 10
_SAME_ACTION = 0.6


@dataclass(frozen=True, slots=True)
class Told:
    """An event of a frame, and what each passage said of it, in order."""

    event: Event
    said: tuple[tuple[Passage, Event], ...]


def fold(frame_id: str, memory: str, members: Sequence[Member]) -> Frame:
    """Fold members into a frame; they are sorted by time of arrival first."""
    ordered = in_order(members)
    told = (compose(extraction.events, passage.speaker) for passage, extraction in ordered)
    summary = " ".join(dict.fromkeys(t for t in told if t))
    events = tuple(told.event for told in tell(ordered))
    return Frame(frame_id, memory, tuple(p.id for p, _ in ordered), summary, events)


def in_order(members: Sequence[Member]) -> list[Member]:
    """Give members in the order in which they were said."""
    return sorted(members, key=lambda m: (m[0].position, m[0].id))


def tell(members: Sequence[Member]) -> list[Told]:
    """Give the events of a frame, the last MAX_EVENTS, merged from what its members (in order) say of them."""
    told: list[Told] = []
    for passage, extraction in members:
        for event in extraction.events:
            same = next((n for n, known in enumerate(told) if _same(known.event, event)), None)
            if same is None:
                told.append(Told(event, ((passage, event),)))
            else:
                known = told[same]
                told[same] = Told(_merged(known.event, event), (*known.said, (passage, event)))
    return told[-MAX_EVENTS:]


def readable(
    frame: Frame,
    passages: Mapping[str, Passage],
    extractions: Mapping[str, Extraction],
    allowed: Collection[str] | None,
) -> Frame | None:
    """Give the frame as the fold of what a reader may read; ``None`` where that is nothing."""
    if allowed is None:
        return frame
    members = [(passages[p], extractions[p]) for p in frame.provenance if p in allowed]
    return fold(frame.id, frame.memory, members) if members else None


def _same(a: Event, b: Event) -> bool:
    words_a, words_b = set(a.action.casefold().split()), set(b.action.casefold().split())
    shared = len(words_a & words_b) / max(1, min(len(words_a), len(words_b)))
    return shared >= _SAME_ACTION and is_negated(a.action) == is_negated(b.action) and bool(_folded(a) & _folded(b))


def _folded(event: Event) -> set[str]:
    return {p.casefold() for p in event.participants}


def _merged(earlier: Event, later: Event) -> Event:
    """Unite participants, fill empty slots, and let the later words win where both speak."""
    known = {p.casefold() for p in later.participants}
    participants = (*later.participants, *(p for p in earlier.participants if p.casefold() not in known))
    return replace(
        later,
        participants=participants,
        action=earlier.action if _within(later.action, earlier.action) else later.action,
        time=_time(earlier.time, later.time),
        location=later.location or earlier.location,
        causality=later.causality or earlier.causality,
        manner=later.manner or earlier.manner,
    )


def _within(later: str, earlier: str) -> bool:
    """Tell whether the later words say less than the earlier ones and nothing else: then they change nothing."""
    return set(later.casefold().split()) < set(earlier.casefold().split())


def _time(earlier: TimeSpan | None, later: TimeSpan | None) -> TimeSpan | None:
    """Give the later time; words that name no date («that day») do not replace one that does."""
    dated = earlier is not None and (earlier.start or earlier.end)
    if later is None or (dated and not (later.start or later.end)):
        return earlier
    return later
