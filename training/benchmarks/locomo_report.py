"""What was found for each LoCoMo question into the figures of the benchmark, and their tables.

Takes questions with the turns that each method found; gives plain numbers and text. Overall figures are micro averages
over categories 1 to 4; category 5, adversarial, stands by itself. Knows nothing about memories.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from training.benchmarks.locomo_data import ADVERSARIAL, CATEGORIES, Question
from training.benchmarks.locomo_methods import Found
from training.benchmarks.locomo_scores import all_found, average, bootstrap, evidence_recall

Measure = Callable[[Collection[str], Collection[str]], float]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a conversation and what each method found."""

    conversation: str
    question: Question
    found: Mapping[str, Found]


def method_figures(asked: Sequence[Asked], method: str, ks: Sequence[int]) -> dict[str, Any]:
    """Give recall and «all found» of one method, overall and by category, intervals by conversation, and latency."""
    recall = {k: _values(asked, method, k, evidence_recall) for k in ks}
    whole = {k: _values(asked, method, k, all_found) for k in ks}
    return {
        "recall": {str(k): _overall(recall[k]) for k in ks},
        "recall_interval": {str(k): _interval(asked, recall[k]) for k in ks},
        "by_category": _by_category(recall, ks),
        "all_found": {str(k): _overall(whole[k]) for k in ks},
        "all_found_by_category": _by_category(whole, ks),
        "latency_ms": {str(k): _latency([a.found[method].seconds[k] for a in asked]) for k in ks},
    }


def question_counts(asked: Sequence[Asked]) -> dict[str, Any]:
    """Count the questions, those without evidence, and the evidence that names no turn."""
    numbers = [a.question.category for a in asked]
    return {
        "all": len(asked),
        "overall": sum(n != ADVERSARIAL for n in numbers),
        "by_category": {str(n): numbers.count(n) for n in CATEGORIES},
        "without_evidence": sum(not a.question.evidence for a in asked),
        "unknown_evidence": sum(len(a.question.unknown) for a in asked),
    }


def tables(report: Mapping[str, Any], ks: Sequence[int]) -> str:
    """Give the recall table, the table by category, and a line on the import, as text."""
    methods: Mapping[str, Any] = report["methods"]
    counts = report["questions"]
    width = max(len(name) for name in (*methods, "questions")) + 2
    title = "".join(f"{f'@{k}':>8}{'95% CI':>14}" for k in ks) + "".join(f"{f'all@{k}':>8}" for k in ks)
    lines = [
        f"Evidence recall by turn, categories 1-4, {counts['overall']} questions; k bounds all passages given",
        " " * width + title + f"{'ms':>7}{'p95':>7}",
    ]
    for name, told in methods.items():
        cells = "".join(f"{told['recall'][str(k)]:8.3f}{_span(told['recall_interval'][str(k)]):>14}" for k in ks)
        cells += "".join(f"{told['all_found'][str(k)]:8.3f}" for k in ks)
        latency = told["latency_ms"][str(ks[-1])]
        lines.append(name.ljust(width) + cells + f"{latency['median']:7.1f}{latency['p95']:7.1f}")
    lines += ["", "By category id (" + ", ".join(f"{n} {name}" for n, name in CATEGORIES.items()) + ")"]
    columns = [(str(n), str(k)) for n in CATEGORIES if counts["by_category"][str(n)] for k in ks]
    lines.append(" " * width + "".join(f"{f'{n} @{k}':>8}" for n, k in columns))
    lines.append("questions".ljust(width) + "".join(f"{counts['by_category'][n]:8}" for n, _ in columns))
    for name, told in methods.items():
        lines.append(name.ljust(width) + "".join(f"{told['by_category'][n][k]:8.3f}" for n, k in columns))
    return "\n".join([*lines, "", _memory(report["import"])])


def _memory(told: Mapping[str, Any]) -> str:
    return (
        f"Import: {told['passages']} passages in {told['seconds']:.0f} s, the slowest conversation "
        f"{told['slowest_seconds']:.0f} s; {told['frames']} frames ({told['fused_frames']} fused), "
        f"{told['facts']} facts, {told['empty']} passages without events, {told['dropped']} slots or lines dropped, "
        f"{told['failed']} failed"
    )


def _values(asked: Sequence[Asked], method: str, k: int, measure: Measure) -> list[tuple[int, float]]:
    return [(a.question.category, measure(a.question.evidence, a.found[method].turns[k])) for a in asked]


def _overall(values: Sequence[tuple[int, float]]) -> float:
    return average([(number, value) for number, value in values if number != ADVERSARIAL]).mean


def _by_category(values: Mapping[int, Sequence[tuple[int, float]]], ks: Sequence[int]) -> dict[str, dict[str, float]]:
    means = {k: average(values[k]).by_category for k in ks}
    return {str(n): {str(k): means[k][n][0] for k in ks} for n in CATEGORIES if n in means[ks[0]]}


def _interval(asked: Sequence[Asked], values: Sequence[tuple[int, float]]) -> list[float]:
    groups: dict[str, list[float]] = {}
    for a, (number, value) in zip(asked, values, strict=True):
        if number != ADVERSARIAL:
            groups.setdefault(a.conversation, []).append(value)
    return list(bootstrap(list(groups.values())))


def _latency(seconds: Sequence[float]) -> dict[str, float]:
    if not seconds:
        return {"median": 0.0, "p95": 0.0}
    return {"median": 1000 * float(np.median(seconds)), "p95": 1000 * float(np.percentile(seconds, 95))}


def _span(interval: Sequence[float]) -> str:
    return f"{interval[0]:.3f}-{interval[1]:.3f}"
