"""Words that stand for people, turned into their names by code: «I», «my brother», «you» in a talk of two.

Takes copied words and who is speaking to whom; gives the words as a third person would say them. What cannot be known
from that («she», «they») stays as it is, and ``is_pronoun`` tells it apart from a name. Knows nothing about models or
the graph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_FIRST = frozenset({"i", "me", "myself", "mine", "i'm", "i've", "i'll", "i'd"})
_SECOND = frozenset({"you", "yourself", "u"})
_OPEN = frozenset(
    "he she it they him her them we us our ours his hers its their theirs himself herself itself themselves ourselves "
    "this that these those who which what one someone something everyone everybody anyone nobody here there y'all "
    "everything nothing anything".split()
)
_POSSESSIVE = re.compile(r"^(my|our)\s+(?=\S)", re.IGNORECASE)
_YOUR = re.compile(r"^your\s+(?=\S)", re.IGNORECASE)
_EDGES = " \t\n.,!?:;\"'“”‘’()[]…*_`"
_ARTICLE = re.compile(r"^(?:the|a|an|this|that|these|those|some)\s+(?=\S)", re.IGNORECASE)


def possessive(name: str) -> str:
    """Give ``Ana's`` for ``Ana``."""
    return name + ("'" if name.endswith("s") else "'s")


def in_third_person(words: str, speaker: str, listeners: Sequence[str]) -> str:
    """Replace a leading first or second person in a noun phrase by the name it means."""
    words = trim(words)
    folded = words.casefold().replace("’", "'")
    if folded in _FIRST:
        return speaker
    if len(listeners) == 1:
        if folded in _SECOND:
            return listeners[0]
        words = _YOUR.sub(possessive(listeners[0]) + " ", words)
    return _POSSESSIVE.sub(possessive(speaker) + " ", words)


def is_pronoun(words: str) -> bool:
    """Tell whether the words name nobody in particular."""
    return words.casefold().replace("’", "'") in _OPEN | _FIRST | _SECOND


def trim(words: str) -> str:
    """Strip blanks and punctuation from both ends, keeping a closing mark that belongs inside."""
    out = words.strip(_EDGES)
    if words.rstrip(" .,!?:;").endswith(")") and "(" in out:
        out += ")"
    return out


def without_article(words: str) -> str:
    """Drop a leading article or demonstrative."""
    return _ARTICLE.sub("", words)
