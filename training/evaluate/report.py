"""The evaluation as a page: ``report.md`` with its tables and plots, and the command that made it.

Takes the figures of ``training.evaluate`` and, for the scaling curve, the JSON files of runs on less data; writes a
folder. Knows nothing about models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.models.adapters import SHIPPED
from training.evaluate import plots
from training.evaluate.figures import table
from training.evaluate.table import markdown, shown

REPORT = "report.md"
ROUTER = SHIPPED / "router" / "metrics.json"
SCALED = ("slot_f1", "fact_f1", "null_f1")

Figures = Mapping[str, Any]
Scaling = Sequence[tuple[float, Figures]]


def read_scaling(told: Sequence[str]) -> list[tuple[float, dict[str, Any]]]:
    """Read ``SHARE=FILE`` words, share in percent, into figures by growing share; raise InputError naming a wrong one."""
    runs: dict[float, dict[str, Any]] = {}
    for word in told:
        share, _, file = word.partition("=")
        try:
            percent = float(share)
            runs[percent] = json.loads(Path(file).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(
                f"--scaling {word!r} is no SHARE=FILE such as 25=a.json with the JSON of an evaluation: {error}"
            ) from error
        if not 0 < percent <= 100 or not isinstance(runs[percent], dict):
            raise InputError(f"--scaling {word!r}: a share lies above 0 and up to 100, and the file holds figures")
    return sorted(runs.items())


def router_figures(path: Path = ROUTER) -> dict[str, float]:
    """Give the regrets that the router's training measured, by dotted name; empty where there is no such file."""
    if not path.exists():
        return {}
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"the router's figures {path} cannot be read: {error}; train the router again") from error
    return {name: value for name, value in _numbers("router", told) if "regret" in name}


def write_report(folder: Path, figures: Figures, scaling: Scaling, *, command: str) -> Path:
    """Write the page and its plots; give the page's path."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made: {error}; name another with --report") from error
    page = folder / REPORT
    page.write_text("\n".join(_page(folder, figures, scaling, command)) + "\n", encoding="utf-8")
    return page


def _page(folder: Path, figures: Figures, scaling: Scaling, command: str) -> Iterator[str]:
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    settings = figures.get("settings", {})
    yield "# Evaluation of the students\n"
    yield f"`python -m training.evaluate {command}`, {made}; {figures['conversations']} conversations, {figures['turns']} turns."
    yield f"Extractor `{figures.get('extractor', 'none')}`, judge `{figures.get('judge', 'none')}`; {settings.get('processors')} "
    yield f"processors, {settings.get('threads')} threads, load {[round(x, 1) for x in settings.get('load_average', ())]}.\n"
    yield "## Base, student, ceiling\n"
    yield markdown(figures) + "\n"
    yield "## Targets\n"
    yield f"```\n{table(figures)}\n```\n"
    yield from _confidence(folder, figures)
    yield from _judge(folder, figures)
    yield from _cost(folder, figures)
    yield from _scaling(folder, scaling)


def _confidence(folder: Path, figures: Figures) -> Iterator[str]:
    told = figures.get("confidence") or {}
    if not told.get("bins"):
        return
    plots.confidence(told["bins"], folder / "confidence.png")
    yield "## Confidence of an extraction\n"
    yield "The confidence is the geometric mean of the tokens' probabilities. Bins of equally many turns:\n"
    yield "| confidence | slot F1 | null accuracy | turns |\n| ---: | ---: | ---: | ---: |"
    for b in told["bins"]:
        yield f"| {b['confidence']:.3f} | {shown(b['slot_f1'])} | {shown(b['null_accuracy'])} | {b['turns']} |"
    yield f"\nRank correlation with a turn's quality: {shown(told.get('rank_correlation'))}.\n"
    yield "![Slot F1 by confidence](confidence.png)\n"


def _judge(folder: Path, figures: Figures) -> Iterator[str]:
    told = figures.get("judge_reliability")
    if not told:
        return
    plots.judge(told["bins"], told["expected_calibration_error"], folder / "judge.png")
    yield "## Calibration of the judge\n"
    yield f"Expected calibration error on the proposed pairs: {told['expected_calibration_error']:.3f}.\n"
    yield "![Share of same pairs by probability](judge.png)\n"


def _cost(folder: Path, figures: Figures) -> Iterator[str]:
    steps = figures.get("cascade") or []
    if not steps:
        return
    teacher = figures["teacher"]
    yield "## Cost against quality\n"
    yield (
        f"The machine costs {figures['machine']['hour']:g} {figures['currency']} an hour, the teacher "
        f"{teacher['cost_per_1000']:.3f} for 1,000 passages ({teacher['tokens_in']:.0f} tokens in and "
        f"{teacher['tokens_out']:.0f} out each{', estimated' if teacher['estimated'] else ''}). A cascade sends the passages "
        "below a confidence to the teacher, who is taken to be as good as the ceiling; «at random» sends as many others.\n"
    )
    yield "| below | sent | slot F1 | at random | null F1 | cost of 1,000 |\n| ---: | ---: | ---: | ---: | ---: | ---: |"
    for s in steps:
        row = (s["slot_f1"], s["random_slot_f1"], s["null_f1"], s["cost"])
        yield f"| {s['below']:.4f} | {s['share']:.0%} | {' | '.join(map(shown, row))} |"
    yield ""
    if steps[0]["cost"] is None:
        yield "No plot: the student's cost needs a run that decodes, and all outputs came from the cache.\n"
        return
    plots.cost(figures, folder / "cost.png")
    yield "![Slot F1 by cost](cost.png)\n"


def _scaling(folder: Path, scaling: Scaling) -> Iterator[str]:
    if not scaling:
        return
    plots.scaling(scaling, SCALED, folder / "scaling.png")
    yield "## More training data\n"
    yield "| share | " + " | ".join(f"`{key}`" for key in SCALED) + " |\n| ---: " + "| ---: " * len(SCALED) + "|"
    for share, told in scaling:
        yield f"| {share:g}% | " + " | ".join(shown(told.get(key)) for key in SCALED) + " |"
    yield "\n![Figures by share of the training data](scaling.png)\n"


def _numbers(name: str, told: Any) -> Iterator[tuple[str, float]]:
    if isinstance(told, Mapping):
        for key, inner in told.items():
            yield from _numbers(f"{name}.{key}", inner)
    elif isinstance(told, (int, float)) and not isinstance(told, bool):
        yield name, float(told)
