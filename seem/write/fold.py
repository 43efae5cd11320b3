"""The fold: a frame is a pure function of the extractions that tell of its occurrence (F_fuse by code).

Takes passages with their extractions in the order in which they were said; gives events with merged slots and a
composed summary. The later original words win a conflict; what was said before stays in its extraction and can be
shown. The same members give the same frame, in whatever order and by whatever path they came together. Knows nothing
about storage.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from seem.types import Event, Extraction, Frame, Passage
from seem.write.polarity import is_negated
from seem.write.summary import compose

Member = tuple[Passage, Extraction]
MAX_EVENTS = 10
_SAME_ACTION = 0.6


def fold(frame_id: str, memory: str, members: Sequence[Member]) -> Frame:
    """Fold members into a frame; they are sorted by time of arrival first."""
    ordered = sorted(members, key=lambda m: (m[0].position, m[0].id))
    events: list[Event] = []
    told: list[str] = []
    for passage, extraction in ordered:
        told.append(compose(extraction.events, passage.speaker))
        for event in extraction.events:
            same = next((i for i, known in enumerate(events) if _same(known, event)), None)
            if same is None:
                events.append(event)
            else:
                events[same] = _merged(events[same], event)
    summary = " ".join(dict.fromkeys(t for t in told if t))
    return Frame(frame_id, memory, tuple(p.id for p, _ in ordered), summary, tuple(events[-MAX_EVENTS:]))


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
        action=later.action if len(later.action) >= len(earlier.action) else earlier.action,
        time=later.time or earlier.time,
        location=later.location or earlier.location,
        causality=later.causality or earlier.causality,
        manner=later.manner or earlier.manner,
    )
