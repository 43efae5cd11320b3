"""A run's losses as a picture beside its card.

Takes the trainer's log; writes a PNG. Knows nothing about what was trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LOSSES = "loss.png"


def draw_losses(log: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the loss on train and on dev against the steps."""
    from matplotlib.figure import Figure

    # A figure of its own draws through Agg, whatever display there is.
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for key, name in (("loss", "train"), ("eval_loss", "dev")):
        points = [(entry["step"], entry[key]) for entry in log if key in entry]
        if points:
            axes.plot([step for step, _ in points], [loss for _, loss in points], marker=".", label=name)
    axes.set(xlabel="optimiser steps", ylabel="loss per completion token")
    axes.legend()
    figure.savefig(path, dpi=120)
