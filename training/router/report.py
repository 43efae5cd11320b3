"""How well arms are chosen: regret against the oracle, the paired bootstrap, and which candidate ships.

Takes outcomes and each candidate's choices; gives plain numbers, a table as text and a plot. Regret and utility are in
evidence recall per 1,000 tokens of context. Knows nothing about models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from training.router.outcomes import Outcome

Choices = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

GRAPH, EXPAND, ORACLE, RULE = "always graph", "always expand", "oracle", "rule"
LORA: Final = "lora"
LEVEL = 0.95


def fixed(rows: Sequence[Outcome]) -> dict[str, Choices]:
    """Give the choices that need no training: either arm, the rule on the question's words, and the better arm."""
    count = len(rows)
    return {
        GRAPH: np.zeros(count, dtype=np.bool_),
        EXPAND: np.ones(count, dtype=np.bool_),
        RULE: np.array([row.signals["rule"] > 0 for row in rows], dtype=np.bool_),
        ORACLE: np.array([row.gain > 0 for row in rows], dtype=np.bool_),
    }


def regrets(rows: Sequence[Outcome], expand: Choices) -> Floats:
    """Give what each choice loses against the better arm."""
    gains = np.array([row.gain for row in rows], dtype=np.float64)
    return np.asarray(np.where(expand, np.maximum(-gains, 0), np.maximum(gains, 0)), dtype=np.float64)


def figures(rows: Sequence[Outcome], expand: Choices) -> dict[str, Any]:
    """Measure one way of choosing."""
    taken = [row.expand if e else row.graph for row, e in zip(rows, expand.tolist(), strict=True)]
    lost = regrets(rows, expand)
    arms = [float(regrets(rows, choice).mean()) for name, choice in fixed(rows).items() if name in (GRAPH, EXPAND)]
    kinds = sorted({row.type for row in rows})
    of_kind = {kind: np.array([row.type == kind for row in rows]) for kind in kinds}
    return {
        "regret": float(lost.mean()),
        # Of the way from the better fixed arm to the oracle; below 0 where it is worse than that arm.
        "gap_closed": 1 - float(lost.mean()) / min(arms) if min(arms) > 0 else None,
        "expanded": float(expand.mean()),
        "evidence_recall": float(np.mean([arm.recall for arm in taken])),
        "tokens": float(np.mean([arm.tokens for arm in taken])),
        "lost_by_type": {kind: float(lost[chosen].mean()) for kind, chosen in of_kind.items()},
    }


def saved(
    rows: Sequence[Outcome], expand: Choices, other: Choices, *, draws: int, seed: int
) -> tuple[float, float, float]:
    """Give how much less regret one way has than another, a question, with the 95% interval of the paired bootstrap."""
    difference = regrets(rows, other) - regrets(rows, expand)
    draw = np.random.default_rng(seed)
    means = np.array([difference[draw.integers(len(rows), size=len(rows))].mean() for _ in range(draws)])
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(difference.mean()), float(low), float(high)


def winner(
    rows: Sequence[Outcome], made: Mapping[str, Choices], *, draws: int, seed: int
) -> tuple[str, dict[str, list[float]]]:
    """Name the candidate that ships: the LoRA head where it surely beats each other one, else the best of those.

    Gives with it what the LoRA head saves over each, with its interval.
    """
    others = [name for name in made if name != LORA]
    best = min(others, key=lambda name: round(float(regrets(rows, made[name]).mean()), 9))
    if LORA not in made:
        return best, {}
    over = {name: list(saved(rows, made[LORA], made[name], draws=draws, seed=seed)) for name in others}
    return (LORA if all(low > 0 for _, low, _ in over.values()) else best), over


def wins(rows: Sequence[Outcome], expand: Choices, *, draws: int, seed: int) -> dict[str, list[float]]:
    """Give what a candidate saves over each way that needs no training, with its interval."""
    plain = fixed(rows)
    return {name: list(saved(rows, expand, plain[name], draws=draws, seed=seed)) for name in (GRAPH, EXPAND, RULE)}


def table(told: Mapping[str, Mapping[str, Any]]) -> str:
    """Give the figures of several ways of choosing as text."""
    rows = [f"{'router':15}{'regret':>9}{'gap closed':>12}{'expanded':>10}{'recall':>9}{'tokens':>8}"]
    for name, f in told.items():
        closed = "-" if f["gap_closed"] is None else f"{f['gap_closed']:.3f}"
        rows.append(
            f"{name:15}{f['regret']:9.4f}{closed:>12}{f['expanded']:10.3f}{f['evidence_recall']:9.3f}{f['tokens']:8.0f}"
        )
    return "\n".join(rows)


def draw(told: Mapping[str, Mapping[str, Any]], title: str, path: Path) -> None:
    """Draw recall against tokens, one point a way of choosing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for n, (name, f) in enumerate(told.items()):
        axes.plot(f["tokens"], f["evidence_recall"], marker="o" if n < 4 else "^", linestyle="none", label=name)
    axes.set(xlabel="tokens of context", ylabel="evidence recall", title=title)
    axes.legend(fontsize=7)
    figure.savefig(path, dpi=120)
