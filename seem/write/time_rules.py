"""The rules that turn one normalised time phrase into calendar dates.

Takes normalised words (see ``time_words``) and an anchor; gives a closed interval with a precision, or ``None``. The
rules are a table: a pattern, its reader, and whether it needs the anchor; the first that answers wins.
Knows nothing about open intervals (since, until), passages or the wall clock.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

from seem.write.time_calendar import (
    ONE_DAY,
    STEP,
    Anchor,
    Found,
    Match,
    Reader,
    add_months,
    around,
    choose,
    day_of,
    month_of,
    valid,
    week_of,
    weekday_from,
    year_of,
)
from seem.write.time_holidays import HOLIDAYS, holiday
from seem.write.time_words import DECADE_WORDS, MONTHS, SEASONS, UNITS, WEEKDAYS

# ---- dates of the calendar -----------------------------------------------------------------------------------------


def _calendar(match: Match, anchor: Anchor) -> Found | None:
    parts = match.groupdict()
    named = parts.get("wd") or parts.get("wd2")
    weekday = WEEKDAYS.index(named) if named else None
    month = MONTHS.index(parts["mon"]) + 1 if parts.get("mon") else None
    day = int(parts["d"]) if parts.get("d") else None
    year = int(parts["y"]) if parts.get("y") else None
    if year is None and anchor.now and parts.get("yw"):
        year = anchor.today.year + {"last": -1, "this": 0, "next": 1}[parts["yw"]]
    if year is not None:
        if month is None:
            return year_of(year)
        return month_of(year, month) if day is None else valid(year, month, day)
    if anchor.now is None:
        return None
    if month is not None:
        options = around(anchor, lambda y: valid(y, month, day) if day else month_of(y, month), 4)
    elif day is not None:
        options = _days_of_months(anchor.today, day)
    else:
        return None
    if weekday is not None:
        # A weekday said beside a date decides between the years or months; where none agrees it was a slip.
        options = [found for found in options if found.lo.weekday() == weekday] or options
    return choose(options, anchor)


def _days_of_months(today: date, day: int) -> list[Found]:
    firsts = (add_months(today.replace(day=1), offset) for offset in range(-11, 12))
    return [found for first in firsts if (found := valid(first.year, first.month, day))]


def _iso(match: Match, anchor: Anchor) -> Found | None:
    year, month = int(match[1]), int(match[2])
    if not 1 <= month <= 12:
        return None
    return valid(year, month, int(match[3])) if match[3] else month_of(year, month)


def _quarter(match: Match, anchor: Anchor) -> Found | None:
    return month_of(int(match["y"]), 3 * int(match[1]) - 2, 3)


def _tagged(match: Match, anchor: Anchor) -> Found | None:
    return choose(around(anchor, lambda y: valid(y, int(match[1]), int(match[2])), 4), replace(anchor, tense="past"))


def _day_range(match: Match, anchor: Anchor) -> Found | None:
    """Two numbers that share a month: «10 to 12 June», «June 10-12», «the 10th and the 11th»."""
    parts = match.groupdict()
    first, last = int(parts["d1"]), int(parts["d2"])
    month = MONTHS.index(parts["mon"]) + 1 if parts.get("mon") else None
    year = int(parts["y"]) if parts.get("y") else None
    if last < first or not 1 <= first <= 31:
        return None
    if year and month:
        options = [valid(year, month, first)]
    elif anchor.now is None:
        return None
    elif month:
        options = [valid(anchor.today.year + offset, month, first) for offset in range(-4, 5)]
    else:
        options = list(_days_of_months(anchor.today, first))
    spans = [_extended(found, last) for found in options if found]
    chosen = [span for span in spans if span]
    return chosen[0] if year and chosen else choose(chosen, anchor)


def _extended(found: Found, last: int) -> Found | None:
    end = valid(found.lo.year, found.lo.month, last)
    return Found(found.lo, end.lo, closed=True) if end else None


def _short_years(match: Match, anchor: Anchor) -> Found | None:
    first = int(match[1])
    last = int(match[2]) if len(match[2]) == 4 else first // 100 * 100 + int(match[2])
    return replace(year_of(first, last - first + 1), closed=True) if last >= first else None


def _decade(match: Match, anchor: Anchor) -> Found | None:
    text = match[1] or match[2]
    if text in DECADE_WORDS:
        return year_of(1900 + DECADE_WORDS[text], 10)
    number = int(text)
    return year_of(number if number > 99 else (2000 if number < 30 else 1900) + number, 10)


def _nth(match: Match, anchor: Anchor) -> Found | None:
    """«the second Friday of February», «the first week of May», «the last weekend in June»."""
    month = _calendar(match, anchor)
    if month is None or month.unit != "month":
        return None
    rank = -1 if match["nth"] == "last" else int(match["nth"][0]) - 1
    first, last, what = month.lo, month.hi, match["what"]
    if what == "week":
        return Found(last - 6 * ONE_DAY, last) if rank < 0 else day_of(first + 7 * rank * ONE_DAY, 7)
    weekday = 5 if what == "weekend" else WEEKDAYS.index(what)
    days = [first + n * ONE_DAY for n in range(last.day) if (first + n * ONE_DAY).weekday() == weekday]
    return day_of(days[rank], 2 if what == "weekend" else 1) if -1 <= rank < len(days) else None


def _weekend_of(match: Match, anchor: Anchor) -> Found | None:
    day = _calendar(match, anchor)
    if day is None or day.unit != "day":
        return None
    week = week_of(day.lo)
    return Found(week.hi - ONE_DAY, week.hi)


# ---- relative to the anchor ----------------------------------------------------------------------------------------

_DAY_OFFSETS = {
    "day before yesterday": -2, "night before last": -2, "day after tomorrow": 2, "yesterday": -1, "last night": -1,
    "last evening": -1, "tomorrow": 1, "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0,
    "this evening": 0, "earlier on": 0, "just now": 0, "a moment ago": 0, "moments ago": 0, "a minute ago": 0,
}  # fmt: skip


def _day_offset(match: Match, anchor: Anchor) -> Found | None:
    return day_of(anchor.today + _DAY_OFFSETS[match[1]] * ONE_DAY)


def _amount(match: Match) -> int:
    return int(match["n"]) if match["n"].isdigit() else 1


def _shifted(anchor: Anchor, unit: str, amount: int) -> Found | None:
    """The unit that lies ``amount`` units from the anchor: a week is a Monday-to-Sunday week, a month the month."""
    today = anchor.today
    if unit == "hour":
        return None
    if unit == "day":
        return day_of(today + amount * ONE_DAY)
    if unit in ("week", "fortnight"):
        return week_of(today + amount * (7 if unit == "week" else 14) * ONE_DAY)
    if unit == "month":
        there = add_months(today.replace(day=1), amount)
        return month_of(there.year, there.month)
    return year_of(today.year + amount * (10 if unit == "decade" else 1))


def _ago(match: Match, anchor: Anchor) -> Found | None:
    unit = UNITS[match["unit"]]
    if unit == "hour" and anchor.now:
        ago = timedelta(hours=_amount(match)) if match["unit"].startswith("h") else timedelta(minutes=_amount(match))
        return day_of((anchor.now - ago).date())
    found = _shifted(anchor, unit, -_amount(match))
    weekday = match.groupdict().get("wd")
    if found and weekday and unit in ("week", "fortnight"):
        return day_of(found.lo + (anchor.today.weekday() if weekday == "today" else WEEKDAYS.index(weekday)) * ONE_DAY)
    return found


def _ahead(match: Match, anchor: Anchor) -> Found | None:
    return None if anchor.tense == "past" else _shifted(anchor, UNITS[match["unit"]], _amount(match))


def _from_now(match: Match, anchor: Anchor) -> Found | None:
    unit, amount = UNITS[match["unit"]], _amount(match)
    if match["when"] == "now" or unit == "hour":
        return _shifted(anchor, unit, amount)
    months = {"month": 1, "year": 12, "decade": 120}.get(unit)
    if months:
        return day_of(add_months(anchor.today, months * amount))
    return day_of(anchor.today + amount * {"day": 1, "week": 7, "fortnight": 14}[unit] * ONE_DAY)


def _last_units(match: Match, anchor: Anchor) -> Found | None:
    if anchor.tense == "future":
        return None
    found = _shifted(anchor, UNITS[match["unit"]], -int(match["n"]))
    if found is None:
        return None
    lo = anchor.today - 7 * int(match["n"]) * ONE_DAY if UNITS[match["unit"]] == "week" else found.lo
    return Found(lo, anchor.today, found.unit)


def _stepped_unit(match: Match, anchor: Anchor) -> Found | None:
    step, unit = STEP[match["step"]], match["unit"]
    if unit != "weekend":
        found = _shifted(anchor, unit, step)
        weekday = match.groupdict().get("wd")
        return day_of(found.lo + WEEKDAYS.index(weekday) * ONE_DAY) if found and weekday else found
    sunday = week_of(anchor.today).hi + 7 * step * ONE_DAY
    return Found(sunday - ONE_DAY, sunday)


def _weekend(match: Match, anchor: Anchor) -> Found | None:
    sunday = week_of(anchor.today).hi
    ends = (sunday - 7 * ONE_DAY, sunday, sunday + 7 * ONE_DAY)
    options = [Found(end - ONE_DAY, end) for end in ends]
    if anchor.tense == "past":
        options = [found for found in options if found.lo < anchor.today]
    return choose(options, anchor)


def _before_last(match: Match, anchor: Anchor) -> Found | None:
    what = match["what"]
    if what in WEEKDAYS:
        return day_of(weekday_from(anchor.today, what, -1) - 7 * ONE_DAY)
    if what == "weekend":
        sunday = week_of(anchor.today).hi - 14 * ONE_DAY
        return Found(sunday - ONE_DAY, sunday)
    return _shifted(anchor, what, -2)


def _stepped_weekday(match: Match, anchor: Anchor) -> Found | None:
    """«last Monday» is the Monday strictly before the day of the words, «next Monday» the first strictly after it.

    Said on a Wednesday «last Monday» may mean either of two Mondays; the nearer one is the rule of the corpus.
    """
    step, name = STEP[match["step"]], match["wd"]
    if step == 0 and anchor.tense == "past":
        step = -1
    if step == 0 and WEEKDAYS.index(name) == anchor.today.weekday():
        return day_of(anchor.today)
    return day_of(weekday_from(anchor.today, name, -1 if step < 0 else 1))


def _bare_weekday(match: Match, anchor: Anchor) -> Found | None:
    past, future = (weekday_from(anchor.today, match["wd"], direction) for direction in (-1, 1))
    if anchor.tense is None:
        return day_of(min((past, future), key=lambda day: abs((day - anchor.today).days)))
    return day_of(past if anchor.tense == "past" else future)


def _stepped_month(match: Match, anchor: Anchor) -> Found | None:
    step, month = STEP[match["step"]], MONTHS.index(match["mon"]) + 1
    here = (anchor.today.year, anchor.today.month)
    if step == 0:
        return month_of(anchor.today.year, month)
    year = anchor.today.year
    if step < 0:
        return month_of(year if (year, month) < here else year - 1, month)
    return month_of(year if (year, month) > here else year + 1, month)


def _season(match: Match, anchor: Anchor) -> Found | None:
    month, parts = SEASONS[match["season"]], match.groupdict()
    if parts.get("y"):
        return month_of(int(parts["y"]), month, 3)
    if anchor.now is None:
        return None
    step = STEP.get(parts.get("step") or "")
    if parts.get("yw"):
        year = anchor.today.year + {"last": -1, "this": 0, "next": 1}[parts["yw"]]
        return month_of(year, month, 3)
    options = around(anchor, lambda year: month_of(year, month, 3))
    if step == -1:
        return choose([found for found in options if found.hi < anchor.today], replace(anchor, tense="past"))
    if step == 1:
        return choose([found for found in options if found.lo > anchor.today], replace(anchor, tense="future"))
    return choose(options, anchor)


def _clock(match: Match, anchor: Anchor) -> Found | None:
    return replace(day_of(anchor.today), clock=True)


def _end_of(match: Match, anchor: Anchor) -> Found | None:
    """«the end of the month», «the end of next year»: at the precision of a month."""
    step = STEP.get(match["step"] or "this", 0)
    found = _shifted(anchor, match["unit"], step)
    if found is None or match["unit"] == "week":
        return found
    return month_of(found.hi.year, found.hi.month)


# ---- the table -----------------------------------------------------------------------------------------------------

_MON = rf"(?P<mon>{'|'.join(MONTHS)})\b"
_WD = rf"(?P<wd>{'|'.join(WEEKDAYS)})\b"
_TH = r"(?:st|nd|rd|th)"
_D = rf"(?P<d>\d{{1,2}})(?:{_TH})?(?![\d:.])\b"
_Y = r"(?P<y>(?:1[4-9]|20|21)\d\d)(?![\d:])\b"
_OF_YEAR = rf"(?:,? (?:of )?{_Y})?"
_YEAR = rf"(?:,? (?:of )?{_Y}|,? (?:of )?(?P<yw>last|this|next) year)?"
_N = r"(?P<n>\d{1,4}|an?|1)"
_UNIT = rf"(?P<unit>{'|'.join(sorted(UNITS, key=len, reverse=True))})\b"
_DECADES = "|".join(DECADE_WORDS)
_JOIN = r"(?:to|and|until|through|-|&)"
# «the 3rd» is a day only where no noun follows («the 3rd floor», «the 1st day»).
_TWO = rf"(?P<d1>\d{{1,2}}){_TH}?(?: {_JOIN} |-)(?:the )?(?P<d2>\d{{1,2}}){_TH}?"
_WEEKDAY_NAMES = "|".join(WEEKDAYS)
_WEEKDAY_AFTER = rf"(?:,? (?:an? )?(?P<wd2>{_WEEKDAY_NAMES})\b)?"
_NO_NOUN = r"(?=$|[,.;:!?]| (?:at|in|of|by|and|to|until|or|from|then|now|with|around|after|on|before)\b)"
_STEPS = r"(?P<step>last|past|this|current|next|coming)"

Rule = tuple[re.Pattern[str], Reader, bool]


def _rule(pattern: str, reader: Reader, needs_anchor: bool = True) -> Rule:
    return re.compile(pattern), reader, needs_anchor


RULES: tuple[Rule, ...] = (
    _rule(r"(?<!\d)(\d{4})-(\d\d)(?:-(\d\d))?(?!\d)", _iso, False),
    _rule(r"^(\d{4})(\d\d)(\d\d)$", _iso, False),
    _rule(rf"\bq([1-4])(?:,? (?:of )?{_Y})", _quarter, False),
    _rule(r"^[a-z][a-z0-9]*-(\d\d)(\d\d)$", _tagged),
    _rule(rf"{_TWO} (?:of )?{_MON}(?:,? {_Y})?", _day_range, False),
    _rule(rf"{_MON},? (?:from )?(?:the )?{_TWO}(?![\d:])(?:,? {_Y})?", _day_range, False),
    _rule(rf"(?P<d1>\d{{1,2}}){_TH}(?: {_JOIN} |-)(?:the )?(?P<d2>\d{{1,2}}){_TH}", _day_range),
    _rule(rf"(?P<nth>[1-5]{_TH}|last) (?P<what>week|weekend|{_WEEKDAY_NAMES}) (?:of|in) {_MON}{_YEAR}", _nth, False),
    _rule(rf"weekend (?:of|around) (?:the )?{_D}(?: (?:of )?{_MON})?{_YEAR}", _weekend_of, False),
    _rule(rf"(?:{_WD},? )?(?:the )?{_D} (?:of )?{_MON}{_YEAR}{_WEEKDAY_AFTER}", _calendar, False),
    _rule(rf"{_Y},? {_MON} {_D}", _calendar, False),
    _rule(rf"(?:{_WD},? )?{_MON} (?:the )?{_D}{_YEAR}", _calendar, False),
    _rule(rf"(?:{_STEPS} {_MON})", _stepped_month),
    _rule(rf"{_MON}{_YEAR}", _calendar, False),
    _rule(rf"(?:{_WD},? )?(?:the )?(?P<d>\d{{1,2}}){_TH}{_NO_NOUN}", _calendar),
    _rule(rf"(?<!\d)(\d{{4}})(?: {_JOIN} |-|/)(\d{{4}}|\d\d)\b(?!:)", _short_years, False),
    _rule(rf"(?:last|past) (?P<n>\d{{1,4}}) {_UNIT}", _last_units),
    _rule(rf"(?<!half ){_N} {_UNIT} (?:ago|back|earlier)(?: (?:on )?(?P<wd>today|{'|'.join(WEEKDAYS)}))?", _ago),
    _rule(rf"{_N} {_UNIT} from (?P<when>now|today)", _from_now),
    _rule(rf"^{_N} {_UNIT} (?:until|to go|left until)\b", _ahead),
    _rule(rf"{_WD} (?P<n>\d{{1,2}}|a) (?P<unit>weeks?) ago", _ago),
    _rule(rf"\b(?P<what>{'|'.join(WEEKDAYS)}|week|weekend|month|year) before last\b", _before_last),
    _rule(rf"\b({'|'.join(sorted(_DAY_OFFSETS, key=len, reverse=True))})\b", _day_offset),
    _rule(rf"\b{_WD},? (?:of )?{_STEPS} (?P<unit>week)\b", _stepped_unit),
    _rule(rf"\b{_STEPS} (?P<unit>week),? (?:on )?{_WD}", _stepped_unit),
    _rule(rf"\bend of (?:the )?(?:{_STEPS} )?(?P<unit>week|month|year)\b", _end_of),
    _rule(rf"\b{_STEPS} {_WD}", _stepped_weekday),
    _rule(rf"\b(?P<step>{'|'.join(STEP)}) (?P<unit>weekend|week|month|year|decade)\b", _stepped_unit),
    *(
        _rule(rf"(?P<over>\bover )?(?:{_STEPS} )?\b{name}(?![\w'])(?P<long> weekend)?{_OF_YEAR}", holiday(rule), False)
        for name, rule in HOLIDAYS.items()
    ),
    _rule(rf"(?:{_STEPS} )?(?:(?:early|mid|late)[- ])?\b(?P<season>{'|'.join(SEASONS)})\b{_YEAR}", _season, False),
    _rule(rf"^(?:with)?in {_N} {_UNIT}", _ahead),
    _rule(rf"^(?!an? |on an? |one )(?:.*\b)?{_WD}", _bare_weekday),
    _rule(r"\bthe weekend\b|^weekend$|^at weekend$", _weekend),
    _rule(rf"(?:the )?(?:early |mid[- ]|late )?(?:((?:1[4-9]|20)\d0|[1-9]0)'?s|({_DECADES}))\b", _decade, False),
    _rule(rf"(?:^|(?:in|since|until|by|before|from|after|early|mid|late|of|year|to|back)[ -]){_Y}", _calendar, False),
    _rule(r"(?<![\d:])(?:[01]?\d|2[0-3]):[0-5]\d", _clock),
)  # fmt: skip


def first(words: str, anchor: Anchor) -> Found | None:
    """What the first answering rule reads in normalised words."""
    for pattern, reader, needs_anchor in RULES:
        if needs_anchor and anchor.now is None:
            continue
        match = pattern.search(words)
        if match is None:
            continue
        try:
            found = reader(match, anchor)
        except (ValueError, OverflowError):
            found = None
        if found is not None:
            return found
    return None
