"""LongMemEval: ``python -m training.benchmarks.longmemeval --data FILE --json OUT``.

Takes a file of the benchmark, which is read where it lies; each item's haystack becomes a memory of its own. Measures
retrieval by turn and by session for methods side by side; with ``--answer`` and ``--judge`` also accuracy by type.

As published, the index holds the user's turns only (``--roles all`` stores both sides, of which the user's turns are
counted), questions that must be abstained from and those without a marked user turn are left out of the retrieval
figures, and sessions are counted through their turns. No budget of tokens binds the ranking; ``--tokens`` is the reader's.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seem.config import Config
from seem.errors import SeemError
from seem.wiring import Parts
from training.benchmarks.averages import spread
from training.benchmarks.cases import Case
from training.benchmarks.errata import Errata, corrected, listing, read_errata
from training.benchmarks.figures import cost_figures
from training.benchmarks.judging import EndpointJudge, load_judge
from training.benchmarks.kept import Kept
from training.benchmarks.longmemeval_data import TYPES, abstains, load, session_of
from training.benchmarks.longmemeval_scores import (
    DEEPER,
    KS,
    accuracy,
    first,
    marking,
    retrieval_scores,
    scores,
)
from training.benchmarks.methods import check_methods
from training.benchmarks.program import chosen, flags, planned, ready, settings
from training.benchmarks.report import Cell, table
from training.benchmarks.run import Asked, Outcome, Plan, run

UNBOUND = 10**9
# The budget of passages at which latency is told.
USUAL = 10
CORRECTED = {"f1": ("f1",), "exact": ("exact",), "accuracy": ("accuracy", "overall")}
MEASURES = ("recall_any", "recall_all", "ndcg_any")


def measure(
    cases: Sequence[Case],
    plan: Plan,
    models: Parts,
    folder: Path,
    judge: EndpointJudge | None = None,
    errata: Errata | None = None,
) -> dict[str, Any]:
    """Run the plan on the items; give the report. ``plan.tokens`` bounds what the reader gets, not the ranking."""
    check_methods(plan.methods, plan.http)
    wrong = listing(cases, errata) if errata else None
    deep = replace(plan, ks=tuple(sorted({*plan.ks, *DEEPER})), tokens=UNBOUND, answer_tokens=plan.tokens)
    asked = run(cases, deep, models, folder)
    right = [each for each in corrected(asked, errata) if each.case.queries] if errata else []
    report: dict[str, Any] = {"benchmark": "LongMemEval", "methods": {}, "settings": settings(models, plan, [])}
    report |= {"errata": wrong} if wrong else {}
    for method in plan.methods:
        outcomes = [(each.case, each.outcomes[method]) for each in asked]
        told = {**_retrieval(outcomes, plan.ks), "cost": cost_figures([(len(c.drafts), o) for c, o in outcomes])}
        if plan.answer_k:
            told["answers"] = {"k": plan.answer_k, "model": models.reader.name if models.reader else "none"}
            told["answers"] |= _answers(outcomes, method, judge, folder)
            if right:
                again = _answers([(e.case, e.outcomes[method]) for e in right], method, judge, folder)
                told["answers"]["corrected"] = {name: v for name, v in again.items() if name != "hypotheses"}
        report["methods"][method] = told
    report["questions"] = _counts(asked)
    return report


def tables(report: Mapping[str, Any]) -> str:
    """Give the tables of a report, as Markdown."""
    methods, questions = report["methods"], report["questions"]
    parts = [f"{questions['all']} questions, of which retrieval is measured on {questions['measured']}."]
    for level in ("turn", "session"):
        cells = {f"{name} @{k}": _cell(level, name, str(k)) for name in MEASURES for k in report["settings"]["k"]}
        parts += [f"## Retrieval by {level}", table(methods, cells)]
    if any("accuracy" in told.get("answers", {}) for told in methods.values()):
        overall = {name: _cell("answers", "accuracy", name) for name in ("overall", "task_averaged", "abstention")}
        by_type = {kind: _cell("answers", "accuracy", "by_type", kind) for kind in TYPES}
        parts += ["## Accuracy", table(methods, overall | by_type)]
    if "errata" in report:
        scores = {name: _cell("answers", "corrected", *path) for name, path in CORRECTED.items()}
        left_out = len(report["errata"]["unusable"])
        title = f"## By corrected labels: {len(report['errata']['corrected'])} changed, {left_out} questions left out"
        parts += [title, table(methods, scores)]
    costs = {
        "build s": _cell("cost", "construction_seconds"),
        "tokens in a passage": _cell("cost", "tokens_in_per_passage"),
        "tokens out a passage": _cell("cost", "tokens_out_per_passage"),
        "bytes a passage": _cell("cost", "bytes_per_passage"),
        "median ms": _cell("latency_ms", "median"),
        "p95 ms": _cell("latency_ms", "p95"),
    }
    return "\n\n".join([*parts, "## Costs", table(methods, costs, digits=1)])


def _cell(*path: str) -> Cell:
    """Give what reads a value by its path; None where there is none."""

    def read(told: Mapping[str, Any]) -> float | None:
        value: Any = told
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value if isinstance(value, int | float) else None

    return read


def _retrieval(outcomes: Sequence[tuple[Case, Outcome]], ks: Sequence[int]) -> dict[str, Any]:
    """Average the retrieval scores over the items that have evidence among the user's turns."""
    totals: defaultdict[tuple[str, str, int], list[float]] = defaultdict(list)
    milliseconds = []
    for case, outcome in outcomes:
        (found,) = outcome.found
        milliseconds.append(1000 * found[min(ks, key=lambda k: abs(k - USUAL))].seconds)
        if not _measured(case):
            continue
        labels = {k: told.labels for k, told in found.items()}
        turn = {d.key: d.key for d in case.drafts if d.metadata.get("role") == "user"}
        session = {key: session_of(key) for key in turn}
        evidence = case.queries[0].evidence
        for k in ks:
            turns = first(labels, k, turn.get)
            sessions = first(labels, k, session.get)
            levels = {
                "turn": retrieval_scores(turns, set(evidence), k),
                "session": retrieval_scores(sessions, {session_of(label) for label in evidence}, k),
            }
            for level, values in levels.items():
                for name, value in values.items():
                    totals[level, name, k].append(value)
    told: dict[str, Any] = {
        level: {name: {str(k): spread(totals[level, name, k])["mean"] for k in ks} for name in MEASURES}
        for level in ("turn", "session")
    }
    return {**told, "latency_ms": spread(milliseconds)}


