"""Shares of evidence, micro averages by kind of question, and their intervals.

Takes labels, or (kind, value) pairs; gives numbers. Knows nothing about benchmarks or methods.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Average:
    """A mean over ``count`` questions, with the mean and count of each kind, in the order of report."""

    mean: float
    count: int
    by_kind: Mapping[str, tuple[float, int]]


def evidence_recall(evidence: Collection[str], found: Collection[str]) -> float:
    """Give the share of the evidence that was found; 1 where a question has none."""
    wanted, got = set(evidence), set(found)
    return len(wanted & got) / len(wanted) if wanted else 1.0


def all_found(evidence: Collection[str], found: Collection[str]) -> float:
    """Give 1 where every piece of evidence was found, or the question has none."""
    return float(set(evidence) <= set(found))


def average(items: Iterable[tuple[str, float]], order: Iterable[str]) -> Average:
    """Average (kind, value) pairs over all, and by kind; kinds that ``order`` lacks come last."""
    groups: dict[str, list[float]] = {}
    for kind, value in items:
        groups.setdefault(kind, []).append(value)
    kinds = [kind for kind in order if kind in groups]
    kinds += sorted(set(groups) - set(kinds))
    means = {kind: (sum(groups[kind]) / len(groups[kind]), len(groups[kind])) for kind in kinds}
    count = sum(map(len, groups.values()))
    return Average(sum(map(sum, groups.values())) / count if count else 0.0, count, means)


def bootstrap(
    by_case: Sequence[Sequence[float]], *, level: float = 0.95, draws: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Give the percentile interval of the micro average when whole cases are drawn again, with replacement."""
    groups = [(sum(values), len(values)) for values in by_case if values]
    if not groups:
        return 0.0, 0.0
    draw = random.Random(seed)
    means = []
    for _ in range(draws):
        chosen = draw.choices(groups, k=len(groups))
        means.append(sum(total for total, _ in chosen) / sum(count for _, count in chosen))
    means.sort()
    tail = (1 - level) / 2
    return means[int(tail * (draws - 1))], means[round((1 - tail) * (draws - 1))]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Give mean, median and 95th percentile; zeros where there is nothing."""
    if not values:
        return {"mean": 0.0, "median": 0.0, "p95": 0.0}
    return {
        "mean": float(np.mean(values)),
        "median": float(np.median(values)),
        "p95": float(np.percentile(values, 95)),
    }
