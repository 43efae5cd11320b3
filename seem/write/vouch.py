"""The last look at an extraction before it is kept, whichever model made it: who is named was named by somebody.

Takes an extraction with its passage and a way to ask whether a word occurs in the memory; gives it without the names that
occur nowhere and without what the passage orders the memory to hold, both counted as dropped, and without characters that
no database takes. A second line behind the grounding of each extractor, which is stricter: other words than names are
theirs to check. Knows nothing about models or storage.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace

from seem.prompts.window import clean_name
from seem.sources.drafts import storable
from seem.types import Event, Extraction, Fact, Passage, TimeSpan
from seem.write.free import Shown
from seem.write.orders import believable
from seem.write.summary import compose
from seem.write.time_words import MONTHS, WEEKDAYS

_CALENDAR = frozenset((*MONTHS, *WEEKDAYS))
_WORD = re.compile(r"[^\W\d_]\w*")


def vouch(extraction: Extraction, passage: Passage, occurs: Callable[[str], bool]) -> Extraction:
    """Give the extraction without strangers; ``occurs`` tells whether a word stands anywhere in the memory."""
    told = _obeying_nobody(_storable(extraction), passage)
    work = _Vouching(passage, occurs)
    events = tuple(e for event in told.events if (e := work.event(event)))
    facts = tuple(f for f in told.facts if work.known(f.subject, f.relation, f.object)) if events else ()
    dropped = work.dropped + len(told.facts) - len(facts)
    whole = told.summary and len(events) == len(extraction.events) and work.known(told.summary)
    summary = told.summary if whole else compose(events, clean_name(passage.speaker))
    return replace(told, events=events, facts=facts, summary=summary, dropped=told.dropped + dropped)


class _Vouching:
    def __init__(self, passage: Passage, occurs: Callable[[str], bool]) -> None:
        said = passage.time.isoformat() if passage.time else ""
        speaker = clean_name(passage.speaker)
        self._shown = Shown([speaker, passage.speaker, passage.session, passage.text, passage.image, said])
        self._occurs = occurs
        self.dropped = 0

    def known(self, *words: str) -> bool:
        composed = (unicodedata.normalize("NFKC", text) for text in words)
        names = [word for text in composed for word in _WORD.findall(text) if word[0].isupper()]
        return all(self._shown.knows(n) or n.casefold() in _CALENDAR or self._occurs(n) for n in names)

    def event(self, event: Event) -> Event | None:
        who = tuple(p for p in event.participants if self.known(p))
        if not who or not self.known(event.action):
            self.dropped += 1
            return None
        self.dropped += len(event.participants) - len(who)
        return replace(
            event,
            participants=who,
            location=self._vouched(event.location),
            causality=self._vouched(event.causality),
            manner=self._vouched(event.manner),
        )

    def _vouched(self, words: str | None) -> str | None:
        if not words or self.known(words):
            return words
        self.dropped += 1
        return None


def _obeying_nobody(told: Extraction, passage: Passage) -> Extraction:
    """Leave out what the passage merely orders the memory to hold."""
    kept = believable(passage.text)
    if kept == passage.text:
        return told
    shown = Shown([clean_name(passage.speaker), passage.speaker, kept, passage.image])
    events = tuple(e for e in told.events if shown.quotes(e.action))
    facts = tuple(f for f in told.facts if shown.has(f.subject) and shown.has(f.object))
    lost = len(told.events) - len(events) + len(told.facts) - len(facts)
    if not lost:
        return told
    return replace(told, events=events, facts=facts, summary="", dropped=told.dropped + lost)


def _storable(told: Extraction) -> Extraction:
    events = tuple(
        Event(
            _texts(e.participants),
            storable(e.action),
            _time(e.time),
            storable(e.location),
            storable(e.causality),
            storable(e.manner),
        )
        for e in told.events
    )
    facts = tuple(
        Fact(storable(f.subject), storable(f.relation), storable(f.object), _time(f.time)) for f in told.facts
    )
    return replace(told, events=events, facts=facts, summary=storable(told.summary))


def _texts(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(storable(word) for word in words)


def _time(time: TimeSpan | None) -> TimeSpan | None:
    return replace(time, text=storable(time.text)) if time else None
