"""The figures of a benchmark as text tables for a terminal.

Takes the report of a run (plain numbers); gives text. Knows nothing about how they were made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from training.benchmarks.cases import Bench

_MEBI = 2**20


def tables(report: Mapping[str, Any], ks: Sequence[int], bench: Bench) -> str:
    """Give recall, recall by kind, answers where there are some, costs, and a line on the import."""
    methods: Mapping[str, Any] = report["methods"]
    counts = report["questions"]
    width = max(len(name) for name in (*methods, "questions")) + 2
    parts = [_recall(methods, counts, ks, width), _by_kind(methods, counts, ks, width, bench)]
    if any("answers" in told for told in methods.values()):
        parts.append(_answers(report, width))
    parts += [_costs(methods, ks, width), _memory(report["import"])]
    return "\n\n".join(parts)


def _recall(methods: Mapping[str, Any], counts: Mapping[str, Any], ks: Sequence[int], width: int) -> str:
    title = "".join(f"{f'@{k}':>8}{'95% CI':>14}" for k in ks) + "".join(f"{f'all@{k}':>8}" for k in ks)
    lines = [
        f"Evidence recall, {counts['overall']} questions; k bounds all passages given, all@k: all evidence found",
        " " * width + title,
    ]
    for name, told in methods.items():
        cells = "".join(f"{told['recall'][str(k)]:8.3f}{_span(told['recall_interval'][str(k)]):>14}" for k in ks)
        lines.append(name.ljust(width) + cells + "".join(f"{told['all_found'][str(k)]:8.3f}" for k in ks))
    return "\n".join(lines)


def _by_kind(methods: Mapping[str, Any], counts: Mapping[str, Any], ks: Sequence[int], width: int, bench: Bench) -> str:
    shown = [kind for kind in bench.kinds if counts["by_category"][kind]]
    columns = [(kind, str(k)) for kind in shown for k in ks]
    cell = max([8, *(len(f"{kind}@{k}") + 2 for kind, k in columns)])
    names = ", ".join(kind if kind == name else f"{kind} {name}" for kind, name in bench.kinds.items())
    lines = [f"By category ({names})", " " * width + "".join(f"{f'{kind}@{k}':>{cell}}" for kind, k in columns)]
    lines.append("questions".ljust(width) + "".join(f"{counts['by_category'][kind]:{cell}}" for kind, _ in columns))
    for name, told in methods.items():
        lines.append(name.ljust(width) + "".join(f"{told['by_category'][kind][k]:{cell}.3f}" for kind, k in columns))
    return "\n".join(lines)


def _answers(report: Mapping[str, Any], width: int) -> str:
    rows = {name: told["answers"]["scores"] for name, told in report["methods"].items() if "answers" in told}
    for name, told in report["methods"].items():
        if "corrected" in told.get("answers", {}):
            rows[f"{name}, corrected"] = told["answers"]["corrected"]
    rows["(constant)"] = report["always_not_mentioned"]
    if "errata" in report:
        rows["(constant), corrected"] = report["always_not_mentioned_corrected"]
    scores = list(dict.fromkeys(score for told in rows.values() for score in told))
    width = max(width, *(len(name) + 2 for name in rows))
    lines = [
        "Answers, every question; (constant) always says «Not mentioned»; the judge leaves out what has no answer",
        " " * width + "".join(f"{score:>14}" for score in scores),
    ]
    for name, told in rows.items():
        cells = (f"{told[score]['mean']:14.3f}" if score in told else f"{'–':>14}" for score in scores)
        lines.append(name.ljust(width) + "".join(cells))
    if errata := report.get("errata"):
        wrong = [*errata["corrected"], *errata["unusable"]]
        lines.append(f"{len(errata['corrected'])} labels corrected, {len(errata['unusable'])} questions left out:")
        lines += [f"  {row['id']}: {row['was']!r} -> {row['now']!r}; {row['reason']}" for row in wrong]
    return "\n".join(lines)


def _costs(methods: Mapping[str, Any], ks: Sequence[int], width: int) -> str:
    k = str(ks[-1])
    titles = ("build s", "in/pass.", "out/pass.", "bytes/pass.", "ms", "p95 ms", "tokens", "peak MiB")
    lines = [f"Costs; latency and context tokens at {k} passages", " " * width + "".join(f"{t:>12}" for t in titles)]
    for name, told in methods.items():
        cost, latency = told["cost"], told["latency_ms"][k]
        peak = max(cost["peak_bytes_import"] or 0, cost["peak_bytes_asking"] or 0)
        cells = [
            _number(cost["construction_seconds"], 1),
            _number(cost["tokens_in_per_passage"], 0),
            _number(cost["tokens_out_per_passage"], 0),
            _number(cost["bytes_per_passage"], 0),
            _number(latency["median"], 1),
            _number(latency["p95"], 1),
            _number(told["context_tokens"][k]["mean"], 0),
            _number(peak / _MEBI, 0),
        ]
        lines.append(name.ljust(width) + "".join(f"{cell:>12}" for cell in cells))
    return "\n".join(lines)


def _memory(told: Mapping[str, Any]) -> str:
    return (
        f"Import: {told['passages']} passages in {told['seconds']:.0f} s, the slowest conversation "
        f"{told['slowest_seconds']:.0f} s; {told['frames']} frames ({told['fused_frames']} fused), "
        f"{told['facts']} facts, {told['empty']} passages without events, {told['dropped']} slots or lines dropped, "
        f"{told['failed']} failed"
    )


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _span(interval: Sequence[float]) -> str:
    return f"{interval[0]:.3f}-{interval[1]:.3f}"
