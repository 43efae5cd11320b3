"""Time words into dates: TIMEPARSE.

Takes the words as they were said and the aware moment of the passage; gives a ``TimeSpan`` with ISO dates at the
precision known, or with none where the words cannot be resolved. The local day of the moment in its own offset is
«today»; nothing here reads the wall clock. Our rules first (``time_rules``), then ``dateparser`` for absolute dates
that they do not know.
Knows nothing about events, facts, storage or models.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from seem.types import TimeSpan
from seem.write.time_anaphora import beside, ongoing, refer
from seem.write.time_calendar import ONE_DAY, Anchor, last_of_month, written
from seem.write.time_rules import first
from seem.write.time_tense import lean
from seem.write.time_words import MONTHS, find, normalise

# Habits hold at no single time.
_FREQUENCY = re.compile(
    r"\b(?:every|each|sometimes|often|usually|always|never|daily|weekly|monthly|yearly|annually|once|twice|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekends|mornings|evenings|afternoons|nights)\b"
)
_SINCE = re.compile(r"\b(?:since|starting(?: with| on)?|beginning|from)\b")
_COUNTDOWN = re.compile(r"^(?:\d{1,4}|an?) (?:day|week|month|year)s? (?:until|to go|left until)\b")
_UNTIL = re.compile(r"\b(?:until|by|no later than|not later than|up to|closes|deadline is|target)\b")
_BEFORE = re.compile(r"\bbefore (?!yesterday|last\b)")
_AFTER = re.compile(r"\bafter (?!tomorrow)")
_EARLIEST = re.compile(r"\bat the earliest$")
_REFERRED_SINCE, _REFERRED_UNTIL = re.compile(r"since\b|from\b"), re.compile(r"until\b|by\b")
_END_OF = re.compile(r"\bend of\b")
_EARLY_DATE = re.compile(r"\b(?:from|since) (?:now|today)\b")
_NOW = re.compile(
    r"^(?:now|for now|at the moment|right now|currently|from now on|these days|nowadays|as of now|until now)$"
)
# What is so at the moment of the words, unless they tell a story.
_AT_ONCE = re.compile(r"^(?:at once|immediately|straight away|right away|yet|not yet)$")
_STILL = re.compile(r"^still$")
_FOR_NOW = re.compile(r"\b(?:for )?(?P<n>\d{1,4}|an?) (?P<unit>day|week|month|year)s? now$")
# «115 days» and «day 119» count what still goes on; fewer days than these are mostly a plain duration.
_DAY_COUNT = re.compile(r"^(?:([2-9]\d|\d{3,4}) days(?: without)?|(?:today is )?day ([2-9]|\d{2,4}))$")
_SPLIT = re.compile(r" (?:to|until|and|through|-|&|\.\.) |, (?=back\b|going\b|home\b|done\b|return)")
_YEAR = re.compile(r"\b(?:1[4-9]|20|21)\d\d\b")
_NAMED = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")


def resolve(text: str, said_at: datetime | None, *, context: str = "") -> TimeSpan:
    """The interval that time words mean.

    ``context`` is the whole turn: its verbs tell past from future, its other times what «the next day» follows.
    """
    leaning, tense = lean(context, text)
    anchor = Anchor(said_at, tense, leaning)
    try:
        start, end = _resolved(text, anchor, context)
    except (ValueError, OverflowError):
        start = end = None
    return TimeSpan(text=text, start=start, end=end)


Pair = tuple[str | None, str | None]


def _resolved(text: str, anchor: Anchor, context: str) -> Pair:
    words = normalise(text)
    if context and anchor.now is not None and not _FREQUENCY.search(words):
        if referred := refer(words, text, context, anchor):
            since, until = _REFERRED_SINCE.match(words), _REFERRED_UNTIL.match(words)
            return None if until else referred.start, None if since else referred.end
        if lasting := ongoing(words, text, context, anchor):
            return lasting.start, None
        anchor = beside(words, text, context, anchor) or anchor
    start, end = _interval(words, anchor)
    if start is None and end is None:
        start = end = _library(text, anchor)
    return start, end


def _interval(words: str, anchor: Anchor) -> Pair:
    if not words or _FREQUENCY.search(words):
        return None, None
    if anchor.now is not None:
        if _NOW.search(words):
            today = anchor.today.isoformat()
            return (None, today) if words.startswith("until") else (today, None)
        if _AT_ONCE.search(words) and anchor.tense != "past":
            return anchor.today.isoformat(), anchor.today.isoformat()
        if _STILL.search(words) and anchor.tense != "past":
            return anchor.today.isoformat(), None
        if match := _FOR_NOW.search(words):
            found = first(f"{match['n']} {match['unit']}s ago", anchor)
            return (found.start, None) if found else (None, None)
        if match := _DAY_COUNT.search(words):
            return (anchor.today - (int(match[1] or match[2]) - (1 if match[2] else 0)) * ONE_DAY).isoformat(), None
    if span := _range(words, anchor):
        return span
    return _opened(words, anchor)


def _range(words: str, anchor: Anchor) -> Pair | None:
    """«from X to Y», «X and Y»: both ends read on their own, the second as the first such time after the first."""
    whole = first(words, anchor)
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
    if found.clock and before:
        return None, None
    if found.closed or _COUNTDOWN.search(words):
        return found.start, found.end
    if until:
        if _END_OF.search(words):
            return None, written(found.hi, "day")
        return None, found.end
    if before:
        return None, written(found.lo - ONE_DAY, "day") if found.unit == "day" else found.end
    if since or _EARLIEST.search(words):
        return found.start, None
    if after and found.unit == "day":
        return written(found.hi + ONE_DAY, "day"), None
    return (found.start, None) if after else (found.start, found.end)


# ---- the library ---------------------------------------------------------------------------------------------------

_LIBRARY_LENGTH = 60
_HAS_YEAR = re.compile(r"(?<!\d)(?:1[4-9]|20|21)\d\d(?!\d)")
_NUMERIC = re.compile(r"(?<![\d./])(\d{1,2})[./](\d{1,2})[./](\d{4}|\d\d)(?![\d./])")
_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "sv")
_NEUTRAL = datetime(2000, 1, 1)


def _library(text: str, anchor: Anchor) -> str | None:
    """An absolute date in a shape or language that our rules do not know.

    Only words with a year of their own: whatever the library completes from its base would be an invented date.
    """
    words = text.strip()
    numeric = _NUMERIC.search(words[:_LIBRARY_LENGTH])
    if numeric and int(numeric[1]) <= 12 and int(numeric[2]) <= 12 and numeric[1] != numeric[2]:
        # Day or month first is a custom of the writer, which nobody here knows.
        return None
    if len(words) > _LIBRARY_LENGTH or not (numeric or _HAS_YEAR.search(words)):
        return None
    words = numeric[0] if numeric else words
    for parts in (["day", "month", "year"], ["month", "year"]):
        if parsed := _parsed(words, parts, "MDY" if numeric and int(numeric[2]) > 12 else "DMY"):
            return written(parsed.date(), "day" if "day" in parts else "month")
    return None


def _parsed(words: str, parts: list[str], order: str) -> datetime | None:
    settings: dict[str, Any] = {
        "RELATIVE_BASE": _NEUTRAL, "REQUIRE_PARTS": parts, "PREFER_DATES_FROM": "past", "DATE_ORDER": order,
        "PARSERS": ["absolute-time"], "PREFER_DAY_OF_MONTH": "first",
    }  # fmt: skip
    try:
        import dateparser  # loaded late: it takes longer than everything else here

        parsed: datetime | None = dateparser.parse(words, languages=list(_LANGUAGES), settings=settings)
    except Exception:  # the library raises many kinds on odd input; none of them means more than «no date here»
        return None
    if parsed is None or not (str(parsed.year) in words or str(parsed.year)[2:] in words):
        return None
    return parsed


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
