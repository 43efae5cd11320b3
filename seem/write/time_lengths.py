"""Lengths that reach today or count down to a day: «I've lived here for nine years», «six days to the show».

Takes normalised words, the turn and an anchor; gives the day or period at which what lasts began, or which is waited
for, or ``None`` where the words are a plain length. Knows nothing about other times of the turn.
"""

from __future__ import annotations

import re
from dataclasses import replace

from seem.write.time_calendar import ONE_DAY, Anchor, Found, day_of
from seem.write.time_rules import first
from seem.write.time_tense import place
from seem.write.time_words import MAX_PHRASE

_REACH = 600
_LENGTH = re.compile(r"^(?P<lead>for |since )?(?P<n>\d{1,3}|an?) (?P<unit>day|week|month|year)s?$")
_BEEN = re.compile(r"(?:\bhave|\bhas|['’]ve|n['’]t|['’]s) (?:\w+ ){0,2}been\b[^.!?,;]*$", re.IGNORECASE)
_PERFECT = re.compile(r"(?:\bhave|\bhas|['’]ve)(?:n['’]t)? (?!to\b)[^.!?,;]*$", re.IGNORECASE)
_STORY = re.compile(r"\bhad\b|['’]d\b", re.IGNORECASE)
# «nine years we've written», «21 years of it».
_HELD = re.compile(r"^(?: of (?:it|this)\b| (?:i|we|you|they|he|she)(?:['’]ve| have| has)? (?!\w+ed\b))", re.IGNORECASE)
# «the first person in 42 years», «nobody called in four weeks»: the time that ends today.
_WITHIN = re.compile(r"^in (?P<n>\d{1,3}|an?) (?P<unit>day|week|month|year)s?$")
_REVIEWED = re.compile(
    r"(?:\bfirst (?:(?!is\b|will\b|starts?\b|opens?\b|comes?\b)[\w'’]+ ){1,6}|"
    r"\b(?:no|nobody|never)\b [^.!?;]*?\w+ed [^.!?;]*|"
    r"(?:\bhave|\bhas|['’]ve)(?:n['’]t)? (?:\w+ )?(?:\w+ed|read|seen|been|had|done|learnt|made|met) [^.!?;]*)$",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"^(?:(?P<weeks>\d{1,2}|a) weeks?(?: and )?)?(?:(?P<days>\d{1,3}|a) days?)?$")
_AWAITED = re.compile(r"^ (?:to|till|until) (?:the|our|my|your|his|her|their|an?|[A-Z])\b")


def ongoing(words: str, text: str, context: str, anchor: Anchor) -> Found | None:
    """When «I've been here for three weeks» began; ``None`` where the words are no length or it may be over."""
    match, at = _LENGTH.search(words), place(context, text)
    if match is None or at is None or len(text) > MAX_PHRASE:
        return None
    before, after = context[max(0, at - _REACH) : at], context[at + len(text) : at + len(text) + _REACH]
    if match["lead"] == "for ":
        years = match["unit"] == "year" and _PERFECT.search(before) and not _STORY.search(before)
        lasts = bool(_BEEN.search(before) or years)
    elif match["lead"]:
        lasts = True
    else:
        lasts = match["unit"] == "year" and bool(_HELD.search(after)) and anchor.tense != "past"
    if not lasts:
        return None
    amount = _number(match["n"])
    if match["unit"] in ("day", "week"):
        return day_of(anchor.today - amount * (7 if match["unit"] == "week" else 1) * ONE_DAY)
    return first(f"{amount} {match['unit']}s ago", anchor)


def within(words: str, text: str, context: str, anchor: Anchor) -> Found | None:
    """The period of «the first person in 42 years», up to today; ``None`` where «in» looks ahead."""
    match, at = _WITHIN.search(words), place(context, text)
    if match is None or at is None or anchor.tense == "future":
        return None
    if not _REVIEWED.search(context[max(0, at - _REACH) : at]):
        return None
    if match["unit"] in ("day", "week"):
        days = _number(match["n"]) * (7 if match["unit"] == "week" else 1)
        return day_of(anchor.today - days * ONE_DAY, days + 1)
    begun = first(f"{match['n']} {match['unit']}s ago", anchor)
    return replace(begun, hi=anchor.today) if begun else None


def awaited(words: str, text: str, context: str, anchor: Anchor) -> Found | None:
    """The day of «six days to the show»; ``None`` where nothing is waited for."""
    match, at = _COUNTED.search(words), place(context, text)
    if match is None or at is None or anchor.tense == "past" or not _AWAITED.search(context[at + len(text) :][:40]):
        return None
    weeks, days = _number(match["weeks"]), _number(match["days"])
    return day_of(anchor.today + (7 * weeks + days) * ONE_DAY)


def _number(said: str | None) -> int:
    return int(said) if said and said.isdigit() else int(bool(said))
