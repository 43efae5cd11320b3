"""Does an extraction's confidence tell how good it is, and what would a cascade cost and gain below each threshold?

Takes labels and extractions of the same turns, the teacher's agreement with the labels (the ceiling) and what a passage
costs either way; gives plain numbers and a table. Knows nothing about models or endpoints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from seem.types import Extraction
from training.evaluate.counts import Counts, counts, expected, figures

BINS = 8
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Step:
    """One threshold: the share of passages below it, and what is to be expected where the teacher extracts those.

    ``random_*``: where as many passages are sent whatever their confidence. ``cost`` is that of 1,000 passages.
    """

    below: float
    share: float
    slot_f1: float
    fact_f1: float
    null_f1: float
    random_slot_f1: float
    cost: float | None


def reliability(gold: Sequence[Extraction], said: Sequence[Extraction]) -> dict[str, Any]:
    """Give bins of equally many turns by confidence, each with its mean confidence, figures and turns."""
    if not said:
        return {"bins": [], "rank_correlation": None}
    rows = _rows(gold, said)
    confidence = np.array([each.confidence for each in said])
    order = np.argsort(confidence, kind="stable")
    bins = []
    for part in np.array_split(order, min(BINS, len(order))):
        told = figures(rows[part].sum(axis=0))
        bins.append(
            {
                "confidence": float(confidence[part].mean()),
                "low": float(confidence[part].min()),
                "high": float(confidence[part].max()),
                "slot_f1": float(told["slot_f1"]),
                "null_accuracy": float(told["null_accuracy"]),
                "turns": len(part),
            }
        )
    return {"bins": bins, "rank_correlation": _correlation(confidence, rows)}


def cascade(
    gold: Sequence[Extraction],
    said: Sequence[Extraction],
    agreement: Mapping[str, float],
    *,
    student_cost: float | None = None,
    teacher_cost: float | None = None,
) -> list[Step]:
    """Give the steps for growing shares; the costs are those of 1,000 passages."""
    if not said:
        return []
    own = _rows(gold, said)
    teachers = np.stack([expected(each, agreement) for each in gold])
    confidence = np.array([each.confidence for each in said])
    ordered = np.append(np.sort(confidence), 1.0)
    thresholds = [round(float(ordered[round(share * len(said))]), 4) for share in SHARES]
    steps = []
    for below in sorted({0.0, *thresholds}):
        sent = confidence < below
        share = float(sent.mean())
        told = figures(np.where(sent[:, None], teachers, own).sum(axis=0))
        random = figures((1 - share) * own.sum(axis=0) + share * teachers.sum(axis=0))
        cost = None if student_cost is None or teacher_cost is None else student_cost + share * teacher_cost
        slot, fact, null = (float(told[name]) for name in ("slot_f1", "fact_f1", "null_f1"))
        steps.append(Step(below, share, slot, fact, null, float(random["slot_f1"]), cost))
    return steps


def cascade_table(steps: Sequence[Mapping[str, Any]], currency: str) -> str:
    """Give the steps as text."""
    head = f"{'below':>8}{'sent':>7}{'slot F1':>9}{'at random':>11}{'fact F1':>9}{'null F1':>9}  {currency} per 1,000"
    rows = [head]
    for s in steps:
        cost = "-" if s["cost"] is None else f"{s['cost']:.3f}"
        told = [f"{_shown(s[name]):>{width}}" for name, width in _COLUMNS]
        rows.append(f"{s['below']:8.4f}{s['share']:7.1%}{''.join(told)}  {cost}")
    rows.append("to take one: extract.cascade in the configuration, with extract.base_url and extract.model")
    return "\n".join(rows)


_COLUMNS = (("slot_f1", 9), ("random_slot_f1", 11), ("fact_f1", 9), ("null_f1", 9))


def plain(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Give the steps as plain values."""
    return [asdict(step) for step in steps]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _rows(gold: Sequence[Extraction], said: Sequence[Extraction]) -> Counts:
    return np.stack([counts(wanted, told) for wanted, told in zip(gold, said, strict=True)])


def _correlation(confidence: Counts, rows: Counts) -> float | None:
    """Give Spearman's rank correlation of confidence and quality of a turn, where both vary.

    A turn without anything to say is as good as its decision; another as its slots.
    """
    told = figures(rows)
    quality = np.where(np.isnan(told["slot_f1"]), told["null_accuracy"], told["slot_f1"])
    if len(set(confidence.tolist())) < 2 or len(set(quality.tolist())) < 2:
        return None
    return float(spearmanr(confidence, quality).statistic)
