"""How well the judge does: probabilities and labels of pairs, or partitions, in; the figures of recipes E2 out.

Gives precision and recall at a threshold with Clopper-Pearson bounds, average precision, false merges by kind of trap,
and B-cubed of the final frames. Knows nothing about models, frames or files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from seem.errors import InputError
from training.evaluate.metrics import Score

Item = TypeVar("Item", bound=Hashable)
Scores = Sequence[float] | npt.NDArray[np.float64]
Labels = Sequence[bool] | npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share of ``count`` cases with its Clopper-Pearson bounds; nan and (0, 1) where there are no cases."""

    value: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """Precision and recall of "same occurrence" at ``threshold``."""

    threshold: float
    precision: Proportion
    recall: Proportion
    average_precision: float


def report(scores: Scores, labels: Labels, threshold: float, *, level: float = 0.95) -> JudgeReport:
    """Count a pair as merged from ``threshold`` on. ``level`` is that of the two-sided bounds."""
    values, same = _arrays(scores, labels)
    merged = values >= threshold
    right = int((merged & same).sum())
    return JudgeReport(
        threshold,
        proportion(right, int(merged.sum()), level=level),
        proportion(right, int(same.sum()), level=level),
        average_precision(values, same),
    )


def proportion(hits: int, count: int, *, level: float = 0.95) -> Proportion:
    """Give ``hits / count`` with its exact two-sided binomial bounds (Clopper and Pearson 1934)."""
    if not 0 <= hits <= count:
        raise InputError(f"{hits} hits of {count} cases cannot be: give 0 <= hits <= count")
    if count == 0:
        return Proportion(float("nan"), 0.0, 1.0, 0)
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, hits, count - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, count - hits)) if hits < count else 1.0
    return Proportion(hits / count, low, high, count)


def average_precision(scores: Scores, labels: Labels) -> float:
    """Give the mean precision over the steps of recall, pairs of one score taken together; nan without a positive."""
    values, same = _arrays(scores, labels)
    if not same.any():
        return float("nan")
    order = np.argsort(-values, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(values[order]) != 0, True))
    right = np.cumsum(same[order])[ends]
    return float((np.diff(right, prepend=0) / same.sum() * right / (ends + 1)).sum())


def recall_at_precision(scores: Scores, labels: Labels, precision: float) -> tuple[float, float]:
    """Give the highest recall at which the precision still is ``precision``, and its threshold; (0, inf) if never."""
    values, same = _arrays(scores, labels)
    best = (0.0, float("inf"))
    for threshold in np.unique(values)[::-1].tolist():
        merged = values >= threshold
        right = int((merged & same).sum())
        if right / merged.sum() >= precision and right / same.sum() > best[0]:
            best = (right / int(same.sum()), threshold)
    return best


def false_merges(scores: Scores, kinds: Sequence[str], threshold: float) -> dict[str, Proportion]:
    """Give, for pairs that are NOT the same occurrence, the share merged all the same, by kind of trap."""
    if len(scores) != len(kinds):
        raise InputError(f"{len(scores)} scores but {len(kinds)} kinds of trap: give one a pair")
    total: Counter[str] = Counter(kinds)
    merged = Counter(kind for value, kind in zip(scores, kinds, strict=True) if value >= threshold)
    return {kind: proportion(merged[kind], count) for kind, count in total.most_common()}


def trap_kind(why: str) -> str:
    """Give the kind of a ``distinct`` pair of the corpus: what stands before the colon, close variants as one."""
    kind = why.split(":", 1)[0].strip().lower().removeprefix("a ")
    if kind.endswith("execution"):
        return "plan and execution"
    if "cancel" in kind or kind.startswith("plan "):
        return "plan and its change"
    if kind.startswith("event and") or kind == "cause and effect":
        return "cause and effect"
    if kind.startswith(("hypothetical", "retold")):
        return "retold hypothetically"
    if kind.startswith("same kind"):
        return "same kind, other instance"
    return "other person" if kind == "other person" else "same topic, other event"


def b_cubed(gold: Mapping[Item, Hashable], predicted: Mapping[Item, Hashable], *, singletons: bool = True) -> Score:
    """Score a partition (item to cluster) against gold by B-cubed (Bagga and Baldwin 1998); support counts items.

    Without ``singletons``, items that are alone in both are left out of the means, since they only flatter; one that
    was wrongly merged or wrongly left alone still counts. Without any item all is 0.
    """
    if gold.keys() != predicted.keys():
        raise InputError(f"the partitions hold {len(gold)} and {len(predicted)} items and not the same ones")
    wanted, given = Counter(gold.values()), Counter(predicted.values())
    shared = Counter((gold[item], predicted[item]) for item in gold)
    items = [
        (shared[gold[item], predicted[item]], given[predicted[item]], wanted[gold[item]])
        for item in gold
        if singletons or wanted[gold[item]] > 1 or given[predicted[item]] > 1
    ]
    if not items:
        return Score(0.0, 0.0, 0.0, 0, 0)
    precision = sum(same / size for same, size, _ in items) / len(items)
    recall = sum(same / size for same, _, size in items) / len(items)
    return Score(precision, recall, 2 * precision * recall / (precision + recall), len(items), len(items))


def _arrays(scores: Scores, labels: Labels) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    values, same = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.bool_)
    if values.ndim != 1 or values.shape != same.shape:
        raise InputError(f"{values.shape} scores but {same.shape} labels: give one label a pair")
    return values, same
