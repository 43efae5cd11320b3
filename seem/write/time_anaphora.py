"""Times that lean on another time of the same turn: «the next day», «that night», «two days later», «at eleven».

Takes normalised words, the turn and an anchor; gives the interval counted from the time in the turn that they refer to,
or ``None`` where the words stand on their own or the turn holds no such time. Knows nothing about open intervals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime

from seem.write.time_calendar import ONE_DAY, Anchor, Found, add_months, day_of, month_of, week_of
from seem.write.time_rules import first
from seem.write.time_tense import lean, place
from seem.write.time_words import MAX_PHRASE, MONTHS, UNITS, WEEKDAYS, find, normalise

_REACH = 600
_DAYPART = r"(?:day|morning|afternoon|evening|night)"
_WD = rf"(?P<wd>{'|'.join(WEEKDAYS)})"
_N = r"(?P<n>\d{1,3}|an?)"
_UNIT = rf"(?P<unit>{'|'.join(sorted(UNITS, key=len, reverse=True))})\b"
_LEAD = r"^(?:since |until |from |by |already |on |in |then )?"
_NEXT = re.compile(rf"{_LEAD}(?:(?:the )?(?:next|following) {_DAYPART}|the {_DAYPART} after(?: that)?)$")
_BEFORE = re.compile(rf"{_LEAD}(?:the )?(?:{_DAYPART} before(?: that)?|previous {_DAYPART})$")
_SAME = re.compile(rf"{_LEAD}(?:later )?(?:that|the same|the very same)(?: same| very)? {_DAYPART}\b")
_WEEK = re.compile(rf"{_LEAD}(?:(?P<same>(?:that|the same) week)|(?P<next>(?:the )?(?:week after|following week))"
                   rf"|(?P<back>(?:the )?(?:week before|previous week)))(?: that)?$")  # fmt: skip
_SHIFT = re.compile(rf"{_LEAD}{_N} {_UNIT} (?P<way>later|after|afterwards|before|earlier)(?: that)?$")
_WEEKDAY = re.compile(rf"{_LEAD}(?:the|that) {_WD}(?: (?P<way>before|after))?$")
_NTH = re.compile(
    rf"{_LEAD}(?:the|my|our|his|her|their) (?P<n>\d{{1,2}})(?:st|nd|rd|th) {_DAYPART}$|^on day (?P<m>\d{{1,2}})$"
)
_BARE_WEEKDAY = re.compile(rf"{_LEAD}{_WD}(?: {_DAYPART})?$")
_THEN = re.compile(r"^(?:since|by|until|back)? ?then$")
_CLOCK = re.compile(
    r"^(?:at|by|from|since|until|around|before|after|in|shortly|just|late|early| )*"
    r"(?:the (?:morning|afternoon|evening)|noon|midnight|midday|(?:\d|1[0-2]|\d{1,2}[:.]\d\d)"
    r"(?: ?[ap]\.?m\.?| o'clock)?"
    r"|(?:half|\d{1,2}|quarter|a quarter) (?:past|to) \d{1,2})"
    r"(?: (?:in the (?:morning|afternoon|evening)|at night|(?:to|until) (?:\d{1,2}(?::\d\d)?|noon|midnight)))*$"
)
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_BARE_DAY = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)\b(?! (?:day|week|night|month|year|morning|evening))")
# A day of the month belongs to a date in the turn only where it lies this near to it.
_NEIGHBOURS = 10
_DATED = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)}),? (?:the )?\d|\b(?:{'|'.join(WEEKDAYS)}),? (?:{'|'.join(MONTHS)}) \d")
_LENGTH = re.compile(r"^for (?P<n>\d{1,3}|an?) (?P<unit>day|week|month|year)s?$")
_STILL = re.compile(r"(?:\bhave|\bhas|['’]ve|n['’]t|['’]s) (?:\w+ ){0,2}been\b[^.!?,;]*$", re.IGNORECASE)
_REFERENCES = (_NEXT, _BEFORE, _SAME, _WEEK, _SHIFT, _WEEKDAY, _NTH, _THEN)
# How many sentences on an hour still belongs to the day that was named.
_SAME_SCENE = 2
_SENTENCE_END = re.compile(r"[.!?…]+(?=\s)|\n+")


@dataclass(frozen=True, slots=True)
class _Other:
    """A time that the turn names before the words: its meaning, its words, and the sentence ends between."""

    found: Found
    words: str
    sentences: int


def refer(words: str, text: str, context: str, anchor: Anchor) -> Found | None:
    """The interval of words that need another time, counted from the last one before."""
    if weekday := _BARE_WEEKDAY.search(words):
        return _after_date(weekday["wd"], _others(text, context, anchor), anchor)
    clock = _CLOCK.search(words)
    if not (clock or any(pattern.search(words) for pattern in _REFERENCES)):
        return None
    others = _others(text, context, anchor)
    days = [other for other in others if other.found.unit == "day" and other.found.lo == other.found.hi]
    if clock:
        if anchor.tense is None and anchor.lean > 0:
            return None
        scene = _SAME_SCENE if ":" not in words else 1
        return next((o.found for o in days if o.sentences <= scene), None)
    if _THEN.search(words):
        return others[0].found if others else None
    if match := _WEEK.search(words):
        return _week(match, others)
    return _counted(words, days)


def beside(words: str, text: str, context: str, anchor: Anchor) -> Anchor | None:
    """The anchor that «the 20th» borrows from a coming date by it: «papers on the 12th of February, the oral …»."""
    if not _BARE_DAY.search(words) or _MONTH.search(words) or anchor.tense == "past":
        return None
    for other in _others(text, context, anchor):
        found = other.found
        if not _MONTH.search(other.words) or other.sentences > 1 or found.lo <= anchor.today or found.unit == "year":
            continue
        middle = found.lo + (found.hi - found.lo) // 2
        moved = Anchor(datetime(middle.year, middle.month, middle.day, 12))
        there = first(words, moved)
        near = there and max((found.lo - there.hi).days, (there.lo - found.hi).days) <= _NEIGHBOURS
        return moved if there and near and there.lo > anchor.today else None
    return None


def ongoing(words: str, text: str, context: str, anchor: Anchor) -> Found | None:
    """When «I've been here for three weeks» began; ``None`` where the words are no length or it may be over."""
    match, at = _LENGTH.search(words), place(context, text)
    if match is None or at is None or not _STILL.search(context[max(0, at - _REACH) : at]):
        return None
    amount = int(match["n"]) if match["n"].isdigit() else 1
    if match["unit"] in ("day", "week"):
        return day_of(anchor.today - amount * (7 if match["unit"] == "week" else 1) * ONE_DAY)
    return first(f"{amount} {match['unit']}s ago", anchor)


