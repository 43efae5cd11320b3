"""One table: the untuned base with a prompt, the tuned student, and the teacher's labels as the ceiling, figure by figure.

Takes the figures of an evaluation; gives rows, as text for a terminal or as Markdown. What was not measured is a dash. Knows nothing about
models or files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seem.types import SLOTS

Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of the three; ``None`` where it was not measured or has no meaning."""

    name: str
    base: float | None
    student: float | None
    ceiling: float | None


_QUALITY = ("valid", "valid_without_grammar", "null_f1", "slot_f1", "fact_f1", "polarity_flips", "unsupported")


def lines(figures: Figures) -> list[Line]:
    """Give the rows: quality of the extractor, by slot, judge and frames, router, then tokens, speed and cost."""
    baseline = figures.get("baseline") or {}
    base, beside = baseline.get("base", {}), baseline.get("student", {})
    ceiling = figures.get("ceiling", {}) | {"unsupported": figures.get("unsupported_in_labels")}
    student = {"valid_without_grammar": beside.get("valid_without_grammar"), **figures}
    told = [Line(key, base.get(key), student.get(key), ceiling.get(key)) for key in _QUALITY]
    told += [
        Line(f"slot_f1 {slot}", _slot(base, slot), _slot(figures, slot), ceiling.get(f"slot_f1_{slot}"))
        for slot in SLOTS
    ]
    told += [
        Line("judge_precision", None, figures.get("judge_precision"), None),
        Line("judge_recall", None, figures.get("judge_recall"), None),
        # Without a judge no two passages share a frame: that is the untuned base here.
        Line("b_cubed_grouped", figures.get("b_cubed_grouped_never_merge"), figures.get("b_cubed_grouped"), None),
    ]
    router: Figures = figures.get("router") or {}
    told += [Line(name, None, value, None) for name, value in router.items()]
    teacher = figures.get("teacher", {})
    return [
        *told,
        Line("tokens_in", _number(base, "tokens_in_per_passage"), _number(figures, "tokens_in_per_passage"), teacher.get("tokens_in")),
        Line("tokens_out", _number(base, "tokens_per_passage"), _number(figures, "tokens_per_passage"), teacher.get("tokens_out")),
        Line("passages_per_second", _number(base, "passages_per_second"), _number(figures, "passages_per_second"), None),
        Line("cost_per_1000", None, figures.get("cost_per_1000"), teacher.get("cost_per_1000")),
    ]  # fmt: skip


def comparison(figures: Figures) -> str:
    """Give the table as text, with what its columns mean."""
    rows = [f"{'':24}{'base':>10}{'student':>10}{'ceiling':>10}"]
    rows += [f"{line.name:24}" + "".join(f"{shown(v):>10}" for v in _values(line)) for line in lines(figures)]
    return "\n".join([*rows, *legend(figures)])


def markdown(figures: Figures) -> str:
    """Give the table as Markdown."""
    rows = ["| figure | untuned base | tuned student | ceiling |", "| --- | ---: | ---: | ---: |"]
    rows += [f"| `{line.name}` | " + " | ".join(map(shown, _values(line))) + " |" for line in lines(figures)]
    return "\n".join([*rows, "", *(f"- {told}" for told in legend(figures))])


def legend(figures: Figures) -> list[str]:
    """Say what the columns are and what the figures rest on."""
    baseline, teacher = figures.get("baseline"), figures.get("teacher", {})
    told = ["ceiling: a second annotation by the teacher against the first; of tokens and cost: the teacher's own"]
    if baseline:
        same = ", ".join(f"{key} {shown(baseline['student'].get(key))}" for key in ("null_f1", "slot_f1", "fact_f1"))
        told.append(
            f"base: no adapter, prompted with examples, the same grammar, on {baseline['turns']} turns; "
            f"there the student has {same}"
        )
    else:
        told.append("base: not measured (--baseline N); the frames of «never merge» stand there")
    if teacher:
        how = "tokens estimated" if teacher.get("estimated") else "tokens as given"
        told.append(f"cost in {figures.get('currency', '')} at the prices of the configuration; teacher: {how}")
    if figures.get("passages_per_second") is None:
        told.append("speed and the student's cost need a run that decodes: all outputs came from the cache")
    return told


def shown(value: float | None) -> str:
    """Give a number as tables show it."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.0f}"


def _values(line: Line) -> Sequence[float | None]:
    return line.base, line.student, line.ceiling


def _number(figures: Figures, key: str) -> float | None:
    value = figures.get(key)
    return None if value is None else float(value)


def _slot(figures: Figures, slot: str) -> float | None:
    value: float | None = figures.get("slots_by_name", {}).get(slot, {}).get("f1")
    return value
