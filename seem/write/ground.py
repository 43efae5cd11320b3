"""What a model wrote, held against what it was shown: copied words are given back as they stand in the source, the rest is dropped and counted.

Takes a window, its passage and the parsed lines; gives events and facts whose every slot can be found in the text. Negations next to a copied span
are kept with it, first and second persons become names, time words become dates. Knows nothing about models.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from seem.prompts.lines import Parsed
from seem.prompts.window import Window
from seem.types import Event, Fact, Passage, TimeSpan
from seem.write.names import in_third_person, is_pronoun, trim, without_article
from seem.write.polarity import is_negated, with_negation
from seem.write.time_others import Earlier
from seem.write.times import resolve

_WORD = re.compile(r"[^\W\d_]+")
# Words of which an English sentence of some length has one.
_ENGLISH = frozenset(
    "the a and is are were my your our his of to for with you that this it its have has had from not i she they at on "
    "ve re ll who when what where why how there".split()
)


@dataclass(frozen=True, slots=True)
class Grounded:
    """Events and facts that the source supports, and how many slots or lines it did not."""

    events: tuple[Event, ...]
    facts: tuple[Fact, ...]
    dropped: int


def ground(window: Window, passage: Passage, parsed: Parsed, context: Sequence[Passage] = ()) -> Grounded:
    """Keep of a parsed extraction what the window supports. ``context`` holds the turns before, for times that lean on them."""
    work = _Grounding(window, passage.time, [(before.text, before.time) for before in context])
    events = tuple(dict.fromkeys(e for event in parsed.events if (e := work.event(event))))
    facts = tuple(dict.fromkeys(f for fact in parsed.facts if (f := work.fact(fact))))
    return Grounded(events, facts, work.dropped + parsed.bad)


class _Grounding:
    def __init__(self, window: Window, said_at: datetime | None, before: Sequence[Earlier]) -> None:
        self.window = window
        self.said_at = said_at
        self.before = before
        self.listeners = [n for n in window.names if n != window.speaker]
        self.dropped = 0

    def event(self, event: Event) -> Event | None:
        action = self._words(event.action)
        who = tuple(dict.fromkeys(p for person in event.participants if (p := self._noun(person))))
        named = tuple(p for p in who if not is_pronoun(p))
        if not action or not who:
            self.dropped += 1
            return None
        action = self._with_negation(action)
        return Event(
            named or who,
            action,
            self._time(event.time),
            self._words(event.location),
            self._words(event.causality),
            self._words(event.manner),
        )

    def fact(self, fact: Fact) -> Fact | None:
        subject, obj = self._noun(fact.subject), self._noun(fact.object)
        if not subject or not obj or is_pronoun(subject) or is_pronoun(obj) or subject.casefold() == obj.casefold():
            self.dropped += 1
            return None
        # In another language a free relation would be a translation that nobody asked for: there it must be copied too.
        if not self._in_english() and self.window.restore(fact.relation) is None:
            self.dropped += 1
            return None
        # A relation is the only free field: it may not turn what was denied into what was said, nor the other way round.
        denied = any(
            is_negated(with_negation(s.raw, found)) for s in self.window.sources() if (found := s.restore(fact.object))
        )
        if denied != is_negated(fact.relation) and (denied or not self._shown_negated()):
            self.dropped += 1
            return None
        return replace(fact, subject=without_article(subject), object=without_article(obj), time=self._time(fact.time))

    def _words(self, span: str | None) -> str | None:
        if not span:
            return None
        found = self.window.restore(span)
        if found is None:
            self.dropped += 1
            return None
        return trim(found) or None

    def _noun(self, span: str) -> str | None:
        found = self._words(span)
        return in_third_person(found, self.window.speaker, self.listeners) if found else None

    def _with_negation(self, action: str) -> str:
        for source in self.window.sources():
            raw = " ".join(source.raw.split())
            if action in raw:
                return with_negation(raw, action)
        return action

    def _time(self, time: TimeSpan | None) -> TimeSpan | None:
        words = self._words(time.text) if time else None
        if not words:
            return None
        return resolve(words, self.said_at, context=self.window.turn.raw, before=self.before)

    def _in_english(self) -> bool:
        return not _ENGLISH.isdisjoint(_WORD.findall(self.window.turn.raw.casefold()))

    def _shown_negated(self) -> bool:
        return any(is_negated(s.raw) for s in self.window.sources())


def shown_words(window: Window) -> Sequence[str]:
    """Give all that the model was shown, for measuring what it could not have copied."""
    return [*window.names, window.before_speaker, *(s.raw for s in window.sources())]
