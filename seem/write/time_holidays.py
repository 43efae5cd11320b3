"""Holidays with a fixed or computable date: a table of names and the reader of a match.

Takes a match and an anchor; gives the interval of the holiday in the year that the words or the tense ask for.
Knows nothing about the other time words.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import replace
from datetime import date

from seem.write.time_calendar import ONE_DAY, STEP, Anchor, Found, Match, Reader, around, choose, day_of, month_of


def _easter(year: int) -> date:
    """Easter Sunday (the anonymous Gregorian computus)."""
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * k) // 451
    month, day = divmod(h + k - 7 * m + 114, 31)
    return date(year, month, day + 1)


def _nth_weekday(month: int, weekday: int, rank: int) -> Callable[[int], date]:
    def on(year: int) -> date:
        weeks = calendar.monthcalendar(year, month)
        days = [week[weekday] for week in weeks if week[weekday]]
        return date(year, month, days[rank])

    return on


def _fixed(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


def _after_easter(days: int) -> Callable[[int], date]:
    return lambda year: _easter(year) + days * ONE_DAY


_EASTER_SUNDAY, _WHIT_SUNDAY = _after_easter(0), _after_easter(49)

HOLIDAYS: dict[str, Callable[[int], date]] = {
    r"christmas eve": _fixed(12, 24), r"christmas(?: day)?": _fixed(12, 25), r"boxing day": _fixed(12, 26),
    r"new year'?s'? eve": _fixed(12, 31), r"new year(?:'?s'?)?(?: day)?": _fixed(1, 1), r"hogmanay": _fixed(12, 31),
    r"halloween": _fixed(10, 31), r"valentine'?s'?(?: day)?": _fixed(2, 14),
    r"st\.? patrick'?s(?: day)?": _fixed(3, 17),
    r"epiphany": _fixed(1, 6), r"may day": _fixed(5, 1), r"all saints'?(?: day)?": _fixed(11, 1),
    r"bonfire night": _fixed(11, 5), r"independence day": _fixed(7, 4), r"bastille day": _fixed(7, 14),
    r"juneteenth": _fixed(6, 19), r"april fool'?s'?(?: day)?": _fixed(4, 1), r"anzac (?:day|night)": _fixed(4, 25),
    r"midsummer(?: eve| day)?": _fixed(6, 24), r"st\.? nicholas(?: day)?": _fixed(12, 6), r"waitangi day": _fixed(2, 6),
    r"(?:san juan|san joan|s[aã]o jo[aã]o|st\.? john'?s(?: day)?)": _fixed(6, 24), r"canada day": _fixed(7, 1),
    r"st\.? stephen'?s(?: day)?": _fixed(12, 26), r"burns night": _fixed(1, 25), r"king'?s day": _fixed(4, 27),
    r"remembrance day": _fixed(11, 11), r"veterans'? day": _fixed(11, 11), r"australia day": _fixed(1, 26),
    r"mother'?s'? day": _nth_weekday(5, 6, 1), r"father'?s'? day": _nth_weekday(6, 6, 2),
    r"corpus christi": _after_easter(60),
    r"black friday": lambda year: _nth_weekday(11, 3, 3)(year) + ONE_DAY,
    r"thanksgiving(?: day)?": _nth_weekday(11, 3, 3), r"memorial day": _nth_weekday(5, 0, -1),
    r"labou?r day": _nth_weekday(9, 0, 0), r"martin luther king day": _nth_weekday(1, 0, 2),
    r"easter monday": _after_easter(1), r"good friday": _after_easter(-2),
    r"(?:holy|maundy) thursday": _after_easter(-3),
    r"(?:easter|holy) saturday": _after_easter(-1),
    r"palm sunday": _after_easter(-7), r"(?:pancake day|shrove tuesday|mardi gras)": _after_easter(-47),
    r"ash wednesday": _after_easter(-46), r"ascension(?: day)?": _after_easter(39), r"whit monday": _after_easter(50),
    r"(?:pentecost|whitsun|whit sunday)": _WHIT_SUNDAY, r"easter(?: sunday| day)?": _EASTER_SUNDAY,
}  # fmt: skip


def _feast(day: date, rule: Callable[[int], date]) -> Found:
    """«over Easter» are its free days, «over Christmas» the month."""
    if rule is _EASTER_SUNDAY:
        return day_of(day - 2 * ONE_DAY, 4)
    return day_of(day - ONE_DAY, 3) if rule is _WHIT_SUNDAY else month_of(day.year, day.month)


def holiday(rule: Callable[[int], date]) -> Reader:
    """A reader of one holiday by its rule."""

    def read(match: Match, anchor: Anchor) -> Found | None:
        def make(year: int) -> Found:
            day = rule(year)
            if match["long"]:
                saturday = day - (day.weekday() - 5) % 7 * ONE_DAY
                return Found(saturday, max(day, saturday + ONE_DAY))
            return _feast(day, rule) if match["over"] else day_of(day)

        if match["y"]:
            return make(int(match["y"]))
        if anchor.now is None:
            return None
        options, step = around(anchor, make), STEP.get(match["step"] or "", 0)
        if step < 0:
            return choose([found for found in options if found.hi < anchor.today], replace(anchor, tense="past"))
        return choose(options, replace(anchor, tense="future") if step > 0 else anchor)

    return read
