"""The judge's second stage, chosen on dev: logistic regression over its features, vetoes that help, and the threshold.

Takes a trained judge and dev candidates; gives a Calibration and what it measures on conversations that it was not
fitted on (each left out in turn). Draws the reliability plot. Knows nothing about how the network was trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from seem.errors import InputError
from seem.models.judge import FEATURES, Calibration, TunedJudge
from seem.models.pair_features import VETOES
from training.judge.evaluate import Proposed
from training.judge.metrics import average_precision, proportion

Floats = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

STRENGTHS = (0.03, 0.1, 0.3, 1.0)
PRECISION = 0.90
FALLBACK = 0.92
LEAST_RECALL = 0.5
LEVEL = 0.8  # two-sided: its lower bound is the one-sided 90% bound
BINS = 10


@dataclass(frozen=True, slots=True)
class Table:
    """Dev candidates, one row a pair; ``group`` numbers the conversation; ``veto`` has a column for each veto."""

    values: Floats
    same: Truth
    group: npt.NDArray[np.int64]
    veto: Truth


def table(judge: TunedJudge, found: Sequence[Proposed]) -> Table:
    """Compute features and vetoes of all candidates."""
    values = [judge.features(p.inputs()) for p in found]
    vetoes = [[[veto(a, b) for veto in VETOES.values()] for a, b in p.inputs()] for p in found]
    return Table(
        np.concatenate(values),
        np.concatenate([np.array(p.same, dtype=np.bool_) for p in found]),
        np.concatenate([np.full(len(p.pairs), n, dtype=np.int64) for n, p in enumerate(found)]),
        np.concatenate([np.array(v, dtype=np.bool_).reshape(-1, len(VETOES)) for v in vetoes]),
    )


def joined(tables: Sequence[Table]) -> Table:
    """Put tables of the same conversations together: the teacher's view and the student's."""
    return Table(*(np.concatenate([getattr(t, name) for t in tables]) for name in ("values", "same", "group", "veto")))


def fit(values: Floats, same: Truth, strength: float) -> Calibration:
    """Fit the regression; ``strength`` is sklearn's C."""
    mean, scale = values.mean(axis=0), values.std(axis=0)
    scale = np.where(scale < 1e-9, 1.0, scale)
    model = LogisticRegression(C=strength, max_iter=2000).fit((values - mean) / scale, same)
    weights = model.coef_[0]
    features = {
        name: (float(m), float(s), float(w)) for name, m, s, w in zip(FEATURES, mean, scale, weights, strict=True)
    }
    return Calibration(features, float(model.intercept_[0]), 0.5)


def calibrate(data: Table, folder: Path | None = None) -> tuple[Calibration, dict[str, Any]]:
    """Give the calibration of all data and the metrics of held-out conversations; with a folder, draw the plot."""
    if len(set(data.group.tolist())) < 2 or not data.same.any():
        raise InputError(
            "the judge is calibrated on at least two conversations with occurrences; give a larger dev split"
        )
    held = {strength: _held_out(data, strength) for strength in STRENGTHS}
    strength = min(STRENGTHS, key=lambda s: _log_loss(held[s], data.same))
    scores = held[strength]
    vetoes = _helpful(data)
    vetoed = _with(scores, data, vetoes)
    threshold, told = pick_threshold(vetoed, data.same)
    calibration = replace(fit(data.values, data.same, strength), threshold=threshold, vetoes=vetoes)
    ece, curve = reliability(vetoed, data.same)
    if folder is not None:
        draw(curve, ece, folder / "reliability.png")
    metrics: dict[str, Any] = {
        **told,
        "strength": strength,
        "vetoes": list(vetoes),
        "average_precision": average_precision(vetoed, data.same),
        "average_precision_logit": average_precision(data.values[:, FEATURES.index("logit")], data.same),
        "average_precision_cosine": average_precision(data.values[:, FEATURES.index("cosine")], data.same),
        "expected_calibration_error": ece,
        "brier": float(((vetoed - data.same) ** 2).mean()),
        "pairs": len(data.same),
        "positives": int(data.same.sum()),
    }
    return calibration, metrics


def pick_threshold(scores: Floats, same: Truth) -> tuple[float, dict[str, Any]]:
    """Give the lowest threshold whose precision is surely enough, else likely enough, else one that merges nothing."""
    sure: float | None = None
    likely: float | None = None
    for t in sorted({round(float(s), 4) for s in scores if s > 0}, reverse=True):
        merged = scores >= t
        right, count = int((merged & same).sum()), int(merged.sum())
        if count and proportion(right, count, level=LEVEL).low >= PRECISION and right / same.sum() >= LEAST_RECALL:
            sure = t
        if count and right / count >= FALLBACK:
            likely = t
    rule = "lower bound" if sure is not None else "precision" if likely is not None else "none"
    threshold = next((t for t in (sure, likely) if t is not None), 1.0)
    merged = scores >= threshold
    right, count = int((merged & same).sum()), int(merged.sum())
    told = proportion(right, count, level=LEVEL)
    recall = right / int(same.sum())
    return threshold, {
        "threshold": threshold,
        "rule": rule,
        "precision": told.value if count else None,
        "precision_low": told.low,
        "recall": recall,
        "merged": count,
    }


def reliability(scores: Floats, same: Truth) -> tuple[float, list[tuple[float, float, int]]]:
    """Give the expected calibration error, and (mean score, share of same, pairs) of each bin that is not empty."""
    bins = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    curve = [
        (float(scores[bins == b].mean()), float(same[bins == b].mean()), int((bins == b).sum()))
        for b in range(BINS)
        if (bins == b).any()
    ]
    return sum(abs(said - true) * count for said, true, count in curve) / len(scores), curve


def draw(curve: Sequence[tuple[float, float, int]], ece: float, path: Path) -> None:
    """Draw the reliability plot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    axes.plot([c[0] for c in curve], [c[1] for c in curve], marker="o")
    for said, true, count in curve:
        axes.annotate(str(count), (said, true), textcoords="offset points", xytext=(4, -10), fontsize=7)
    axes.set(xlabel="probability given", ylabel="share that are the same", title=f"held-out dev pairs, ECE {ece:.3f}")
    figure.savefig(path, dpi=120)


def _held_out(data: Table, strength: float) -> Floats:
    scores = np.zeros(len(data.same), dtype=np.float64)
    for group in np.unique(data.group):
        rest = data.group != group
        scores[~rest] = fit(data.values[rest], data.same[rest], strength).probability(data.values[~rest])
    return scores


def _helpful(data: Table) -> tuple[str, ...]:
    """Name the vetoes that on dev deny no more than one true pair in fifty and are right nineteen times in twenty."""
    out = []
    for n, name in enumerate(VETOES):
        hit = data.veto[:, n]
        lost, total = int((hit & data.same).sum()), int(data.same.sum())
        if hit.any() and lost / total <= 0.02 and lost / hit.sum() <= 0.05:
            out.append(name)
    return tuple(out)


def _with(scores: Floats, data: Table, vetoes: Sequence[str]) -> Floats:
    columns = [list(VETOES).index(name) for name in vetoes]
    return np.where(data.veto[:, columns].any(axis=1), 0.0, scores)


def _log_loss(scores: Floats, same: Truth) -> float:
    clipped = np.clip(scores, 1e-6, 1 - 1e-6)
    return float(-np.where(same, np.log(clipped), np.log(1 - clipped)).mean())
