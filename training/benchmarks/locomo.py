"""Evidence recall on LoCoMo: ``python -m training.benchmarks.locomo --data FILE --json OUT``.

Takes a file in LoCoMo form, which is read where it lies; each conversation becomes a memory of its own, by the
product's own import. Prints the recall table, by turn, and writes every figure as JSON. With ``--answers``, the
configured model also answers every question from our context.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from seem.config import Config
from seem.errors import InputError, ModelError, SeemError
from seem.wiring import Parts
from training.benchmarks.locomo_data import Sample, check_categories, load
from training.benchmarks.locomo_import import import_sample, models_only, to_stderr
from training.benchmarks.locomo_methods import Imported, check_methods, find, needs_models, options
from training.benchmarks.locomo_report import Asked, method_figures, question_counts, tables
from training.benchmarks.locomo_scores import Average, constant_baseline, score_answers


def measure(
    data: Path,
    methods: Sequence[str],
    ks: Sequence[int],
    models: Parts,
    folder: Path,
    *,
    conversations: str = "",
    answers: bool = False,
) -> dict[str, Any]:
    """Import the conversations into ``folder`` and ask every question with every method; give the report."""
    check_methods(methods)
    if answers and models.reader is None:
        raise ModelError("--answers needs a model that answers, but answer.engine is none; set it to local or endpoint")
    sha = hashlib.sha256(data.read_bytes()).hexdigest() if data.is_file() else ""
    samples = _chosen(load(data), conversations)
    check_categories(samples)
    raw = _raw(data)
    asked: list[Asked] = []
    imports: dict[str, Any] = {}
    said: list[str] = []
    for number, sample in enumerate(samples, 1):
        to_stderr(f"{sample.id}: conversation {number} of {len(samples)}")
        imported = import_sample(raw[sample.id], models, folder, sha, to_stderr)
        asked += _ask(sample, imported, methods, ks)
        said += _answers(sample, imported, models) if answers else []
        imports[sample.id] = _import_figures(imported)
        imported.pipeline.parts.store.close()
    report = {
        "methods": {name: method_figures(asked, name, ks) for name in methods},
        "questions": question_counts(asked),
        "import": {**_totals(imports), "conversations": imports},
        "settings": _settings(models, data, sha, ks),
    }
    if answers:
        report["answers"] = _answer_figures(asked, said, models)
    return report


def _ask(sample: Sample, imported: Imported, methods: Sequence[str], ks: Sequence[int]) -> list[Asked]:
    asked = []
    for number, question in enumerate(sample.questions, 1):
        found = {name: find(name, imported, question.text, ks) for name in methods}
        asked.append(Asked(sample.id, question, found))
        if number % 50 == 0:
            to_stderr(f"{sample.id}: {number}/{len(sample.questions)} questions")
    return asked


def _answers(sample: Sample, imported: Imported, models: Parts) -> list[str]:
    """Answer every question from the context that our own search gives."""
    reader = models.reader
    assert reader is not None
    said = []
    for number, question in enumerate(sample.questions, 1):
        chosen = options("seem", imported.pipeline, models.config.search.top_k)
        context = imported.pipeline.recall(imported.memory, question.text, chosen)
        said.append(reader.answer(question.text, context.text))
        if number % 20 == 0:
            to_stderr(f"{sample.id}: {number}/{len(sample.questions)} answers")
    return said


def _answer_figures(asked: Sequence[Asked], said: Sequence[str], models: Parts) -> dict[str, Any]:
    questions = [a.question for a in asked]
    return {
        "model": models.reader.name if models.reader else "none",
        "k": models.config.search.top_k,
        "scores": _averages(score_answers(questions, said)),
        "always_not_mentioned": _averages(constant_baseline(questions)),
        "texts": [
            {"conversation": a.conversation, "question": a.question.text, "gold": a.question.answer, "answer": text}
            for a, text in zip(asked, said, strict=True)
        ],
    }


def _averages(scores: dict[str, Average]) -> dict[str, Any]:
    return {
        name: {"mean": s.mean, "by_category": {str(n): mean for n, (mean, _) in s.by_category.items()}}
        for name, s in scores.items()
    }


def _import_figures(imported: Imported) -> dict[str, Any]:
    passages = imported.counts["passages"]
    rate = passages / imported.seconds if imported.seconds else 0.0
    return {
        "seconds": imported.seconds,
        "passages_per_second": rate,
        "problems": list(imported.problems),
        **imported.counts,
    }


def _totals(imports: dict[str, Any]) -> dict[str, Any]:
    names = [n for n in next(iter(imports.values())) if n not in ("problems", "passages_per_second")]
    totals = {name: sum(each[name] for each in imports.values()) for name in names}
    rate = totals["passages"] / totals["seconds"] if totals["seconds"] else 0.0
    slowest = max(each["seconds"] for each in imports.values())
    return {**totals, "passages_per_second": rate, "slowest_seconds": slowest}


def _settings(models: Parts, data: Path, sha: str, ks: Sequence[int]) -> dict[str, Any]:
    return {
        "data": data.name,
        "data_sha256": sha,
        "k": list(ks),
        "extractor": models.extractor.name if models.extractor else "none",
        "judge": models.judge.name if models.judge else "none",
        "judge_threshold": models.judge.threshold if models.judge else None,
        "encoder": models.encoder.fingerprint,
        "config": models.config.to_dict(),
        "threads": torch.get_num_threads(),
        "processors": os.cpu_count(),
        "load_average": list(os.getloadavg()),
    }


def _chosen(samples: list[Sample], conversations: str) -> list[Sample]:
    """Give the first N samples, those named, or all."""
    if not samples:
        raise InputError("the file holds no conversation")
    if not conversations:
        return samples
    if conversations.isdigit():
        return samples[: max(1, int(conversations))]
    wanted = [name.strip() for name in conversations.split(",")]
    if missing := sorted(set(wanted) - {sample.id for sample in samples}):
        raise InputError(f"no conversation {missing[0]!r} in the file; it holds {', '.join(s.id for s in samples)}")
    return [sample for sample in samples if sample.id in wanted]


def _raw(data: Path) -> dict[str, Any]:
    told = json.loads(data.read_text(encoding="utf-8"))
    return {str(sample["sample_id"]): sample for sample in (told if isinstance(told, list) else [told])}


def _numbers(text: str) -> list[int]:
    try:
        ks = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise InputError(f"--k must be whole numbers with commas between them, not {text!r}") from None
    if not ks or ks[0] < 1:
        raise InputError(f"--k must be at least 1, not {text!r}")
    return ks


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.benchmarks.locomo", description="Evidence recall on LoCoMo."
    )
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo form")
    parser.add_argument("--methods", default="dense,bm25,rrf,seem", help="also seem-no-facts, -frames, -walk, -expand")
    parser.add_argument("--json", type=Path, required=True, help="where the figures are written")
    parser.add_argument("--k", default="5,10,20", help="passages handed to the reader")
    parser.add_argument("--cache", type=Path, help="keep the imported memories here; empty it after a change of code")
    parser.add_argument("--config", type=Path, help="a configuration of seem; none: the defaults")
    parser.add_argument("--conversations", default="", help="how many, or their ids with commas between them")
    parser.add_argument("--answers", action="store_true", help="also answer every question and score the answers")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print and write."""
    given = _parser().parse_args(arguments)
    methods = [name.strip() for name in given.methods.split(",")]
    try:
        ks = _numbers(given.k)
        check_methods(methods)
        models = models_only(Config.load(given.config), extract=needs_models(methods) or given.answers)
        with tempfile.TemporaryDirectory(prefix="seem-locomo-") as temporary:
            folder = given.cache or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            report = measure(
                given.data, methods, ks, models, folder, conversations=given.conversations, answers=given.answers
            )
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    given.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(tables(report, ks))
    return 0


if __name__ == "__main__":
    sys.exit(main())
