"""Readers of calendar dates: months, days, ranges that share a month, decades, «the second Friday of May».

Each takes a match of a rule (see ``time_rules``) and an anchor; gives the interval, or ``None`` where the match is no
date. Knows nothing about patterns, open intervals or the wall clock.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from seem.write.time_calendar import (
    ONE_DAY,
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
    year_of,
)
from seem.write.time_words import DECADE_WORDS, MONTHS, WEEKDAYS


def calendar(match: Match, anchor: Anchor) -> Found | None:
    """A day or month by name and number, in the year that was said or that the anchor prefers."""
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
    return choose(options, anchor, rare=weekday is not None)


def _days_of_months(today: date, day: int) -> list[Found]:
    firsts = (add_months(today.replace(day=1), offset) for offset in range(-11, 12))
    return [found for first in firsts if (found := valid(first.year, first.month, day))]


def iso(match: Match, anchor: Anchor) -> Found | None:
    """«2024-02-27», «2024-02»."""
    year, month = int(match[1]), int(match[2])
    if not 1 <= month <= 12:
        return None
    return valid(year, month, int(match[3])) if match[3] else month_of(year, month)


def quarter(match: Match, anchor: Anchor) -> Found | None:
    """«Q3 2024»."""
    return month_of(int(match["y"]), 3 * int(match[1]) - 2, 3)


def tagged(match: Match, anchor: Anchor) -> Found | None:
    """A label that ends in month and day: «inc-0917»."""
    return choose(around(anchor, lambda y: valid(y, int(match[1]), int(match[2])), 4), replace(anchor, tense="past"))


def day_range(match: Match, anchor: Anchor) -> Found | None:
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


def short_years(match: Match, anchor: Anchor) -> Found | None:
    """«2004 to 2008», «2023/24»."""
    first = int(match[1])
    last = int(match[2]) if len(match[2]) == 4 else first // 100 * 100 + int(match[2])
    return replace(year_of(first, last - first + 1), closed=True) if last >= first else None


def decade(match: Match, anchor: Anchor) -> Found | None:
    """«the 1990s», «the nineties»."""
    text = match[1] or match[2]
    if text in DECADE_WORDS:
        return year_of(1900 + DECADE_WORDS[text], 10)
    number = int(text)
    return year_of(number if number > 99 else (2000 if number < 30 else 1900) + number, 10)


def nth(match: Match, anchor: Anchor) -> Found | None:
    """«the second Friday of February», «the first week of May», «the last weekend in June»."""
    month = calendar(match, anchor)
    if month is None or month.unit != "month":
        return None
    rank = -1 if match["nth"] == "last" else int(match["nth"][0]) - 1
    first, last, what = month.lo, month.hi, match["what"]
    if what == "week":
        return Found(last - 6 * ONE_DAY, last) if rank < 0 else day_of(first + 7 * rank * ONE_DAY, 7)
    weekday = 5 if what == "weekend" else WEEKDAYS.index(what)
    days = [first + n * ONE_DAY for n in range(last.day) if (first + n * ONE_DAY).weekday() == weekday]
    return day_of(days[rank], 2 if what == "weekend" else 1) if -1 <= rank < len(days) else None


def weekend_of(match: Match, anchor: Anchor) -> Found | None:
    """«the weekend of 18 May», «the week of 10 March»."""
    day = calendar(match, anchor)
    if day is None or day.unit != "day":
        return None
    week = week_of(day.lo)
    return Found(week.hi - ONE_DAY, week.hi) if match["what"] == "weekend" else week
