"""Words for the moment of speaking: «now», «just», «still», «from here on», «to this day», «day 119».

Takes normalised words, the turn and an anchor with a moment; gives the interval, or ``None`` where the words mean
another time. Knows nothing about calendar dates.
"""

from __future__ import annotations

import re

from seem.write.time_calendar import ONE_DAY, Anchor, Pair
from seem.write.time_rules import first
from seem.write.time_tense import IMPERATIVES, place
from seem.write.time_words import MAX_PHRASE

_NOW = re.compile(r"^(?:now|for now|at the moment|currently|these days|nowadays|as of now)$")
_FROM_NOW = re.compile(r"^(?:from (?:now|here|today)(?: on)?|from this day(?: on)?)$")
_TO_NOW = re.compile(r"^(?:until now|up to now|to this day|until today|to date)$")
_AT_MOMENT = re.compile(r"^(?:right now|just)$")
# What is so at the moment of the words, unless they tell a story.
_AT_ONCE = re.compile(r"^(?:at once|immediately|straight away|right away|yet|not yet)$")
_STILL = re.compile(r"^still$")
_FOR_NOW = re.compile(r"\b(?:for )?(?P<n>\d{1,4}|an?) (?P<unit>day|week|month|year)s? now$")
# «115 days without» and «day 119» count what still goes on, «60 days» what was counted today; fewer days than these
# are mostly a plain length.
_DAY_COUNT = re.compile(r"^([2-9]\d|\d{3,4}) days(?: without)?$")
_DAY_NUMBER = re.compile(r"^(?:today is )?day ([2-9]|\d{2,4})$")
_DAYS_LEFT = re.compile(r"^(\d{1,3}) days$")
_CLAUSE_END = re.compile(r"[.!?…,;:\n]")
# «I'm writing to her now», «ask her now»: an act and not a state that lasts.
_ACTING = re.compile(
    r"(?:\bI['’]m|\b(?:am|is|are)|['’](?:re|s)) (?:\w+ )?(?!being|having|living|going)\w+ing\b|^\W*\w+ing\b",
    re.IGNORECASE,
)
_ORDER = re.compile(rf"^\W*(?:(?:and|so|then|but|please|just) )*(?:{'|'.join(sorted(IMPERATIVES))})\b", re.IGNORECASE)


def moment(words: str, text: str, context: str, anchor: Anchor) -> Pair | None:
    """The interval of words for the moment of speaking; both sides where something happens, open where it lasts."""
    today = anchor.today.isoformat()
    if _AT_MOMENT.search(text[:MAX_PHRASE].strip(" .,!?").lower()):
        return today, today
    if _TO_NOW.search(words):
        return None, today
    if _NOW.search(words):
        return today, today if words == "now" and _acts(text, context) else None
    if _FROM_NOW.search(words):
        return today, None
    if _AT_ONCE.search(words) and (anchor.tense != "past" or words.endswith("yet")):
        return today, today
    if _STILL.search(words) and anchor.tense != "past":
        return today, None
    if match := _FOR_NOW.search(words):
        found = first(f"{match['n']} {match['unit']}s ago", anchor)
        return (found.start, None) if found else (None, None)
    if (match := _DAYS_LEFT.search(words)) and anchor.tense == "future":
        return today, (anchor.today + int(match[1]) * ONE_DAY).isoformat()
    if match := _DAY_NUMBER.search(words):
        return (anchor.today - (int(match[1]) - 1) * ONE_DAY).isoformat(), None
    if match := _DAY_COUNT.search(words):
        if f"{text} without" in context or words.endswith("without"):
            return (anchor.today - int(match[1]) * ONE_DAY).isoformat(), None
        return (anchor.today - (int(match[1]) - 1) * ONE_DAY).isoformat(), today
    return None


def _acts(text: str, context: str) -> bool:
    at = place(context, text)
    if at is None:
        return False
    clause = _CLAUSE_END.split(context[:at][-200:])[-1] + _CLAUSE_END.split(context[at:][:200])[0]
    return bool(_ACTING.search(clause) or _ORDER.search(clause))
