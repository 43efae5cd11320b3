"""A frame's summary, composed by code from slots and resolved dates: nothing in it can be invented.

Takes events and the passages that they were copied from; gives one or two plain sentences in the third person.
Knows nothing about models.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from seem.types import Event, Fact
from seem.write.names import possessive, trim
from seem.write.times import describe

_LIST_END = " and "


def sentence(event: Event, speaker: str = "") -> str:
    """Tell one event as a sentence: who, what, where, when, why, how. ``speaker`` is whom «I» and «my» mean."""
    who = _listed(event.participants)
    action = about(event.action, speaker)
    parts = [action] if _starts_with(action, event.participants) else [who, action]
    if event.location and event.location.casefold() not in action.casefold():
        parts.append(f"({about(event.location, speaker)})")
    if event.time:
        said = describe(event.time)
        parts.append(said or (event.time.text if event.time.text.casefold() not in action.casefold() else ""))
    for lead, words in (("because", event.causality), ("how", event.manner)):
        if words and words.casefold() not in action.casefold():
            parts.append(f"[{lead}: {about(words, speaker)}]")
    return " ".join(p for p in parts if p).strip() + "."


def compose(events: Sequence[Event], speaker: str = "") -> str:
    """Tell all events of one passage."""
    return " ".join(dict.fromkeys(sentence(e, speaker) for e in events))


def fact_sentence(fact: Fact) -> str:
    """Tell a fact as a sentence."""
    when = describe(fact.time) if fact.time else ""
    return " ".join(p for p in (fact.subject, fact.relation, fact.object, when) if p)


def about(words: str, speaker: str) -> str:
    """Put the speaker's name where the words say «I», «me» or «my»."""
    if not speaker:
        return trim(words)
    words = re.sub(r"\b(?:I['’]m)\b", f"{speaker} is", words)
    words = re.sub(r"\bI['’]ve\b", f"{speaker} has", words)
    words = re.sub(r"\bI['’](?:ll|d)\b", f"{speaker} would", words)
    words = re.sub(r"\b(?:my|mine)\b", possessive(speaker), words, flags=re.IGNORECASE)
    return trim(re.sub(r"\b(?:I|me|myself)\b", speaker, words))


def _listed(names: Sequence[str]) -> str:
    if not names:
        return ""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + _LIST_END + names[-1]


def _starts_with(action: str, names: Sequence[str]) -> bool:
    words = action.casefold() + " "
    return any(words.startswith((f"{name} ", f"{name}'", f"{name}’")) for name in map(str.casefold, names) if name)
