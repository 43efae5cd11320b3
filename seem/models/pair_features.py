"""What code can see of two extractions without a network: people, times, places, modality, nearness in the talk.

Takes two (passage, extraction); gives numbers, each symmetric in the pair, for the judge's calibrator. An unknown is
never taken for a difference. Knows nothing about thresholds or training. Modality is read from English words and dates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache

import snowballstemmer

from seem.models.protocols import JudgeInput
from seem.types import Event, Extraction, Passage, TimeSpan

NAMES = (
    "people", "words", "time_overlap", "time_gap", "time_unknown", "modality_equal", "plan_done", "denial",
    "place_equal", "place_differs", "session_days", "near", "same_speaker",
)  # fmt: skip
NEAR_TURNS = 2
_WORD = re.compile(r"\w+")
_STOP = frozenset(
    "a an the and or of to in on at for with from by is was are were be been has have had it its that this as s".split()
)
_DENIED = re.compile(
    r"\b(?:not|never|no longer|nobody|cannot|\w+n['’]t|cancel\w*|call(?:s|ed)? off|gave up|given up|refuse[sd]?)\b",
    re.I,
)
_WISHED = re.compile(
    r"\b(?:wants?|wanted|wish\w*|hop(?:es?|ed|ing)|dream\w*|would (?:like|love)|might|may|could|consider\w*|"
    r"think\w* (?:of|about))\b",
    re.I,
)
_PLANNED = re.compile(
    r"\b(?:will|shall|won['’]t|\w+['’]ll|going to|gonna|plan(?:s|ned|ning)?|intends?|due|has to|have to|needs? to|must|"
    r"is to|about to|tomorrow|next (?:week|month|year)|supposed to|expect\w*)\b",
    re.I,
)
_stem = snowballstemmer.stemmer("english").stemWord

Interval = tuple[date, date]


def features(left: JudgeInput, right: JudgeInput) -> list[float]:
    """Give one number for each of ``NAMES``."""
    (a, x), (b, y) = left, right
    one, other = _aligned(x, y)
    gap = time_gap(x, y)
    modes = modality(one, a), modality(other, b)
    where = _places(x), _places(y)
    same_place = bool(where[0] & where[1])
    same_session = a.session == b.session
    days = abs((a.time - b.time).days) if a.time and b.time else 0
    return [
        _jaccard(_people(x), _people(y)),
        _jaccard(_content(x), _content(y)),
        float(gap == 0),
        math.log1p(gap) if gap else 0.0,
        float(gap is None),
        float(modes[0] == modes[1]),
        float(plan_against_done(left, right)),
        float((modes[0] == "denied") != (modes[1] == "denied")),
        float(same_place),
        float(bool(where[0]) and bool(where[1]) and not same_place),
        0.0 if same_session else math.log1p(days) + 1.0,
        float(same_session and abs(a.position - b.position) <= NEAR_TURNS),
        float(a.speaker == b.speaker),
    ]


def modality(event: Event, passage: Passage) -> str:
    """Tell whether an event is ``denied``, ``wished``, ``planned`` or ``done``; a later date makes a plan."""
    if _DENIED.search(event.action):
        return "denied"
    if _WISHED.search(event.action):
        return "wished"
    span = interval(event.time)
    later = span is not None and passage.time is not None and span[0] > passage.time.date()
    return "planned" if later or _PLANNED.search(event.action) else "done"


def plan_against_done(left: JudgeInput, right: JudgeInput) -> bool:
    """Tell whether one side speaks of plans alone and the other of none."""
    kinds = [{modality(e, passage) for e in extraction.events} for passage, extraction in (left, right)]
    open_ = {"planned", "wished"}
    return all(kinds) and any(kinds[i] <= open_ and not kinds[1 - i] & open_ for i in (0, 1))


def days_disjoint(left: JudgeInput, right: JudgeInput) -> bool:
    """Tell whether both sides name dates and none of them meet."""
    return bool(time_gap(left[1], right[1]))


def people_disjoint(left: JudgeInput, right: JudgeInput) -> bool:
    """Tell whether no participant of one side is one of the other."""
    return not _people(left[1]) & _people(right[1])


VETOES = {"days": days_disjoint, "plan": plan_against_done, "people": people_disjoint}


def time_gap(x: Extraction, y: Extraction) -> int | None:
    """Give the least days between their dated events, 0 where two meet, ``None`` where a side has no date."""
    ours, theirs = ([span for e in z.events if (span := interval(e.time))] for z in (x, y))
    return min((max(0, (b[0] - a[1]).days, (a[0] - b[1]).days) for a in ours for b in theirs), default=None)


def interval(time: TimeSpan | None) -> Interval | None:
    """Give first and last day of a resolved time; an open end reaches for ever."""
    if time is None or (time.start is None and time.end is None):
        return None
    try:
        first = _first_day(time.start) if time.start else date.min
        last = _last_day(time.end) if time.end else date.max
    except ValueError:
        return None
    return (first, last) if first <= last else None


def _first_day(iso: str) -> date:
    year, month, day = (*(int(part) for part in iso.split("-")), 1, 1)[:3]
    return date(year, month, day)


def _last_day(iso: str) -> date:
    parts = [int(part) for part in iso.split("-")]
    if len(parts) == 3:
        return date(parts[0], parts[1], parts[2])
    month = parts[1] if len(parts) == 2 else 12
    return (date(parts[0], month, 28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _aligned(x: Extraction, y: Extraction) -> tuple[Event, Event]:
    """Give the two events that share most words; judged extractions have at least one event each."""
    return max(
        ((e, f) for e in x.events for f in y.events),
        key=lambda pair: _jaccard(_stems(_text(pair[0])), _stems(_text(pair[1]))),
    )


def _text(event: Event) -> str:
    return " ".join([*event.participants, event.action, event.location or ""])


def _content(x: Extraction) -> frozenset[str]:
    return _union(_stems(" ".join([e.action, e.location or "", e.causality or "", e.manner or ""])) for e in x.events)


def _people(x: Extraction) -> frozenset[str]:
    return _union(_stems(p) for e in x.events for p in e.participants)


def _places(x: Extraction) -> frozenset[str]:
    return _union(_stems(e.location) for e in x.events if e.location)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0


@lru_cache(maxsize=8192)
def _stems(text: str) -> frozenset[str]:
    return frozenset(_one(word) for word in _WORD.findall(text.casefold()) if word not in _STOP)


@lru_cache(maxsize=65536)
def _one(word: str) -> str:
    return str(_stem(word))
