"""The plots of the evaluation's report, as PNG files.

Takes plain numbers and a path. Draws without a display. Knows nothing about where the numbers come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Numbers = Mapping[str, Any]


def confidence(bins: Sequence[Numbers], path: Path) -> None:
    """Draw slot F1 and the rightness of the null decision by confidence."""
    figure, axes = _axes()
    told = [b["confidence"] for b in bins]
    _line(axes, told, [b["slot_f1"] for b in bins], "slot F1")
    _line(axes, told, [b["null_accuracy"] for b in bins], "null decision right")
    axes.set(xlabel="confidence", ylim=(0, 1.02), title="Confidence of an extraction")
    _save(figure, axes, path)


def judge(bins: Sequence[Sequence[float]], error: float, path: Path) -> None:
    """Draw the judge's reliability."""
    figure, axes = _axes()
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8, label="calibrated")
    _line(axes, [said for said, _, _ in bins], [true for _, true, _ in bins], "pairs that retrieval proposes")
    for said, true, count in bins:
        axes.annotate(f"{count:.0f}", (said, true), textcoords="offset points", xytext=(4, -10), fontsize=7)
    axes.set(xlabel="probability given", ylabel="share that are the same", title=f"The judge, ECE {error:.3f}")
    _save(figure, axes, path)


def cost(figures: Numbers, path: Path) -> None:
    """Draw slot F1 by cost: the student, the teacher, and every cascade between them."""
    figure, axes = _axes()
    steps = figures["cascade"]
    costs = [s["cost"] for s in steps]
    _line(axes, costs, [s["slot_f1"] for s in steps], "cascade by confidence")
    axes.plot(costs, [s["random_slot_f1"] for s in steps], linestyle="--", color="grey", label="as many at random")
    points = [("student", figures["cost_per_1000"], figures.get("slot_f1"))]
    points.append(("teacher", figures["teacher"]["cost_per_1000"], figures.get("ceiling", {}).get("slot_f1")))
    base = (figures.get("baseline") or {}).get("base", {}).get("slot_f1")
    points.append(("untuned base", figures["cost_per_1000"], base))
    for name, price, quality in points:
        if price is not None and quality is not None:
            axes.plot([price], [quality], marker="s", linestyle="")
            axes.annotate(name, (price, quality), textcoords="offset points", xytext=(6, -12), fontsize=8)
    axes.set(xlabel=f"{figures['currency']} for 1,000 passages", ylabel="slot F1", title="Cost against quality")
    _save(figure, axes, path)


def scaling(runs: Sequence[tuple[float, Numbers]], keys: Sequence[str], path: Path) -> None:
    """Draw figures by share of the training data."""
    figure, axes = _axes()
    for key in keys:
        known = [(share, told[key]) for share, told in runs if told.get(key) is not None]
        _line(axes, [share for share, _ in known], [value for _, value in known], key)
    axes.set(xlabel="share of the training data, %", ylim=(0, 1.02), title="More training data")
    _save(figure, axes, path)


def _axes() -> tuple[Figure, Axes]:
    # Here, so that figures can be had where nothing draws.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 4), layout="constrained")
    return figure, figure.subplots()


def _line(axes: Axes, x: Sequence[float], y: Sequence[float | None], label: str) -> None:
    known = [(a, b) for a, b in zip(x, y, strict=True) if b is not None]
    axes.plot([a for a, _ in known], [b for _, b in known], marker="o", markersize=4, label=label)


def _save(figure: Figure, axes: Axes, path: Path) -> None:
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
