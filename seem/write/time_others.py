"""The times that a turn and the turns before it name beside the words in question, the nearest first.

Takes the words, the turn with the turns before it and an anchor; gives each other time with its meaning and its
distance. Knows nothing about what refers to them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from seem.write.time_calendar import Anchor, Found
from seem.write.time_rules import first
from seem.write.time_tense import lean, place
from seem.write.time_words import MAX_PHRASE, find, normalise

# How many turns before may be referred to, and how far back a turn is read.
TURNS = 2
_REACH = 600
_HOUR = re.compile(r"\b\d{1,2}:\d\d")
_SENTENCE_END = re.compile(r"[.!?…]+(?=\s)|\n+")

Earlier = tuple[str, datetime | None]


@dataclass(frozen=True, slots=True)
class Told:
    """What was said: the turn that holds the words, and the turns before it with their moments, the nearest last."""

    turn: str
    before: tuple[Earlier, ...] = ()


@dataclass(frozen=True, slots=True)
class Other:
    """A time named before the words: its meaning, its words, the sentence ends between, how many turns back it stands.

    ``same_day``: its turn was said on the day of the words. ``clock``: an hour stands with it.
    """

    found: Found
    words: str
    sentences: int
    turns: int = 0
    same_day: bool = True
    clock: bool = False


def others(text: str, told: Told, anchor: Anchor) -> list[Other]:
    """The times named before the words, in the turn and then in the turns before it, the nearest first."""
    at = place(told.turn, text)
    if at is None or len(text) > MAX_PHRASE:
        return []
    low = max(0, at - _REACH)
    named = _named(told.turn[low : at + _REACH], at - low, anchor, anchor)
    ends = len(_SENTENCE_END.findall(told.turn[low:at]))
    for back, (words, said_at) in enumerate(reversed(told.before[-TURNS:]), 1):
        near, there = words[-_REACH:], Anchor(said_at)
        same_day = anchor.now is not None and said_at is not None and there.today == anchor.today
        found = _named(near, len(near), there, anchor)
        named += [replace(o, sentences=o.sentences + ends + 1, turns=back, same_day=same_day) for o in found]
        ends += len(_SENTENCE_END.findall(near)) + 1
    return named


def _named(near: str, end: int, there: Anchor, anchor: Anchor) -> list[Other]:
    """The times before a place in a text that was said at one anchor, as another anchor's words may refer to them."""
    found: list[Other] = []
    for start, stop in find(near):
        if stop > end:
            break
        phrase = near[start:stop]
        leaning, tense = lean(near, phrase)
        read = first(normalise(phrase), replace(there, lean=leaning, tense=tense))
        if read is None or read.clock or (anchor.looks_back and read.lo > anchor.today):
            continue
        ends = len(_SENTENCE_END.findall(near[stop:end]))
        found.append(Other(read, normalise(phrase), ends, clock=bool(_HOUR.search(near[start : stop + 10]))))
    return found[::-1]
