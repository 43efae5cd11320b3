"""The figures of a benchmark as a Markdown report with plots.

Takes the report of a run (plain numbers) and the command that made it; writes ``report.md`` and PNG files into a folder.
Knows nothing about how the figures were made.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from training.benchmarks.canvas import canvas
from training.benchmarks.cases import Bench

Cell = Callable[[Mapping[str, Any]], float | None]


def write_report(
    report: Mapping[str, Any], ks: Sequence[int], bench: Bench, folder: Path, command: Sequence[str]
) -> None:
    """Write the report and its plots."""
    folder.mkdir(parents=True, exist_ok=True)
    _plot_recall(report["methods"], ks, folder / "recall.png")
    _plot_tokens(report["methods"], ks, folder / "tokens.png")
    (folder / "report.md").write_text(markdown(report, ks, bench, command), encoding="utf-8")


def markdown(report: Mapping[str, Any], ks: Sequence[int], bench: Bench, command: Sequence[str]) -> str:
    """Give the report as Markdown."""
    methods, settings = report["methods"], report["settings"]
    k = str(ks[-1])
    sections = [
        f"# {bench.name}",
        f"`{shlex.join(command)}`",
        f"{report['questions']['overall']} questions, {report['import']['passages']} passages, {settings['mode']}; at most "
        f"{settings['context_tokens']} context tokens for every method. Extractor `{settings['extractor']}`, encoder "
        f"`{settings['encoder']}`; {settings['threads']} threads, load {settings['load_average'][0]:.1f}.",
        "## Evidence recall",
        table(methods, {f"@{n}": _at("recall", n) for n in ks} | {f"all @{n}": _at("all_found", n) for n in ks}),
        "![Evidence recall by passages](recall.png)\n![Evidence recall by context tokens](tokens.png)",
        "## By category",
    ]
    for n in ks:
        kinds = [kind for kind in bench.kinds if report["questions"]["by_category"][kind]]
        cells = {f"{kind} ({report['questions']['by_category'][kind]})": _kind(kind, n) for kind in kinds}
        sections += [f"At most {n} passages:", table(methods, cells)]
    if any("answers" in told for told in methods.values()):
        sections += ["## Answers", _answers(report)]
    costs: dict[str, Cell] = {
        "build s": lambda told: told["cost"]["construction_seconds"],
        "tokens in a passage": lambda told: told["cost"]["tokens_in_per_passage"],
        "tokens out a passage": lambda told: told["cost"]["tokens_out_per_passage"],
        "bytes a passage": lambda told: told["cost"]["bytes_per_passage"],
        "peak MiB, import": lambda told: _mebi(told["cost"]["peak_bytes_import"]),
        "peak MiB, asking": lambda told: _mebi(told["cost"]["peak_bytes_asking"]),
        "median ms": lambda told: told["latency_ms"][k]["median"],
        "p95 ms": lambda told: told["latency_ms"][k]["p95"],
        "context tokens a question": lambda told: told["context_tokens"][k]["mean"],
    }
    sections += [f"## Costs, at {k} passages", table(methods, costs, digits=1)]
    return "\n\n".join(sections) + "\n"


def table(rows: Mapping[str, Mapping[str, Any]], columns: Mapping[str, Cell], *, digits: int = 3) -> str:
    """Give a Markdown table, one row a method; the best of a column of shares is not marked: intervals overlap."""
    lines = ["| method | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
    for name, told in rows.items():
        values = [cell(told) for cell in columns.values()]
        shown = ["–" if value is None else f"{value:.{digits}f}" for value in values]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _answers(report: Mapping[str, Any]) -> str:
    rows = {name: told["answers"]["scores"] for name, told in report["methods"].items() if "answers" in told}
    rows["always «Not mentioned»"] = report["always_not_mentioned"]
    scores = dict.fromkeys(score for told in rows.values() for score in told)
    cells: dict[str, Cell] = {score: _score(score) for score in scores}
    first = next(told["answers"] for told in report["methods"].values() if "answers" in told)
    judged = f", judge `{first['judge']}`" if "judge" in first else ""
    return f"Reader `{first['model']}` at {first['k']} passages{judged}; means over every question.\n\n" + table(
        rows, cells
    )


def _at(name: str, k: int) -> Cell:
    return lambda told: told[name][str(k)]


def _kind(kind: str, k: int) -> Cell:
    return lambda told: told["by_category"][kind][str(k)]


def _score(score: str) -> Cell:
    return lambda told: told[score]["mean"] if score in told else None


def _mebi(value: float | None) -> float | None:
    return None if value is None else value / 2**20


def _plot_recall(methods: Mapping[str, Any], ks: Sequence[int], path: Path) -> None:
    with canvas(path, "passages handed over, at most", "evidence recall") as axes:
        for name, told in methods.items():
            values = [told["recall"][str(k)] for k in ks]
            axes.plot(ks, values, marker="o", label=name)
        axes.set_xticks(ks)


def _plot_tokens(methods: Mapping[str, Any], ks: Sequence[int], path: Path) -> None:
    with canvas(path, "context tokens a question, mean", "evidence recall") as axes:
        for name, told in methods.items():
            tokens = [told["context_tokens"][str(k)]["mean"] for k in ks]
            axes.plot(tokens, [told["recall"][str(k)] for k in ks], marker="o", label=name)
