"""Time words into dates: TIMEPARSE.

Takes the words as they were said and the aware moment of the passage; gives a ``TimeSpan`` with ISO dates at the
precision known, or with none where the words cannot be resolved. The local day of the moment in its own offset is
«today»; nothing here reads the wall clock. Our rules first (``time_rules``), then ``dateparser`` for absolute dates
that they do not know.
Knows nothing about events, facts, storage or models.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

from seem.types import TimeSpan
from seem.write.time_anaphora import beside, refer, refers
from seem.write.time_calendar import ONE_DAY, Anchor, Found, Pair, add_months, last_of_month, written
from seem.write.time_lengths import awaited, ongoing, within
from seem.write.time_library import absolute
from seem.write.time_now import moment
from seem.write.time_others import Earlier, Told
from seem.write.time_rules import first
from seem.write.time_tense import lean, place
from seem.write.time_words import MONTHS, SEASONS, find, normalise

# Habits hold at no single time.
_FREQUENCY = re.compile(
    r"\b(?:every|each|sometimes|often|usually|always|never|daily|weekly|monthly|yearly|annually|once|twice|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekends(?! ago)|mornings|evenings|afternoons|nights)\b"
)
_SINCE = re.compile(r"\b(?:since|starting(?: with| on)?|beginning|from)\b")
_COUNTDOWN = re.compile(r"^(?:\d{1,4}|an?) (?:day|week|month|year)s? (?:until|to go|left until)\b")
_UNTIL = re.compile(r"\b(?:until|by|no later than|not later than|up to|closes|deadline is|target)\b")
_BEFORE = re.compile(r"\bbefore (?!yesterday|last\b)")
_AFTER = re.compile(r"\bafter (?!tomorrow)")
_EARLIEST = re.compile(r"\bat the earliest$")
_REFERRED_SINCE = re.compile(r"since\b|from\b|ever since\b")
_REFERRED_UNTIL = re.compile(r"until\b|by then\b|before that$")
_END_OF = re.compile(r"\bend of\b")
_EARLY_DATE = re.compile(r"\b(?:from|since) (?:now|today)\b")
_BEFORE_SEASON = re.compile(rf"\bbefore (?:the )?(?:{'|'.join(SEASONS)})$")
_SPLIT = re.compile(r" (?:to|until|and|through|-|&|\.\.) |, (?=back\b|going\b|home\b|done\b|return)")
_YEAR = re.compile(r"\b(?:1[4-9]|20|21)\d\d\b")
_NAMED = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")


def resolve(text: str, said_at: datetime | None, *, context: str = "", before: Sequence[Earlier] = ()) -> TimeSpan:
    """The interval that time words mean.

    ``context`` is the whole turn: its verbs tell past from future, its other times what «the next day» follows.
    ``before`` holds the turns before it with their moments, the nearest last; words that only one of them holds are
    read as they were said there.
    """
    told = Told(context, tuple(before))
    if before and place(context, text) is None:
        held = next((n for n in range(len(before) - 1, -1, -1) if place(before[n][0], text) is not None), None)
        if held is not None:
            told, said_at = Told(before[held][0], tuple(before[:held])), before[held][1] or said_at
    leaning, tense = lean(told.turn, text)
    if told.turn is not context:
        # The answer's verbs tell as much as those of the question whose words it takes up.
        leaning += lean(context, text)[0]
        tense = tense if (tense == "future") == (leaning > 0) else None
    try:
        start, end = _resolved(text, Anchor(said_at, tense, leaning), told)
    except (ValueError, OverflowError):
        start = end = None
    return TimeSpan(text=text, start=start, end=end)


def _resolved(text: str, anchor: Anchor, told: Told) -> Pair:
    words = normalise(text)
    if anchor.now is not None and words and not _FREQUENCY.search(words):
        if told.turn:
            if referred := refer(words, text, told, anchor):
                since, until = _REFERRED_SINCE.match(words), _REFERRED_UNTIL.match(words)
                return None if until else referred.start, None if since else referred.end
            if lasting := ongoing(words, text, told.turn, anchor):
                return lasting.start, None
            if past := within(words, text, told.turn, anchor):
                return past.start, past.end
            if day := awaited(words, text, told.turn, anchor):
                return day.start, day.end
            anchor = beside(words, text, told, anchor) or anchor
        if pair := moment(words, text, told.turn, anchor):
            return pair
        if told.turn and refers(words):
            return None, None
    start, end = _interval(words, anchor)
    if start is None and end is None:
        start = end = absolute(text)
    return start, end


def _interval(words: str, anchor: Anchor) -> Pair:
    if not words or _FREQUENCY.search(words):
        return None, None
    if span := _range(words, anchor):
        return span
    return _opened(words, anchor)


def _range(words: str, anchor: Anchor) -> Pair | None:
    """«from X to Y», «X and Y»: both ends read on their own, the second as the first such time after the first."""
    whole = first(words, anchor)
    if whole and whole.closed:
        return whole.start, whole.end
    for cut in _SPLIT.finditer(words):
        left, right = words[: cut.start()], words[cut.end() :]
        year = _YEAR.search(right)
        if year and _NAMED.search(left) and not _YEAR.search(left):
            left = f"{left} {year[0]}"
        low = first(left, anchor)
        if low is None or low.clock:
            continue
        after = replace(anchor, now=_noon(low.lo, anchor), tense="future")
        high = first(right, after)
        if high is None or high.clock or high.hi < low.lo or (high.lo, high.hi) == (low.lo, low.hi):
            continue
        if whole and whole.lo <= low.lo and whole.hi >= high.hi and whole.unit == "day":
            return whole.start, whole.end
        return low.start, high.end
    return None


def _noon(day: date, anchor: Anchor) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=anchor.now.tzinfo if anchor.now else None)


def _opened(words: str, anchor: Anchor) -> Pair:
    """A single time as it stands, or opened to one side by a preposition."""
    found = first(words, anchor)
    if found is None:
        return None, None

    def opener(pattern: re.Pattern[str]) -> re.Match[str] | None:
        # «tomorrow after her surgery hours»: what stands behind the time does not open it.
        match = pattern.search(words)
        return match if match and first(words[: match.start()], anchor) is None else None

    since, until, before, after = map(opener, (_SINCE, _UNTIL, _BEFORE, _AFTER))
    if _EARLY_DATE.search(words) and not words.startswith(("from", "since")):
        since = None
    if found.clock and (before or (anchor.tense == "future" and not since and not until)):
        return None, None
    if found.closed or _COUNTDOWN.search(words):
        return found.start, found.end
    if until:
        if _END_OF.search(words):
            return None, written(found.hi, "month" if found.unit == "year" else "day")
        return None, found.end
    if before:
        return None, _eve(found) if _BEFORE_SEASON.search(words) else found.end
    if since or _EARLIEST.search(words):
        return found.start, None
    if after and found.unit == "day":
        return written(found.hi + ONE_DAY, "day"), None
    return (found.start, None) if after else (found.start, found.end)


def _eve(found: Found) -> str:
    """The month before a season."""
    return written(add_months(found.lo, -1), "month")


# ---- around the resolver -------------------------------------------------------------------------------------------


def find_times(text: str) -> list[tuple[int, int]]:
    """The character spans of the time expressions in a sentence or question."""
    return find(text)


def _edge(iso: str | None, last: bool) -> date | None:
    """The first or last day that an ISO date of any precision covers."""
    if iso is None:
        return None
    year, month, day = ([int(part) for part in iso.split("-")] + [0, 0])[:3]
    if day:
        return date(year, month, day)
    if month:
        return last_of_month(year, month) if last else date(year, month, 1)
    return date(year, 12, 31) if last else date(year, 1, 1)


def overlap(a: TimeSpan, b: TimeSpan) -> bool | None:
    """Whether two intervals share a day; an open side reaches without end; ``None`` where either is unknown."""
    try:
        edges = [(_edge(span.start, False), _edge(span.end, True)) for span in (a, b)]
    except ValueError:
        return None
    if any(start is None and end is None for start, end in edges):
        return None
    (a_start, a_end), (b_start, b_end) = edges
    before = a_end is not None and b_start is not None and a_end < b_start
    after = b_end is not None and a_start is not None and b_end < a_start
    return not (before or after)


def _spoken(iso: str) -> str:
    parts = [int(part) for part in iso.split("-")]
    date(*[*parts, 1, 1][:3])  # refuses what is no date
    months = [MONTHS[month - 1].capitalize() for month in parts[1:2]]
    return " ".join([*map(str, parts[2:3]), *months, str(parts[0])])


def describe(span: TimeSpan) -> str:
    """An absolute date in plain English; empty where the interval is unknown."""
    start, end = span.start, span.end
    try:
        if start is None:
            return f"until {_spoken(end)}" if end else ""
        if end is None:
            return f"since {_spoken(start)}"
        if start == end:
            return f"{'on' if len(start) == 10 else 'in'} {_spoken(start)}"
        return f"from {_shared(start, end)} to {_spoken(end)}"
    except (ValueError, TypeError):
        return ""


def _shared(start: str, end: str) -> str:
    """The start of a range without the year and month that its end names anyway."""
    spoken = _spoken(start).split(" ")
    if len(start) != len(end):
        return " ".join(spoken)
    same = 2 if start[:7] == end[:7] else 1 if start[:4] == end[:4] else 0
    return " ".join(spoken[: max(1, len(spoken) - same)])
