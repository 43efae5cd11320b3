"""The dates and clocks of a WhatsApp export, which the phone's language writes: their shape, and day or month first.

Takes the stamps of a whole file; gives the order in which most are dates of the calendar that do not run backwards, and
whether that left no doubt. Knows nothing about messages or zones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

STAMP = (
    r"(?P<date>\d{1,4}[./-][^\S\n]?\d{1,2}[./-][^\S\n]?\d{1,4})\.?,?[^\S\n]"
    r"(?:(?:at|um|klo|kl\.|à|a las|às|alle)[^\S\n])?"
    r"(?P<clock>\d{1,2}[:.]\d{2}(?:[:.]\d{2})?)"
    r"(?:[^\S\n]?(?P<half>[apAP])\.?[^\S\n]?[mM]\.?)?"
)
_NUMBER = re.compile(r"\d+")
# Day, month and year by their places.
_ORDERS = {"DMY": (0, 1, 2), "MDY": (1, 0, 2), "YMD": (2, 1, 0)}


@dataclass(frozen=True, slots=True)
class Stamp:
    """A date and clock as they stand in the file; ``half`` is «a», «p» or empty."""

    text: str
    date: tuple[int, int, int]
    clock: tuple[int, int, int]
    half: str
    long_first: bool
    dotted: bool


def stamp_of(match: re.Match[str]) -> Stamp:
    """Give the stamp that ``STAMP`` matched."""
    parts = _NUMBER.findall(match["date"])
    first, second, third = map(int, parts)
    hour, minute, seconds, *_ = [*map(int, _NUMBER.findall(match["clock"])), 0, 0]
    clock, half = (hour, minute, seconds), (match["half"] or "").lower()
    text = f"{match['date']} {match['clock']} {half}".strip()
    return Stamp(text, (first, second, third), clock, half, len(parts[0]) == 4, "." in match["date"])


def moment(stamp: Stamp, order: str) -> datetime | None:
    """Give the time without a zone; ``None`` where the calendar or the clock has no such."""
    day, month, year = (stamp.date[place] for place in _ORDERS[order])
    hour, minute, second = stamp.clock
    if stamp.half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if stamp.half == "p" else 0)
    try:
        return datetime(year + 2000 if year < 100 else year, month, day, hour, minute, second)
    except ValueError:
        return None


def decided(stamps: Sequence[Stamp]) -> tuple[str, bool]:
    """Give the order of the file's dates, and whether no other fits as well.

    What fits best has the fewest stamps that are no time, then the fewest steps back. Where both fit alike, only the
    American habit, twelve hours without points, speaks for the month first.
    """
    orders = ["YMD"] if sum(stamp.long_first for stamp in stamps) * 2 > len(stamps) else ["DMY", "MDY"]
    misfits = {order: _misfits(stamps, order) for order in orders}
    best = min(misfits.values())
    fitting = [order for order in orders if misfits[order] == best]
    american = any(stamp.half for stamp in stamps) and not any(stamp.dotted for stamp in stamps)
    return (fitting[-1] if american else fitting[0]), len(fitting) == 1


def _misfits(stamps: Sequence[Stamp], order: str) -> tuple[int, int]:
    times = [moment(stamp, order) for stamp in stamps]
    told = [time for time in times if time is not None]
    back = sum(later.date() < before.date() for before, later in zip(told, told[1:], strict=False))
    return len(times) - len(told), back
