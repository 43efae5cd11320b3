"""What the judge is shown of one side of a pair: who, did, when, where, the words, why and how, as labelled fields.

Takes a passage and what was extracted from it; used by training AND by serving. The written summary is not shown: a
teacher's is freer than a student's, and the judge must work on both. Knows nothing about tokenizers or scores.
"""

from __future__ import annotations

from seem.prompts.window import show
from seem.types import Event, Extraction, Passage, TimeSpan

EVENTS = 3
WORDS = 40
_RESERVED = str.maketrans({"\n": " ", "|": "/"})


def describe_side(passage: Passage, extraction: Extraction) -> str:
    """Tell one extraction as fields, the most telling first, since whoever has too little room cuts the end."""
    events = extraction.events[:EVENTS]
    parts = [_core(event) for event in events]
    said = " ".join(p for p in (passage.time.date().isoformat() if passage.time else "", passage.speaker) if p)
    words = " ".join(show(passage.text).text.split()[:WORDS])
    parts.append(f"said: {said}: {words}" if words else f"said: {said}")
    parts += [f"why: {e.causality}" for e in events if e.causality]
    parts += [f"how: {e.manner}" for e in events if e.manner]
    return " | ".join(part.translate(_RESERVED) for part in parts)


def _core(event: Event) -> str:
    fields = [f"who: {', '.join(event.participants)}", f"did: {event.action}"]
    if event.time:
        fields.append(f"when: {when(event.time)}")
    if event.location:
        fields.append(f"where: {event.location}")
    return "; ".join(fields)


def when(time: TimeSpan) -> str:
    """Give the resolved interval, else the words."""
    if time.start is None and time.end is None:
        return time.text
    if time.start is None:
        return f"until {time.end}"
    if time.end is None:
        return f"from {time.start}"
    return time.start if time.start == time.end else f"{time.start} to {time.end}"
