"""Several rankings into one: weighted reciprocal rank fusion.

Takes ranked ids by list name and a weight for each name; gives scores. Source: Cormack, Clarke & Buettcher, SIGIR 2009.
Knows nothing about what is ranked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

# 60, the constant of the source, is meant for lists of thousands; a memory's lists are short, and its first ranks say more.
CONSTANT = 10.0


def fuse_ranks(
    lists: Mapping[str, Sequence[str]], weights: Mapping[str, float], *, constant: float = CONSTANT
) -> dict[str, float]:
    """Give for each id the sum over lists of weight / (constant + rank), ranks from 1; a list without a weight does not count."""
    scores: dict[str, float] = defaultdict(float)
    for name, ranked in lists.items():
        weight = weights.get(name, 0.0)
        if weight:
            for rank, item in enumerate(ranked, 1):
                scores[item] += weight / (constant + rank)
    return dict(scores)


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Give the ids, best first; ties by id, so that every machine agrees."""
    return sorted(scores, key=lambda item: (-round(scores[item], 9), item))
