"""The compact line format in which an extraction is written, and the total parser that reads it back.

``E who; who| action|when words|where words|why words|how words`` an event, ``F subject| relation| object|when words`` a fact, ``none``
for nothing worth remembering. Knows nothing about models; the parser takes ANY text and never raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seem.types import Event, Fact, TimeSpan

NONE = "none"
TAGS = {"when": "time", "where": "location", "why": "causality", "how": "manner"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text held: whole lines only. ``bad`` counts lines that were none of the three kinds."""

    events: tuple[Event, ...]
    facts: tuple[Fact, ...]
    bad: int


def write(events: Sequence[Event], facts: Sequence[Fact]) -> str:
    """Write an extraction in the line format; the inverse of ``parse``, but for separators inside words, which become spaces."""
    if not events and not facts:
        return NONE
    return "".join(_event_line(e) for e in events) + "".join(_fact_line(f) for f in facts)


def _event_line(event: Event) -> str:
    fields = ["E " + "; ".join(_kept(who).replace(";", ",") for who in event.participants), " " + _kept(event.action)]
    values = {
        "when": event.time.text if event.time else None,
        "where": event.location,
        "why": event.causality,
        "how": event.manner,
    }
    fields += [f"{tag} {_kept(value)}" for tag, value in values.items() if value]
    return "|".join(fields) + "\n"


def _fact_line(fact: Fact) -> str:
    fields = ["F " + _kept(fact.subject), " " + _kept(fact.relation), " " + _kept(fact.object)]
    if fact.time:
        fields.append("when " + _kept(fact.time.text))
    return "|".join(fields) + "\n"


def _kept(words: str) -> str:
    """Give words that cannot end their field or line: what is data must not turn into a line of its own."""
    return words.replace("\n", " ").replace("|", " ")


def parse(text: str, *, whole: bool = True) -> Parsed:
    """Read as many whole lines as there are. ``whole=False`` says that the text was cut off: its last line is not used."""
    lines = text.split("\n")
    if not whole:
        lines = lines[:-1]
    events: list[Event] = []
    facts: list[Fact] = []
    bad = 0
    for line in lines:
        fields = [field.strip() for field in line.split("|")]
        if not line.strip() or line.strip() == NONE:
            continue
        if line.startswith("E ") and (event := _event(fields)):
            events.append(event)
        elif line.startswith("F ") and (fact := _fact(fields)):
            facts.append(fact)
        else:
            bad += 1
    return Parsed(tuple(events), tuple(facts), bad)


def _event(fields: list[str]) -> Event | None:
    who = tuple(dict.fromkeys(p.strip() for p in fields[0][2:].split(";") if p.strip()))
    if len(fields) < 2 or not who or not fields[1]:
        return None
    slots = _tagged(fields[2:])
    when = slots.get("time")
    return Event(
        who,
        fields[1],
        TimeSpan(when) if when else None,
        slots.get("location"),
        slots.get("causality"),
        slots.get("manner"),
    )


def _fact(fields: list[str]) -> Fact | None:
    if len(fields) < 3 or not fields[0][2:].strip() or not fields[1] or not fields[2]:
        return None
    when = _tagged(fields[3:]).get("time")
    return Fact(fields[0][2:].strip(), fields[1], fields[2], TimeSpan(when) if when else None)


def _tagged(fields: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for field in fields:
        tag, _, value = field.partition(" ")
        if tag in TAGS and value.strip():
            found.setdefault(TAGS[tag], value.strip())
    return found