def _after_date(weekday: str, others: list[_Other], anchor: Anchor) -> Found | None:
    """«on Sunday», told after «on Saturday the 14th»: the weekday that followed a date which is over a week past."""
    dated = others[0] if others and anchor.looks_back else None
    if dated is None or not _DATED.search(dated.words) or dated.sentences > 1 or dated.found.unit != "day":
        return None
    day = dated.found.hi
    if (anchor.today - day).days <= 7:
        return None
    return day_of(day + ((WEEKDAYS.index(weekday) - day.weekday()) % 7 or 7) * ONE_DAY)


def _counted(words: str, days: list[_Other]) -> Found | None:
    if not days:
        return None
    day = days[0].found.lo
    if _SAME.search(words):
        return day_of(day)
    if _NEXT.search(words):
        return day_of(day + ONE_DAY)
    if _BEFORE.search(words):
        return day_of(day - ONE_DAY)
    if match := _NTH.search(words):
        return day_of(day + (int(match["n"] or match["m"]) - 1) * ONE_DAY)
    if match := _WEEKDAY.search(words):
        gap = (WEEKDAYS.index(match["wd"]) - day.weekday()) % 7
        return day_of(day + (gap - 7 if match["way"] == "before" else gap or (7 if match["way"] else 0)) * ONE_DAY)
    if match := _SHIFT.search(words):
        return _shift(match, day)
    return None


def _shift(match: re.Match[str], day: date) -> Found | None:
    amount = int(match["n"]) if match["n"].isdigit() else 1
    amount = -amount if match["way"] in ("before", "earlier") else amount
    unit = UNITS[match["unit"]]
    if unit == "hour":
        return day_of(day)
    if unit == "day":
        return day_of(day + amount * ONE_DAY)
    if unit in ("week", "fortnight"):
        return week_of(day + amount * (7 if unit == "week" else 14) * ONE_DAY)
    there = add_months(day, amount * {"month": 1, "year": 12, "decade": 120}[unit])
    return month_of(there.year, there.month)


def _week(match: re.Match[str], others: list[_Other]) -> Found | None:
    found = next((o.found for o in others if o.found.unit == "day" and (o.found.hi - o.found.lo).days < 8), None)
    if found is None:
        return None
    step = 0 if match["same"] else 7 if match["next"] else -7
    return week_of(found.lo + step * ONE_DAY)


def _others(text: str, context: str, anchor: Anchor) -> list[_Other]:
    """The times that the turn names before the words, the nearest first."""
    at = place(context, text)
    if at is None or len(text) > MAX_PHRASE:
        return []
    low = max(0, at - _REACH)
    near, begin = context[low : at + _REACH], at - low
    found: list[_Other] = []
    for start, stop in find(near):
        if stop > begin:
            break
        phrase = near[start:stop]
        leaning, tense = lean(near, phrase)
        read = first(normalise(phrase), replace(anchor, lean=leaning, tense=tense))
        if read is None or read.clock or (anchor.looks_back and read.lo > anchor.today):
            continue
        found.append(_Other(read, normalise(phrase), len(_SENTENCE_END.findall(near[stop:begin]))))
    return found[::-1]
