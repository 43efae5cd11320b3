"""Words into comparable tokens, and soft counts into precision, recall and F1: what the stages' metrics are made of.

Takes strings and counts, gives numbers from 0 to 1. ``metrics_extract`` and ``metrics_judge`` build on it. Knows
nothing about models, files or the corpus.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

_ARTICLES = frozenset({"a", "an", "the"})
# Words that assert nothing alone, so that a slot may add them without inventing. Negations are not among them.
_LISTED = (
    "about after all also am and any are as at be been before being but by can could did do does doing during "
    "each for from get gets got had has have having he her hers him his how i if in into is it its itself just me "
    "my of off on onto or our out over own shall she should so some such than that their theirs them then there "
    "these they this those through to too under until up upon very was we were what when where which while who "
    "whom whose why will with would you your yours"
)
_FUNCTION_WORDS = _ARTICLES.union(_LISTED.split())
# Numbers stay whole (5:30, 1,000, 3.5); all else ends at a sign, also where a blank is missing after a full stop.
_WORD = re.compile(r"\d+(?:[.:,]\d+)*|[^\W\d_]+")
_NOT = re.compile(r"\b(ca|wo|sha)n't\b|\bcannot\b|n't\b")
_WHOLE = {"ca": "can not", "wo": "will not", "sha": "shall not"}


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1 of soft counts; ``support`` is how many gold holds, ``predicted`` how many came."""

    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


@lru_cache(maxsize=65536)
def tokens(text: str) -> tuple[str, ...]:
    """Give the tokens that count: lower case, n't as not, no articles, no possessive, Snowball stems."""
    return tuple(_stem(word) for word in _words(text) if word not in _ARTICLES)


@lru_cache(maxsize=65536)
def content_tokens(text: str) -> frozenset[str]:
    """Give the tokens that assert something: those of ``tokens`` without function words."""
    return frozenset(_stem(word) for word in _words(text) if word not in _FUNCTION_WORDS)


def token_f1(said: str, wanted: str) -> float:
    """Give the F1 of the two multisets of tokens; 1 where neither text holds any."""
    one, other = Counter(tokens(said)), Counter(tokens(wanted))
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def score(credit: float, predicted: int, support: int) -> Score:
    """Turn the credit of matched items into precision, recall and F1; an empty denominator gives 0."""
    precision = credit / predicted if predicted else 0.0
    recall = credit / support if support else 0.0
    both = precision + recall
    return Score(precision, recall, 2 * precision * recall / both if both else 0.0, support, predicted)


def share(hits: Iterable[bool]) -> tuple[float, int]:
    """Give the share of true values and how many values there are; (0, 0) where there is none."""
    values = list(hits)
    return (sum(values) / len(values) if values else 0.0), len(values)


def _words(text: str) -> list[str]:
    plain = text.lower().replace("\u2019", "'")
    plain = _NOT.sub(lambda match: _WHOLE.get(match[1], "can not" if match[0] == "cannot" else " not"), plain)
    return _WORD.findall(re.sub(r"'s\b", "", plain))


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    return str(_SNOWBALL.stemWord(word))


_SNOWBALL = snowballstemmer.stemmer("english")
