"""Times that lean on another time: «the next day», «that night», «two days later», «at eleven», «the 20th».

Takes normalised words, the turn with the turns before it and an anchor; gives the interval counted from the time that
they refer to, or ``None`` where the words stand on their own or nothing before them names a time. Knows nothing about
open intervals.
"""

from __future__ import annotations

import re
from datetime import date, datetime

from seem.write.time_calendar import ONE_DAY, Anchor, Found, add_months, day_of, month_of, week_of, year_of
from seem.write.time_others import Other, Told, others
from seem.write.time_rules import first
from seem.write.time_words import MONTHS, UNITS, WEEKDAYS

_DAYPART = r"(?:day|morning|afternoon|evening|night)"
_WD = rf"(?P<wd>{'|'.join(WEEKDAYS)})"
_N = r"(?P<n>\d{1,3}|an?)"
_UNIT = rf"(?P<unit>{'|'.join(sorted(UNITS, key=len, reverse=True))})\b"
_LEAD = r"^(?:since |until |from |by |already |on |in |during |then )?"
_NEXT = re.compile(rf"{_LEAD}(?:(?:the )?(?:next|following) {_DAYPART}|the {_DAYPART} after(?: that)?)$")
_BEFORE = re.compile(rf"{_LEAD}(?:(?:the )?{_DAYPART} before(?: that)?|(?:the )?previous {_DAYPART})$")
_SAME = re.compile(rf"{_LEAD}(?:later )?(?:that|the same|the very same)(?: same| very)? {_DAYPART}\b")
_WEEK = re.compile(rf"{_LEAD}(?:(?P<same>(?:that|the same) week)|(?P<next>(?:the )?(?:week after|following week))"
                   rf"|(?P<back>(?:the )?(?:week before|previous week)))(?: that)?$")  # fmt: skip
_LONG = re.compile(rf"{_LEAD}(?:that|the same) (?:same |very )?(?P<what>month|year)$")
_SHIFT = re.compile(rf"{_LEAD}{_N} {_UNIT} (?P<way>later|after|afterwards|before|earlier)(?: that)?$")
_WEEKDAY = re.compile(rf"{_LEAD}(?P<which>the|that) {_WD}(?: {_DAYPART})?(?: (?P<way>before|after))?$")
_NTH = re.compile(
    rf"{_LEAD}(?:the|my|our|his|her|their) (?P<n>\d{{1,2}})(?:st|nd|rd|th) (?P<what>{_DAYPART}|week)$"
    r"|^on day (?P<m>\d{1,2})$"
)
_BARE_WEEKDAY = re.compile(rf"{_LEAD}{_WD}(?: {_DAYPART})?$")
_THEN = re.compile(r"^(?:(?:since|by|until)? ?then|from then on|ever since|before that)$")
_CLOCK = re.compile(
    r"^(?:at|by|from|since|until|around|before|after|in|shortly|just|late|early| )*"
    r"(?:the (?:morning|afternoon|evening)|noon|midnight|midday|sunrise|sunset|dawn|dusk|lunch|lunchtime|"
    r"(?:\d|1[0-2]|\d{1,2}[:.]\d\d(?::\d\d)?)(?: ?[ap]\.?m\.?| o'clock)?"
    r"|(?:half|\d{1,2}|quarter|a quarter) (?:past|to) \d{1,2})"
    r"(?: (?:in the (?:morning|afternoon|evening)|at night|(?:to|until|and) (?:\d{1,2}(?::\d\d)?|noon|midnight)))*$"
)
_MINUTE, _TILL_HOUR = re.compile(r"\d[:.]\d\d"), re.compile(r"\b(?:until|before)\b")
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_DEADLINE = re.compile(r"^(?:by|until|no later than)\b")
_BARE_DAY = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)\b(?! (?:day|week|night|month|year|morning|evening))")
# A day of the month belongs to a coming date named before it only where it lies this near to it.
_NEIGHBOURS = 10
# An hour of the turn before belongs to a day at most this far back.
_RECENT = 7
_DATED = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)}),? (?:the )?\d|\b(?:{'|'.join(WEEKDAYS)}),? (?:{'|'.join(MONTHS)}) \d")
_REFERENCES = (_NEXT, _BEFORE, _SAME, _WEEK, _LONG, _SHIFT, _WEEKDAY, _NTH, _THEN)
# How many sentences on an hour still belongs to the day that was named.
_SAME_SCENE = 2


def refers(words: str) -> bool:
    """Whether words mean nothing without another time, so that the calendar alone may not read them."""
    match = _WEEKDAY.search(words)
    return match is not None and match["which"] == "that"


