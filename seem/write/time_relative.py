"""Readers of times that are counted from the anchor: «two weeks ago», «next Friday», «on Saturday», «this summer».

Each takes a match of a rule (see ``time_rules``) and an anchor; gives the interval, or ``None`` where it means no time.
Knows nothing about patterns, open intervals or the wall clock.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from seem.write.time_calendar import (
    ONE_DAY,
    STEP,
    Anchor,
    Found,
    Match,
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
from seem.write.time_words import MONTHS, SEASONS, UNITS, WEEKDAYS

DAY_OFFSETS = {
    "day before yesterday": -2, "night before last": -2, "day after tomorrow": 2, "yesterday": -1, "last night": -1,
    "last evening": -1, "tomorrow": 1, "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0,
    "this evening": 0, "earlier on": 0, "just now": 0, "a moment ago": 0, "moments ago": 0, "a minute ago": 0,
}  # fmt: skip


_SUNDAY = 6


def day_offset(match: Match, anchor: Anchor) -> Found | None:
    """«yesterday», «tonight», «the day after tomorrow»."""
    return day_of(anchor.today + DAY_OFFSETS[match[1]] * ONE_DAY)


def _amount(match: Match) -> int:
    return int(match["n"]) if match["n"].isdigit() else 1


def _hours(match: Match) -> timedelta:
    return timedelta(hours=_amount(match)) if match["unit"].startswith("h") else timedelta(minutes=_amount(match))


def shifted(anchor: Anchor, unit: str, amount: int) -> Found | None:
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


def ago(match: Match, anchor: Anchor) -> Found | None:
    """«two weeks ago on Friday»."""
    unit = UNITS[match["unit"]]
    if unit == "hour" and anchor.now:
        return day_of((anchor.now - _hours(match)).date())
    found = shifted(anchor, unit, -_amount(match))
    weekday = match.groupdict().get("wd")
    if found and weekday and unit in ("week", "fortnight"):
        return day_of(found.lo + (anchor.today.weekday() if weekday == "today" else WEEKDAYS.index(weekday)) * ONE_DAY)
    return found


def ahead(match: Match, anchor: Anchor) -> Found | None:
    """«in two weeks»; nothing where the clause tells of the past, though minutes stay within the day that it leans to."""
    unit = UNITS[match["unit"]]
    if anchor.tense == "past" or (anchor.looks_back and unit != "hour"):
        return None
    if unit == "hour" and anchor.now:
        return day_of((anchor.now + _hours(match)).date())
    return shifted(anchor, unit, _amount(match))


def ahead_range(match: Match, anchor: Anchor) -> Found | None:
    """«in six to eight weeks»."""
    unit = UNITS[match["unit"]]
    if anchor.tense == "past" or unit == "hour" or int(match["m"]) <= _amount(match):
        return None
    low, high = shifted(anchor, unit, _amount(match)), shifted(anchor, unit, int(match["m"]))
    return Found(low.lo, high.hi, low.unit, closed=True) if low and high else None


def next_units(match: Match, anchor: Anchor) -> Found | None:
    """«the next two weeks»: from tomorrow on."""
    unit, amount = UNITS[match["unit"]], int(match["n"])
    if unit in ("day", "week", "fortnight"):
        return day_of(anchor.today + ONE_DAY, amount * {"day": 1, "week": 7, "fortnight": 14}[unit])
    low, high = shifted(anchor, unit, 1), shifted(anchor, unit, amount)
    return Found(low.lo, high.hi, low.unit) if low and high else None


def day_of_month(match: Match, anchor: Anchor) -> Found | None:
    """«the 21st of next month»."""
    there = add_months(anchor.today.replace(day=1), STEP[match["step"]])
    return valid(there.year, there.month, int(match["d"]))


def weekends_ago(match: Match, anchor: Anchor) -> Found | None:
    """«two weekends ago»."""
    sunday = week_of(anchor.today).hi - 7 * _amount(match) * ONE_DAY
    return Found(sunday - ONE_DAY, sunday)


def weekday_week(match: Match, anchor: Anchor) -> Found | None:
    """«Friday week», «a week on Friday»: a week after the coming Friday."""
    return day_of(weekday_from(anchor.today, match["wd"], 1) + 7 * ONE_DAY)


def from_now(match: Match, anchor: Anchor) -> Found | None:
    """«three days from now», «a week from today»."""
    unit, amount = UNITS[match["unit"]], _amount(match)
    if match["when"] == "now" or unit == "hour":
        return shifted(anchor, unit, amount)
    months = {"month": 1, "year": 12, "decade": 120}.get(unit)
    if months:
        return day_of(add_months(anchor.today, months * amount))
    return day_of(anchor.today + amount * {"day": 1, "week": 7, "fortnight": 14}[unit] * ONE_DAY)


def last_units(match: Match, anchor: Anchor) -> Found | None:
    """«the last three weeks»."""
    if anchor.tense == "future":
        return None
    found = shifted(anchor, UNITS[match["unit"]], -int(match["n"]))
    if found is None:
        return None
    lo = anchor.today - 7 * int(match["n"]) * ONE_DAY if UNITS[match["unit"]] == "week" else found.lo
    return Found(lo, anchor.today, found.unit)


def stepped_unit(match: Match, anchor: Anchor) -> Found | None:
    """«last week», «next weekend», «this year»."""
    step, unit = STEP[match["step"]], match["unit"]
    if unit != "weekend":
        found = shifted(anchor, unit, step)
        weekday = match.groupdict().get("wd")
        return day_of(found.lo + WEEKDAYS.index(weekday) * ONE_DAY) if found and weekday else found
    sunday = week_of(anchor.today).hi + 7 * step * ONE_DAY
    return Found(sunday - ONE_DAY, sunday)


def agreed_weekday(match: Match, anchor: Anchor) -> Found | None:
    """«Saturday then»: a day that two agree on lies ahead."""
    return day_of(weekday_from(anchor.today, match["wd"], 1))


def weekend(match: Match, anchor: Anchor) -> Found | None:
    """«the weekend», the last or the coming one."""
    sunday = week_of(anchor.today).hi
    ends = (sunday - 7 * ONE_DAY, sunday, sunday + 7 * ONE_DAY)
    options = [Found(end - ONE_DAY, end) for end in ends]
    if anchor.tense == "past":
        options = [found for found in options if found.lo < anchor.today]
    return choose(options, anchor)


def before_last(match: Match, anchor: Anchor) -> Found | None:
    """«the week before last»."""
    what = match["what"]
    if what in WEEKDAYS:
        return day_of(weekday_from(anchor.today, what, -1) - 7 * ONE_DAY)
    if what == "weekend":
        sunday = week_of(anchor.today).hi - 14 * ONE_DAY
        return Found(sunday - ONE_DAY, sunday)
    return shifted(anchor, what, -2)


def stepped_weekday(match: Match, anchor: Anchor) -> Found | None:
    """«last Monday» is the Monday strictly before the day of the words, «next Monday» the first strictly after it.

    Said on a Wednesday «last Monday» may mean that of this week or the one before: of a day one or two days back in a week
    that is under way the span covers both. Farther back it is the nearer one, which is the rule of the corpus.
    """
    step, name = STEP[match["step"]], match["wd"]
    near = weekday_from(anchor.today, name, -1)
    this_week = near.weekday() < anchor.today.weekday() < _SUNDAY
    if step < 0 and this_week and anchor.today - near <= 2 * ONE_DAY:
        return Found(near - 7 * ONE_DAY, near)
    if step == 0 and anchor.tense == "past":
        step = -1
    if step == 0 and WEEKDAYS.index(name) == anchor.today.weekday():
        return day_of(anchor.today)
    return day_of(weekday_from(anchor.today, name, -1 if step < 0 else 1))


def bare_weekday(match: Match, anchor: Anchor) -> Found | None:
    """«on Friday», the last or the coming one."""
    past, future = (weekday_from(anchor.today, match["wd"], direction) for direction in (-1, 1))
    prefers = anchor.prefers_future((anchor.today - past).days, (future - anchor.today).days)
    return day_of(future if prefers else past)


def stepped_month(match: Match, anchor: Anchor) -> Found | None:
    """«last May», «next March»."""
    step, month = STEP[match["step"]], MONTHS.index(match["mon"]) + 1
    here = (anchor.today.year, anchor.today.month)
    if step == 0:
        return month_of(anchor.today.year, month)
    year = anchor.today.year
    if step < 0:
        return month_of(year if (year, month) < here else year - 1, month)
    return month_of(year if (year, month) > here else year + 1, month)


def season(match: Match, anchor: Anchor) -> Found | None:
    """«last summer», «in spring», «winter 2023»."""
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


def clock(match: Match, anchor: Anchor) -> Found | None:
    """A time of the day without a day: the day of the words."""
    return replace(day_of(anchor.today), clock=True)


def end_of(match: Match, anchor: Anchor) -> Found | None:
    """«the end of the month», «the end of next year»: at the precision of a month."""
    step = STEP.get(match["step"] or "this", 0)
    found = shifted(anchor, match["unit"], step)
    if found is None or match["unit"] == "week":
        return found
    return month_of(found.hi.year, found.hi.month)