def _answers(
    outcomes: Sequence[tuple[Case, Outcome]], method: str, judge: EndpointJudge | None, folder: Path
) -> dict[str, Any]:
    said = [(case, outcome.said[0]) for case, outcome in outcomes]
    scored = [scores(case.queries[0], each.text) for case, each in said]
    told: dict[str, Any] = {name: spread([each[name] for each in scored])["mean"] for name in ("f1", "exact")}
    told["hypotheses"] = [{"question_id": case.id, "hypothesis": each.text} for case, each in said]
    if judge is not None:
        asked = [marking(case.queries[0], each.text, abstains=abstains(case)) for case, each in said]
        marks = judge.mark(asked, Kept(folder / "judged.jsonl"), name=method)
        told["judge"] = judge.name
        told["unreadable"] = sum(not mark.readable for mark in marks)
        pairs = zip(said, marks, strict=True)
        told["accuracy"] = accuracy([(c.queries[0].kind, abstains(c), mark.right) for (c, _), mark in pairs])
    return told


def _measured(case: Case) -> bool:
    return bool(case.queries[0].evidence) and not abstains(case)


def _counts(asked: Sequence[Asked]) -> dict[str, Any]:
    kinds = [each.case.queries[0].kind for each in asked]
    return {
        "all": len(asked),
        "measured": sum(_measured(each.case) for each in asked),
        "abstention": sum(abstains(each.case) for each in asked),
        "by_type": {kind: kinds.count(kind) for kind in TYPES},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m training.benchmarks.longmemeval", description="LongMemEval.")
    parser.add_argument("--data", type=Path, required=True, help="a file in LongMemEval form")
    parser.add_argument("--conversations", default="", help="how many items, or their ids with commas between them")
    parser.add_argument("--roles", choices=("user", "all"), default="user", help="whose turns are stored")
    parser.add_argument("--hypotheses", type=Path, help="a folder for the answers in the form of the official judge")
    flags(parser, "dense,bm25,rrf,seem", ",".join(map(str, KS)))
    given = parser.parse_args(arguments)
    try:
        config = Config.load(given.config)
        plan = planned(given, config)
        judge = load_judge(given.judge) if given.judge else None
        errata = read_errata(given.errata) if given.errata else None
        cases = chosen(load(given.data, given.roles), given.conversations)
        with tempfile.TemporaryDirectory(prefix="seem-longmemeval-") as temporary:
            folder = given.cache or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            report = measure(cases, plan, ready(config, plan), folder, judge, errata)
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    given.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if given.report:
        given.report.mkdir(parents=True, exist_ok=True)
        (given.report / "report.md").write_text(f"# LongMemEval\n\n{tables(report)}\n", encoding="utf-8")
    if given.hypotheses:
        _write_hypotheses(report, given.hypotheses)
    print(tables(report))
    return 0


def _write_hypotheses(report: Mapping[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for method, told in report["methods"].items():
        lines = [json.dumps(line, ensure_ascii=False) for line in told.get("answers", {}).get("hypotheses", ())]
        (folder / f"{method}.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
