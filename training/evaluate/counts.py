"""Counts of single turns that add up: any group of turns has its figures by a sum, and an interval by drawing groups anew.

Takes labels, extractions and, where there are any, raw outputs, turn by turn; gives arrays in the order of ``NAMES`` and
the figures of their sums. What is 0 of 0 is nan. Knows nothing about models or files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seem.types import Extraction
from seem.write.extract import Piece
from seem.write.ground import shown_words
from training.evaluate.figures import valid
from training.evaluate.metrics import Score
from training.evaluate.slots import report, unsupported

Counts = npt.NDArray[np.float64]

NAMES = (
    *("slot_credit", "slot_said", "slot_gold"),
    *("fact_credit", "fact_said", "fact_gold"),
    *("null_credit", "null_said", "null_gold"),
    *("null_right", "turns", "flips", "aligned", "valid", "windows", "invented", "filled"),
)
# Figure: its numerator and denominator; an F1 is twice the credit through what was said and what is right.
_F1 = ("slot", "fact", "null")
_SHARES = {
    "null_accuracy": ("null_right", "turns"),
    "polarity_flips": ("flips", "aligned"),
    "valid": ("valid", "windows"),
    "unsupported": ("invented", "filled"),
}
ROUNDS = 2000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its percentile bounds."""

    value: float
    low: float
    high: float


def counts(gold: Extraction, said: Extraction, pieces: Sequence[Piece] = ()) -> Counts:
    """Count one turn; without ``pieces`` nothing is known of windows and of invented slots."""
    told = report([gold], [said])
    flips, aligned = told.polarity_flips
    claims = [Extraction(said.passage_id, piece.grounded.events, piece.grounded.facts) for piece in pieces]
    invented, filled = unsupported(claims, [shown_words(piece.window) for piece in pieces])
    values = [*_three(told.slots), *_three(told.facts), *_three(told.null)]
    values += [told.null_accuracy[0], 1.0, flips * aligned, aligned]
    values += [sum(map(valid, pieces)), len(pieces), invented * filled, filled]
    return np.array(values, dtype=np.float64)


def nothing() -> Counts:
    """Give the counts of no turn."""
    return np.zeros(len(NAMES))


def expected(gold: Extraction, agreement: Mapping[str, float]) -> Counts:
    """Count one turn as a labeller would make it who agrees with ``gold`` to that degree: slot, fact and null F1."""
    own = counts(gold, gold)
    for name in _F1:
        own[_at(f"{name}_credit")] *= agreement.get(f"{name}_f1", 1.0)
    own[_at("null_right")] = agreement.get("null_accuracy", 1.0)
    return own


def figures(sums: Counts) -> dict[str, npt.NDArray[np.float64]]:
    """Give each figure of sums of shape (…, NAMES), with the shape before the last axis."""
    found = {}
    for name in _F1:
        credit, said, gold = (sums[..., _at(f"{name}_{part}")] for part in ("credit", "said", "gold"))
        found[f"{name}_f1"] = _ratio(2 * credit, said + gold)
    return found | {
        name: _ratio(sums[..., _at(above)], sums[..., _at(below)]) for name, (above, below) in _SHARES.items()
    }


def intervals(groups: Counts, *, seed: int = 7) -> dict[str, Interval]:
    """Give each figure of groups of shape (groups, NAMES) with the bounds that drawing the groups anew gives."""
    drawn = figures(groups[_draws(len(groups), seed)].sum(axis=1))
    return {name: _bounded(value, drawn[name]) for name, value in figures(groups.sum(axis=0)).items()}


def differences(before: Counts, after: Counts, *, seed: int = 7) -> dict[str, Interval]:
    """Give how much each figure of ``after`` exceeds that of ``before``: the same groups are drawn for both.

    A draw in which neither has the figure shows no difference.
    """
    draws = _draws(len(before), seed)
    one, other = (figures(groups[draws].sum(axis=1)) for groups in (before, after))
    old, new = figures(before.sum(axis=0)), figures(after.sum(axis=0))
    changes = {
        name: np.where(np.isnan(one[name]) & np.isnan(other[name]), 0.0, other[name] - one[name]) for name in old
    }
    return {name: _bounded(new[name] - old[name], changes[name]) for name in old}


def _three(score: Score) -> tuple[float, float, float]:
    return score.precision * score.predicted, score.predicted, score.support


def _at(name: str) -> int:
    return NAMES.index(name)


def _ratio(above: Counts, below: Counts) -> npt.NDArray[np.float64]:
    blank = np.full(np.shape(below), np.nan)
    found: npt.NDArray[np.float64] = np.divide(above, below, out=blank, where=np.asarray(below) > 0)
    return found


def _draws(groups: int, seed: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(groups, size=(ROUNDS, groups))


def _bounded(value: npt.NDArray[np.float64], drawn: npt.NDArray[np.float64]) -> Interval:
    known = drawn[~np.isnan(drawn)]
    if np.isnan(value) or not len(known):
        return Interval(float("nan"), float("nan"), float("nan"))
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return Interval(float(value), float(low), float(high))
