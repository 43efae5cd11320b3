"""Sentences that give somebody a second name: «Inga, that is what everyone calls Ingrid», «Robert goes by Bo».

Takes a text, gives pairs of names that it says are one person's. English; a denial («nobody calls her that») gives none.
Knows nothing about entities or the graph.
"""

from __future__ import annotations

import re

from seem.write.polarity import denies

_MOST_WORDS = 3
_CALLERS = r"(?:everyone|everybody|people|friends|we|they)"
# A cue, and whether the second name stands before it.
_CUES = tuple(
    (re.compile(cue), first)
    for cue, first in (
        (
            rf"[,–—-]? ?(?:(?:and )?(?:that|which|this)(?: is|['’]s) |is )(?:just )?what {_CALLERS}(?: all)? calls? ",
            True,
        ),
        (r" goes by (?:the name (?:of )?)?", False),
        (r"[, (]+(?:also |better |otherwise )?(?:known as|nicknamed|a\.?k\.?a\.?) ", False),
        (r",? (?:is |\()?(?:short|a nickname) for ", True),
        (r"['’]s? nickname is ", False),
        (r", called (?=[^\W\d_]+ by )", False),
    )
)
_SENTENCE = re.compile(r"(?<=\w\w)[.!?]\s+|\n+")


def stated(text: str) -> list[tuple[str, str]]:
    """Give (second name, name) for each pair that the text states."""
    found = []
    for sentence in _SENTENCE.split(text):
        for cue, second_first in _CUES:
            match = cue.search(sentence)
            if match is None:
                continue
            before, after = _last(sentence[: match.start()]), _first(sentence[match.end() :])
            if before and after and before != after and not denies(sentence):
                found.append((before, after) if second_first else (after, before))
            break
    return found


def _last(words: str) -> str:
    run: list[str] = []
    for word in reversed(words.split()[-_MOST_WORDS:]):
        if not word[:1].isupper():
            break
        run.insert(0, word.strip(".,"))
    return " ".join(run)


def _first(words: str) -> str:
    run: list[str] = []
    for word in words.split(maxsplit=_MOST_WORDS)[:_MOST_WORDS]:
        if not word[:1].isupper():
            break
        run.append(word.strip(".,;:!?)-–—"))
        if not word[-1:].isalnum():
            break
    return " ".join(run)
