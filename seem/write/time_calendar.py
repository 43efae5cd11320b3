"""Days, weeks, months and years as intervals with a precision, and the choice among candidates.

Takes calendar numbers and an anchor (the moment of the words, a tense); gives ``Found`` intervals. A week runs from
Monday to Sunday. Knows nothing about words, patterns or the wall clock.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from seem.write.time_words import WEEKDAYS

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Found:
    """A closed interval; ``unit`` is the precision at which it is written. ``clock``: only an hour was said.

    ``closed``: both ends were said, so that no preposition opens it.
    """

    lo: date
    hi: date
    unit: str = "day"
    clock: bool = False
    closed: bool = False

    @property
    def start(self) -> str:
        return written(self.lo, self.unit)

    @property
    def end(self) -> str:
        return written(self.hi, self.unit)


@dataclass(frozen=True, slots=True)
class Anchor:
    """The moment at which the words were said; without one only absolute dates can be read.

    ``lean``: how clearly the words around look ahead (above zero) or back (below zero). ``tense``: «past» or «future»
    where that is beyond doubt.
    """

    now: datetime | None
    tense: str | None = None
    lean: float = 0.0

    @property
    def today(self) -> date:
        return self.now.date() if self.now else date(1, 1, 1)

    @property
    def looks_back(self) -> bool:
        """Whether the words around rather tell of the past."""
        return self.tense == "past" or (self.tense is None and self.lean < 0)

    def prefers_future(self, back: int, forward: int, *, rare: bool = False) -> bool:
        """Whether of a day ``back`` days behind and one ``forward`` days ahead the second is meant.

        A nearer day needs less support by the words around it, the more so the farther the two lie apart: «in May»
        said in June is rarely the May of next year. ``rare``: such days are months apart as a
        rule. The weights were fitted to the corpus.
        """
        if self.tense is not None:
            return self.tense == "future"
        apart = back + forward
        weight = _YEARLY if rare or apart >= 300 else _WEEKLY if apart < 12 else _MONTHLY
        nearer = math.log((back + 1) / (forward + 1))
        return self.lean + weight * max(-_FARTHEST, min(_FARTHEST, nearer)) > 0


# How much one day is preferred to another for being nearer, by how far apart the two lie.
_WEEKLY, _MONTHLY, _YEARLY = 0.25, 0.6, 2.0
_FARTHEST = 3.0


STEP = {
    "last": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "all": 0, "the whole": 0, "later this": 0,
}  # fmt: skip

Pair = tuple[str | None, str | None]
Match = re.Match[str]
Reader = Callable[[Match, Anchor], Found | None]


def written(day: date, unit: str) -> str:
    """An ISO date at a precision."""
    return day.isoformat()[: {"year": 4, "month": 7}.get(unit, 10)]


def last_of_month(year: int, month: int) -> date:
    """The last day of a month."""
    return date(year, month, calendar.monthrange(year, month)[1])


def month_of(year: int, month: int, months: int = 1) -> Found:
    """A month, or that many from it on."""
    ahead = add_months(date(year, month, 1), months - 1)
    return Found(date(year, month, 1), last_of_month(ahead.year, ahead.month), "month")


def year_of(year: int, years: int = 1) -> Found:
    """A year, or that many from it on."""
    return Found(date(year, 1, 1), date(year + years - 1, 12, 31), "year")


def day_of(day: date, days: int = 1) -> Found:
    """A day, or that many from it on."""
    return Found(day, day + (days - 1) * ONE_DAY)


def week_of(day: date) -> Found:
    """The Monday-to-Sunday week of a day."""
    return day_of(day - day.weekday() * ONE_DAY, 7)


def add_months(day: date, months: int) -> date:
    """The same day so many months on, or the last day of that month."""
    total = day.year * 12 + day.month - 1 + months
    year, month = divmod(total, 12)
    return date(year, month + 1, min(day.day, last_of_month(year, month + 1).day))


def choose(candidates: Iterable[Found], anchor: Anchor, *, rare: bool = False) -> Found | None:
    """The latest candidate begun or the next one not yet over, as the anchor prefers (see ``prefers_future``)."""
    today, options = anchor.today, sorted(candidates, key=lambda found: found.lo)
    past = [found for found in options if found.lo <= today]
    future = [found for found in options if found.hi >= today]
    if anchor.tense == "past" or not future:
        return past[-1] if past else None
    if anchor.tense == "future" or not past:
        return future[0]
    back, forward = past[-1], future[0]
    behind, ahead = max((today - back.hi).days, 0), max((forward.lo - today).days, 0)
    return forward if anchor.prefers_future(behind, ahead, rare=rare) else back


def valid(year: int, month: int, day: int) -> Found | None:
    """A day of the calendar; ``None`` where there is no such day."""
    try:
        return day_of(date(year, month, day))
    except ValueError:
        return None


def around(anchor: Anchor, make: Callable[[int], Found | None], years: int = 2) -> list[Found]:
    """What ``make`` gives for the years around the anchor."""
    year = anchor.today.year
    return [found for offset in range(-years, years + 1) if (found := make(year + offset))]


def weekday_from(today: date, name: str, direction: int) -> date:
    """The nearest such weekday strictly before (-1) or after (1) a day."""
    gap = (WEEKDAYS.index(name) - today.weekday()) * direction % 7 or 7
    return today + direction * gap * ONE_DAY