def refer(words: str, text: str, told: Told, anchor: Anchor) -> Found | None:
    """The interval of words that need another time, counted from the last one before."""
    if weekday := _BARE_WEEKDAY.search(words):
        return _after_date(weekday["wd"], others(text, told, anchor), anchor)
    clock = _CLOCK.search(words)
    if not (clock or any(pattern.search(words) for pattern in _REFERENCES)):
        return None
    named = others(text, told, anchor)
    days = [other for other in named if other.found.unit == "day" and other.found.lo == other.found.hi]
    if clock:
        return _at_hour(words, days, anchor)
    if _NTH.search(words):
        named = [other for other in named if not other.turns]
    if _THEN.search(words):
        return named[0].found if named else None
    if match := _WEEK.search(words):
        return _week(match, named)
    if match := _LONG.search(words):
        return _long(match["what"], named)
    if match := _NTH.search(words):
        return _nth(match, named)
    return _counted(words, days)


def beside(words: str, text: str, told: Told, anchor: Anchor) -> Anchor | None:
    """The anchor that «the 20th» borrows from a coming date by it: «papers on the 12th of February, the oral …»."""
    if not _BARE_DAY.search(words) or _MONTH.search(words) or " month" in words or anchor.tense == "past":
        return None
    for other in others(text, told, anchor):
        found = other.found
        if not _MONTH.search(other.words) or _DEADLINE.search(other.words) or found.lo <= anchor.today:
            continue
        if found.unit == "year" or (not other.turns and other.sentences > 1) or (other.turns and found.unit == "month"):
            continue
        middle = found.lo + (found.hi - found.lo) // 2
        moved = Anchor(datetime(middle.year, middle.month, middle.day, 12))
        there = first(words, moved)
        near = there and max((found.lo - there.hi).days, (there.lo - found.hi).days) <= _NEIGHBOURS
        return moved if there and near and there.lo > anchor.today else None
    return None


def _at_hour(words: str, days: list[Other], anchor: Anchor) -> Found | None:
    """The day of an hour: one named just before, or in the turn before where this one names none."""
    if words.startswith("since") and anchor.tense != "past":
        return day_of(anchor.today)
    if anchor.tense is None and anchor.lean > 0:
        return None
    own = [other for other in days if not other.turns]
    if own:
        return next((other.found for other in own if other.sentences <= _SAME_SCENE), None)
    if _TILL_HOUR.search(words):
        return None
    # A minute of the day belongs to a record: the turn before must have given its day with an hour as well.
    minute, ahead = bool(_MINUTE.search(words)), anchor.tense == "future"
    recent = (o for o in days if o.same_day and (anchor.today - o.found.lo).days <= _RECENT)
    near = (o.found for o in recent if (o.turns == 1 or not ahead) and (o.clock or not minute))
    return next((found for found in near if (found.lo > anchor.today) == ahead), None)


def _after_date(weekday: str, named: list[Other], anchor: Anchor) -> Found | None:
    """«on Sunday», told after «on Saturday the 14th»: the weekday that followed a date which is over a week past."""
    dated = named[0] if named and anchor.looks_back else None
    if dated is None or not _DATED.search(dated.words) or dated.sentences > 1 or dated.found.unit != "day":
        return None
    day = dated.found.hi
    if (anchor.today - day).days <= 7:
        return None
    return day_of(day + ((WEEKDAYS.index(weekday) - day.weekday()) % 7 or 7) * ONE_DAY)


def _counted(words: str, days: list[Other]) -> Found | None:
    if not days:
        return None
    day = days[0].found.lo
    if match := _WEEKDAY.search(words):
        return _weekday(match, days)
    if _SAME.search(words):
        return day_of(day)
    if _NEXT.search(words):
        return day_of(day + ONE_DAY)
    if _BEFORE.search(words):
        return day_of(day - ONE_DAY)
    if match := _SHIFT.search(words):
        return _shift(match, day)
    return None


def _weekday(match: re.Match[str], days: list[Other]) -> Found | None:
    """«the Friday after», or «that Saturday»: the one that was named, else the next one from the last day named."""
    index, way = WEEKDAYS.index(match["wd"]), match["way"]
    if way is None and (same := next((o for o in days if o.found.lo.weekday() == index), None)):
        return same.found
    day = days[0].found.lo
    if way is None and days[0].turns:
        return None
    gap = (index - day.weekday()) % 7
    return day_of(day + (gap - 7 if way == "before" else gap or (7 if way else 0)) * ONE_DAY)


def _nth(match: re.Match[str], named: list[Other]) -> Found | None:
    """«the second night», «the first week»: counted from the day on which what was named began."""
    begun = next((o.found for o in named if o.found.unit == "day"), None)
    if begun is None:
        return None
    rank = int(match["n"] or match["m"]) - 1
    return week_of(begun.lo + 7 * rank * ONE_DAY) if match["what"] == "week" else day_of(begun.lo + rank * ONE_DAY)


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


def _week(match: re.Match[str], named: list[Other]) -> Found | None:
    found = next((o.found for o in named if o.found.unit == "day" and (o.found.hi - o.found.lo).days < 8), None)
    if found is None:
        return None
    step = 0 if match["same"] else 7 if match["next"] else -7
    return week_of(found.lo + step * ONE_DAY)


def _long(what: str, named: list[Other]) -> Found | None:
    found = next((o.found for o in named if what == "year" or o.found.unit != "year"), None)
    if found is None:
        return None
    return year_of(found.lo.year) if what == "year" else month_of(found.lo.year, found.lo.month)
