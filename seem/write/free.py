"""What a large model wrote freely, held against what it was shown: what does not occur there is dropped and counted.

Names, places, numbers and time words must occur; other words may be its own by half. Takes the passage, the turns
before it, the names in play and the answer as read from JSON, of any shape; gives events and facts with resolved times,
and the model's summary where every name and number in it is known. Knows nothing about models or endpoints.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seem.prompts.texts import CONTEXT_TURNS, whole
from seem.prompts.window import clean_name
from seem.types import Event, Fact, Passage, TimeSpan
from seem.write.names import in_third_person, is_pronoun, trim
from seem.write.summary import compose
from seem.write.times import describe, resolve

LEAST_SHOWN = 0.5
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
# Words that a third-person retelling adds by itself; short NAMES are never skipped.
_SMALL = frozenset(
    "a an and as at be been by for from had has her his in into is its of on or s the their to was were with".split()
)
_NUMBER = re.compile(r"\d+")
_STEM = 5
_LEAST_NAME = 4


@dataclass(frozen=True, slots=True)
class Noted:
    """Events and facts that the source supports, the summary, and how many slots, events or facts it does not."""

    events: tuple[Event, ...]
    facts: tuple[Fact, ...]
    summary: str
    dropped: int


def ground_free(passage: Passage, context: Sequence[Passage], names: Sequence[str], answer: Mapping[str, Any]) -> Noted:
    """Keep of an answer what the shown text supports."""
    work = _Grounding(passage, context[-CONTEXT_TURNS:], names)
    events = tuple(dict.fromkeys(e for told in _items(answer.get("events")) if (e := work.event(told))))
    facts = tuple(dict.fromkeys(f for told in _items(answer.get("facts")) if (f := work.fact(told)))) if events else ()
    return Noted(events, facts, work.summary(answer.get("summary"), events), work.dropped)


class Shown:
    """The text that a model was shown, for asking whether words occur in it."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Take every text, names included."""
        self._text = " ".join(_folded(t) for t in texts)
        self._words = frozenset(_WORD.findall(self._text))
        self._numbers = frozenset(_NUMBER.findall(self._text))
        self._stems = frozenset(w[:_STEM] for w in self._words if len(w) >= _STEM)

    def quotes(self, words: str) -> bool:
        """Tell whether the words stand there in one piece."""
        folded = _folded(words)
        if not folded:
            return False
        if _UNSPACED.search(folded):
            return folded.replace(" ", "") in self._text.replace(" ", "")
        return re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", self._text) is not None

    def has(self, words: str) -> bool:
        """Tell whether every word occurs, whole where it is a name or number; grammar words aside."""
        return self.quotes(words) or (bool(_WORD.search(words)) and all(self.knows(w) for w in _words_of(words)))

    def share(self, words: str) -> float:
        """Give the share of the words that occur."""
        told = _words_of(words)
        return sum(map(self.knows, told)) / len(told) if told else 0.0

    def names(self, words: str) -> bool:
        """Tell whether the words that look like names or numbers occur."""
        return all(self.knows(word) for word in _words_of(words) if _is_name(word))

    def knows(self, word: str) -> bool:
        """Tell whether one word occurs; it may be inflected (a name by two letters), or a number without unit."""
        folded = _folded(word)
        if folded in self._words or folded in _SMALL:
            return True
        if _UNSPACED.search(folded):
            return folded in self._text
        if numbers := _NUMBER.findall(folded):
            return self._numbers.issuperset(numbers)
        if _is_name(word):
            return len(folded) >= _LEAST_NAME and any(_inflected(folded, w) for w in self._words)
        return len(folded) >= _STEM and folded[:_STEM] in self._stems


class _Grounding:
    def __init__(self, passage: Passage, before: Sequence[Passage], names: Sequence[str]) -> None:
        self._passage = passage
        self._speaker = clean_name(passage.speaker)
        self._names = list(
            dict.fromkeys([self._speaker, *(clean_name(n) for n in (*(p.speaker for p in before), *names))])
        )
        self._texts = [*self._names, passage.text, passage.image, *(f"{p.text} {p.image}" for p in before)]
        self._shown = Shown(self._texts)
        self._before = [(p.text, p.time) for p in before]
        self.dropped = 0

    def event(self, told: Mapping[str, Any]) -> Event | None:
        who = tuple(dict.fromkeys(p for person in _strings(told.get("participants")) if (p := self._noun(person))))
        named = tuple(p for p in who if not is_pronoun(p))
        action = _words(told.get("action"))
        if not who or not action or not self._free(action):
            self.dropped += 1
            return None
        location, causality, manner = (self._slot(told.get(key)) for key in ("location", "causality", "manner"))
        return Event(named or who, action, self._time(told.get("time")), location, causality, manner)

    def fact(self, told: Mapping[str, Any]) -> Fact | None:
        time = self._time(told.get("time"))
        dated = Shown([*self._texts, describe(time), *self._year()]) if time else self._shown
        subject, obj = self._noun(told.get("s"), dated), self._noun(told.get("o"), dated)
        relation = _words(told.get("r"))
        good = subject and obj and relation and not is_pronoun(subject) and not is_pronoun(obj)
        if not good or subject.casefold() == obj.casefold() or not self._shown.names(relation):
            self.dropped += 1
            return None
        return Fact(subject, relation, obj, time)

    def summary(self, told: Any, events: Sequence[Event]) -> str:
        """Give the model's summary, or where a name or number in it is unknown, one composed by code."""
        words = _words(told)
        if not events:
            return ""
        dates = [describe(e.time) for e in events if e.time]
        if words and Shown([*self._texts, *dates, *self._year()]).names(words):
            return words
        self.dropped += bool(words)
        return compose(events, self._speaker)

    def _noun(self, told: Any, shown: Shown | None = None) -> str:
        words = trim(_words(told))
        if words and not (shown or self._shown).has(words) and not is_pronoun(words):
            self.dropped += 1
            return ""
        return in_third_person(words, self._speaker, [n for n in self._names if n != self._speaker]) if words else ""

    def _slot(self, told: Any) -> str | None:
        words = trim(_words(told))
        if words and not self._free(words):
            self.dropped += 1
            return None
        return words or None

    def _free(self, words: str) -> bool:
        return self._shown.names(words) and self._shown.share(words) >= LEAST_SHOWN

    def _time(self, told: Any) -> TimeSpan | None:
        words = _words(told.get("text") if isinstance(told, Mapping) else told)
        if not words:
            return None
        if not self._shown.quotes(words):
            self.dropped += 1
            return None
        return resolve(words, self._passage.time, context=self._passage.text, before=self._before)

    def _year(self) -> list[str]:
        return [str(self._passage.time.year)] if self._passage.time else []


def _items(told: Any) -> list[Mapping[str, Any]]:
    return [item for item in told if isinstance(item, Mapping)] if isinstance(told, list) else []


def _strings(told: Any) -> list[str]:
    return [item for item in told if isinstance(item, str)] if isinstance(told, list) else []


def _words(told: Any) -> str:
    # The prompt shows "<" as a look-alike; what comes back is stored as it was said.
    return " ".join(whole(told).replace("‹", "<").split()) if isinstance(told, str) else ""


def _words_of(text: str) -> list[str]:
    # Composed: a mark of its own would part a name into words that nobody said.
    return _WORD.findall(unicodedata.normalize("NFC", text))


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())


def _inflected(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return len(short) >= _LEAST_NAME and len(long) - len(short) <= 2 and long.startswith(short)


def _is_name(word: str) -> bool:
    return word[0].isupper() or any(letter.isdigit() for letter in word)
