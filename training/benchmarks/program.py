"""What the benchmarks' command lines share: their flags, and the way from cases to a report.

Takes a benchmark with its cases and what was asked for; gives the report, writes it as JSON, table, Markdown and plots.
Knows nothing about any one benchmark's files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from seem.config import Config
from seem.errors import InputError, SeemError
from seem.prompts.answer import NOT_MENTIONED
from seem.wiring import Parts
from training.benchmarks.cases import Bench, Case
from training.benchmarks.errata import Errata, corrected, listing, read_errata
from training.benchmarks.figures import (
    answer_figures,
    import_figures,
    marked_figures,
    method_figures,
    question_counts,
    said_figures,
)
from training.benchmarks.judging import EndpointJudge, load_judge
from training.benchmarks.kept import Kept
from training.benchmarks.memories import models_only
from training.benchmarks.meter import meter
from training.benchmarks.methods import METHODS, check_methods, needs_models
from training.benchmarks.report import write_report
from training.benchmarks.run import Asked, Plan, run
from training.benchmarks.tables import tables

PARTS = 4


def measure(
    bench: Bench,
    cases: Sequence[Case],
    plan: Plan,
    models: Parts,
    folder: Path,
    *,
    judge: EndpointJudge | None = None,
    errata: Errata | None = None,
) -> dict[str, Any]:
    """Run the plan on the cases with memories and results in ``folder``; give the report.

    With ``errata`` the scores by corrected labels stand beside the raw ones.
    """
    if not cases:
        raise InputError("there is no conversation to measure on")
    wrong = listing(cases, errata) if errata else None
    check_methods(plan.methods, plan.http, gold=all(case.gold is not None for case in cases))
    asked = run(cases, plan, models, folder)
    report: dict[str, Any] = {
        "benchmark": bench.name,
        "methods": {name: method_figures(asked, name, plan.ks, bench) for name in plan.methods},
        "questions": question_counts(asked, bench),
        "import": import_figures(asked),
        "settings": settings(models, plan, [case.data for case in cases]),
    }
    if plan.answer_k:
        right = corrected(asked, errata) if errata else None
        for name, told in report["methods"].items():
            told["answers"] = {"k": plan.answer_k, "model": models.reader.name if models.reader else "none"}
            told["answers"] |= said_figures(asked, name, bench)
            told["answers"] |= {"corrected": said_figures(right, name, bench)["scores"]} if right else {}
            if judge is not None:
                told["answers"] |= {"judge": judge.name}
                told["answers"]["scores"]["judge"] = _marked(asked, name, bench, judge, folder)
                if right:
                    told["answers"]["corrected"]["judge"] = _marked(right, name, bench, judge, folder)
        report["always_not_mentioned"] = _constant(asked, bench)
        report |= {"always_not_mentioned_corrected": _constant(right, bench)} if right else {}
    return report | ({"errata": wrong} if wrong else {})


def _constant(asked: Sequence[Asked], bench: Bench) -> dict[str, Any]:
    """Give the scores of the constant answer «Not mentioned»."""
    queries = [query for each in asked for query in each.case.queries]
    return answer_figures(queries, [NOT_MENTIONED] * len(queries), bench)


def _marked(asked: Sequence[Asked], method: str, bench: Bench, judge: EndpointJudge, folder: Path) -> dict[str, Any]:
    pairs = [
        (query.kind, marking)
        for each in asked
        for query, said in zip(each.case.queries, each.outcomes[method].said, strict=True)
        if (marking := bench.marking(query, said.text)) is not None
    ]
    marks = judge.mark([marking for _, marking in pairs], Kept(folder / "judged.jsonl"), name=method)
    right = [(kind, float(mark.right)) for (kind, _), mark in zip(pairs, marks, strict=True)]
    return marked_figures(right, bench, unreadable=sum(not mark.readable for mark in marks))


def settings(models: Parts, plan: Plan, data: Sequence[str]) -> dict[str, Any]:
    """Give all that decided the figures, the state of the machine included."""
    return {
        "data_sha256": sorted(set(data)),
        "k": list(plan.ks),
        "context_tokens": plan.tokens,
        "mode": "batch" if plan.parts == 1 else f"incremental in {plan.parts} parts",
        "extractor": models.extractor.name if models.extractor else "none",
        "judge": models.judge.name if models.judge else "none",
        "judge_threshold": models.judge.threshold if models.judge else None,
        "encoder": models.encoder.fingerprint,
        "config": models.config.to_dict(),
        "threads": torch.get_num_threads(),
        "processors": os.cpu_count(),
        "load_average": list(os.getloadavg()),
        "wait_policy": os.environ.get("OMP_WAIT_POLICY", ""),
    }


def flags(parser: argparse.ArgumentParser, methods: str, ks: str = "5,10,20") -> None:
    """Add the flags that every benchmark has; ``methods`` and ``ks`` stand where none are named."""
    parser.add_argument("--methods", default=methods, help=f"with commas between them, of {', '.join(METHODS)}")
    parser.add_argument("--json", type=Path, required=True, help="where the figures are written")
    parser.add_argument("--k", default=ks, help="budgets of passages handed to the reader, expansion included")
    parser.add_argument("--tokens", type=int, help="budget of the context's tokens; none: search.context_tokens")
    parser.add_argument(
        "--mode", choices=("batch", "incremental"), default="batch", help=f"at once, or in {PARTS} parts"
    )
    parser.add_argument("--cache", type=Path, help="keep memories and results here; a killed run goes on from them")
    parser.add_argument("--config", type=Path, help="a configuration of seem; none: the defaults")
    parser.add_argument("--http", default="", help="address of another memory, for the method http")
    parser.add_argument("--answer", action="store_true", help="answer every question with every method, and score it")
    parser.add_argument("--judge", type=Path, help="also have a large model mark the answers; a configuration")
    parser.add_argument(
        "--errata", type=Path, help="also score by corrected labels; a file of training.benchmarks.errata"
    )
    parser.add_argument("--report", type=Path, help="a folder for a Markdown report and plots")


def drive(given: argparse.Namespace, bench: Bench, cases: Callable[[], Sequence[Case]], command: Sequence[str]) -> int:
    """Read what the flags say, measure, print and write; give the exit status."""
    try:
        config = Config.load(given.config)
        plan = planned(given, config)
        judge = load_judge(given.judge) if given.judge else None
        errata = read_errata(given.errata) if given.errata else None
        found = cases()
        models = ready(config, plan)
        with tempfile.TemporaryDirectory(prefix="seem-benchmark-") as temporary:
            folder = given.cache or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            report = measure(bench, found, plan, models, folder, judge=judge, errata=errata)
        given.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        if given.report:
            write_report(report, plan.ks, bench, given.report, command)
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    print(tables(report, plan.ks, bench))
    return 0


def ready(config: Config, plan: Plan) -> Parts:
    """Give the models that a plan needs, the generating one with its tokens counted."""
    models = models_only(config, extract=needs_models(plan.methods))
    c = models.config
    if c.extract.engine == "local" or (plan.answer_k and c.answer.engine == "local"):
        meter(models)
    return models


def planned(given: argparse.Namespace, config: Config) -> Plan:
    """Give the plan that the flags ask for; raise InputError where they cannot be used."""
    methods = tuple(dict.fromkeys(name.strip() for name in given.methods.split(",")))
    # Whether the data has labels shows when it is read.
    check_methods(methods, given.http, gold=True)
    if (given.judge or given.errata) and not given.answer:
        raise InputError("--judge and --errata are about answers: give --answer too")
    budget = config.search.context_tokens if given.tokens is None else given.tokens
    if budget < 1:
        raise InputError(f"--tokens must be at least 1, not {budget}")
    return Plan(
        methods,
        numbers(given.k),
        budget,
        http=given.http,
        parts=PARTS if given.mode == "incremental" else 1,
        answer_k=config.search.top_k if given.answer else 0,
    )


def numbers(text: str) -> tuple[int, ...]:
    """Read budgets such as ``5,10,20``; raise InputError where they are none."""
    try:
        ks = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise InputError(f"--k must be whole numbers with commas between them, not {text!r}") from None
    if not ks or ks[0] < 1:
        raise InputError(f"--k must be at least 1, not {text!r}")
    return tuple(ks)


def file_hash(path: Path) -> str:
    """Give the hash of a file; empty where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def chosen(cases: Sequence[Case], wanted: str) -> list[Case]:
    """Give the first N cases, those named with commas between them, or all."""
    if not wanted:
        return list(cases)
    if wanted.isdigit():
        return list(cases[: max(1, int(wanted))])
    names = [name.strip() for name in wanted.split(",")]
    if missing := sorted(set(names) - {case.id for case in cases}):
        raise InputError(f"no conversation {missing[0]!r} in the data; it holds {', '.join(c.id for c in cases)}")
    return [case for case in cases if case.id in names]
