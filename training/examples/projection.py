"""Labels onto spans: a teacher's free words become the best-matching words of the window, so that the student can only copy.

Takes a window and a labelled extraction; gives the extraction that a perfect copying student would write, and counts what was lost.
The match is multiset token F1 after stemming. A span whose polarity differs from the label's is never chosen.
Knows nothing about tokenizers or models.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from snowballstemmer import stemmer

from seem.prompts.window import Shown, Window
from seem.types import Event, Extraction, Fact, TimeSpan
from seem.write.names import in_third_person, is_pronoun, trim
from seem.write.polarity import is_negated

MAX_SPAN = 16
KEEP = 0.5
KEEP_NOUN = 0.4
KEEP_ACTION = 0.35
# A word of the turn itself is preferred to one of its surroundings unless that is clearly closer to the label.
ELSEWHERE = 0.12
ELSEWHERE_ACTION = 0.3
_WORD = re.compile(r"\w+")
_NT = re.compile(r"\b(\w+?)n['’]t\b", re.IGNORECASE)
_STOP = frozenset("a an the".split())
_stem = stemmer("english").stemWord


@lru_cache(maxsize=100_000)
def _fold(word: str) -> str:
    return str(_stem(word.casefold()))


@lru_cache(maxsize=20_000)
def bag(text: str) -> tuple[str, ...]:
    """Give the stemmed words of a text, articles aside, «n't» as «not»."""
    return tuple(_fold(w) for w in _WORD.findall(_NT.sub(r"\1 not", text)) if w.casefold() not in _STOP)


def overlap(a: tuple[str, ...], b: tuple[str, ...]) -> float:
    """Give the multiset token F1 of two bags."""
    if not a or not b:
        return 0.0
    same = sum((Counter(a) & Counter(b)).values())
    return 2 * same / (len(a) + len(b))


def best_span(
    label: str,
    window: Window,
    *,
    rewrite: Callable[[str], str] = trim,
    polarity: bool = False,
    elsewhere: float = ELSEWHERE,
) -> tuple[str, float]:
    """Give the shown words closest to the label, as shown, and their F1; ``rewrite`` is what code will do to them afterwards."""
    wanted = bag(label)
    negated = is_negated(label)
    best, score = "", 0.0
    for n, source in enumerate(window.sources()):
        handicap = elsewhere if n and source is window.before else 0.0
        for span in _candidates(source, set(wanted)):
            if polarity and is_negated(span) != negated:
                continue
            value = overlap(bag(rewrite(span)), wanted) - handicap - 0.001 * len(span.split())
            if value > score:
                best, score = span, value
    return best, score


def _candidates(source: Shown, wanted: set[str]) -> list[str]:
    chunks = source.chunks()
    useful = [
        bool(set(bag(c)) & wanted) or c.strip().casefold() in {"my", "i", "me", "your", "you", "our"} for c in chunks
    ]
    spans = []
    for i, chunk in enumerate(chunks):
        if not useful[i] or not chunk.startswith(" "):
            continue
        for j in range(i, min(len(chunks), i + MAX_SPAN)):
            if useful[j]:
                spans.append("".join(chunks[i : j + 1]).strip())
    return spans


def project(window: Window, label: Extraction) -> tuple[Extraction, Counter[str]]:
    """Give the extractive twin of a label and a count of what was kept, weakened or lost, by slot."""
    lost: Counter[str] = Counter()
    events = tuple(e for event in label.events if (e := _event(window, event, lost)))
    facts = tuple(f for fact in label.facts if (f := _fact(window, fact, lost)))
    return Extraction(label.passage_id, events, facts), lost


def _event(window: Window, event: Event, lost: Counter[str]) -> Event | None:
    action, score = best_span(event.action, window, polarity=True, elsewhere=ELSEWHERE_ACTION)
    who = tuple(dict.fromkeys(p for person in event.participants if (p := _noun(window, person))))[:6]
    lost["event"] += 1
    if score < KEEP_ACTION or not who:
        lost["event dropped"] += 1
        return None
    slots: dict[str, str | None] = {}
    for slot in ("location", "causality", "manner"):
        value = getattr(event, slot)
        span, score = best_span(value, window) if value else ("", 0.0)
        slots[slot] = span if score >= KEEP else None
        lost[slot] += bool(value)
        lost[slot + " dropped"] += bool(value) and score < KEEP
    return Event(who, action, _time(window, event.time, lost), **slots)


def _fact(window: Window, fact: Fact, lost: Counter[str]) -> Fact | None:
    subject, obj = _noun(window, fact.subject), _noun(window, fact.object)
    lost["fact"] += 1
    relation = " ".join(re.sub(r"[|;\n]", " ", fact.relation).split())
    if not subject or not obj or subject == obj:
        lost["fact dropped"] += 1
        return None
    return Fact(subject, relation, obj, _time(window, fact.time, lost))


def _noun(window: Window, label: str) -> str | None:
    if label in window.names:
        return label
    listeners = [n for n in window.names if n != window.speaker]
    span, score = best_span(label, window, rewrite=lambda words: in_third_person(words, window.speaker, listeners))
    return span if score >= KEEP_NOUN and not is_pronoun(span) else None


def _time(window: Window, time: TimeSpan | None, lost: Counter[str]) -> TimeSpan | None:
    if time is None:
        return None
    span, score = best_span(time.text, window)
    lost["time"] += 1
    lost["time dropped"] += score < KEEP
    return TimeSpan(span) if score >= KEEP else None
