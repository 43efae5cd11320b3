"""One plot as a PNG file: axes in, a file out. Knows nothing about what is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure


@contextmanager
def canvas(path: Path, x: str, y: str) -> Iterator[Any]:
    """Give axes to draw labelled lines on; write them to ``path`` afterwards."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    yield axes
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=150)
