"""Negation: does a piece of text deny what it says, and which words around a copied span carry its denial?

Takes plain text. One list of cues for the extractor's repair, the metrics and the closing of facts.
Knows nothing about models; covers English cues only.
"""

from __future__ import annotations

import re

_CUE = re.compile(
    r"\b(?:not|never|no|nobody|none|nothing|neither|nor|without|cannot|\w+n['’]t|dont|doesnt|didnt|wont|cant|isnt|wasnt|havent|hasnt|"
    r"no longer|not any ?more|refuse[sd]?|hardly|stopped|quit)\b",
    re.IGNORECASE,
)
_HARD = re.compile(
    r"\b(?:not|never|nobody|neither|nor|cannot|no longer|no one|\w+n['’]t|"
    r"dont|doesnt|didnt|wont|cant|isnt|wasnt|havent|hasnt)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.!?;:,–—()]|\b(?:but|and|because|so|then|while|which|who|if|when)\b", re.IGNORECASE)
_REACH_WORDS = 4


def is_negated(text: str) -> bool:
    """Tell whether the text holds a word that denies its verb (not, never, n't, no longer, nobody, neither, cannot)."""
    return _HARD.search(text) is not None


def with_negation(source: str, span: str) -> str:
    """Give the span, begun earlier where a negation directly before it, in the same clause, would otherwise be lost.

    «don't eat meat» must never be kept as «eat meat».
    """
    at = source.find(span)
    if at < 0 or is_negated(span):
        return span
    before = source[:at]
    clause = before[max((m.end() for m in _CLAUSE_END.finditer(before)), default=0) :]
    cues = list(_HARD.finditer(clause))
    if not cues or len(clause[cues[-1].start() :].split()) > _REACH_WORDS:
        return span
    start = at - len(clause) + cues[-1].start()
    return source[start : at + len(span)]


def denies(text: str) -> bool:
    """Tell whether the text holds any cue of denial, weak ones (without, stopped, hardly) included."""
    return _CUE.search(text) is not None
