"""A query parser on labelled questions: ``python -m training.evaluate.parse --adapter runs/parse``.

Takes a split's questions; compares the patterns with the labels, and the evidence that a memory of the labels finds with the parser and without: the
latter decides whether ``parse.engine`` may name it. Knows nothing about training.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from scipy.optimize import linear_sum_assignment

from seem.config import Config
from seem.errors import ConfigError, SeemError
from seem.models.protocols import Encoder, QueryParser
from seem.pipeline import Options, Pipeline
from seem.prompts.parse import OPEN
from seem.types import Fact
from seem.wiring import Parts
from training.benchmarks.averages import bootstrap, evidence_recall
from training.corpus import CORPUS, Conversation, Question, Split, split
from training.evaluate.metrics import score, token_f1
from training.examples.answer import LabelExtractor, drafts
from training.examples.parse import projected

TOP_K = 10
LEVEL = 0.9
STRICT = 0.8


class KnownPatterns:
    """A parser that has been asked already."""

    def __init__(self, name: str, patterns: Mapping[str, Sequence[Fact]]) -> None:
        """Take the patterns by question."""
        self.name = name
        self._patterns = patterns

    def parse(self, question: str) -> list[Fact]:
        """Look the question up."""
        return list(self._patterns[question])


def report(conversations: Sequence[Conversation], parser: QueryParser, encoder: Encoder) -> dict[str, Any]:
    """Measure a parser on every question, and its use on those that have evidence."""
    questions = [q for c in conversations for q in c.questions]
    begun = time.monotonic()
    said = {q.question: parser.parse(q.question) for q in questions}
    seconds = time.monotonic() - begun
    known = KnownPatterns(parser.name, said)
    gains, recalls = [], []
    for conversation in conversations:
        found = _recalled(conversation, known, encoder)
        recalls += found
        gains.append([with_ - without for with_, without in found])
    low, high = bootstrap(gains, level=LEVEL)
    return {
        "parser": parser.name,
        "questions": len(questions),
        "seconds": seconds,
        **pattern_figures(questions, said),
        "with_evidence": len(recalls),
        f"evidence_recall_{TOP_K}": _mean([r for r, _ in recalls]),
        f"evidence_recall_{TOP_K}_without": _mean([r for _, r in recalls]),
        "recall_gain_interval": [low, high],
        "wins": low > 0,
    }


def pattern_figures(questions: Sequence[Question], said: Mapping[str, Sequence[Fact]]) -> dict[str, Any]:
    """Give precision, recall and F1 of the patterns: soft, strict, and of their ends alone; and the ceiling of copying."""
    gold = {q.question: [Fact(*f) for f in q.facts] for q in questions}
    copied = {q: projected(q, facts)[0] for q, facts in gold.items()}
    return {
        "soft": asdict(_matched(gold, said, lambda a, b: _alike(a, b, "subject", "relation", "object"))),
        "strict": asdict(
            _matched(gold, said, lambda a, b: float(_alike(a, b, "subject", "relation", "object") >= STRICT))
        ),
        "ends": asdict(_matched(gold, said, lambda a, b: _alike(a, b, "subject", "object"))),
        "soft_ceiling": asdict(_matched(gold, copied, lambda a, b: _alike(a, b, "subject", "relation", "object"))),
        "without_pattern": sum(not said[q] for q in gold),
    }


def _matched(gold: Mapping[str, Sequence[Fact]], said: Mapping[str, Sequence[Fact]], alike: Any) -> Any:
    """Match the patterns of each question so that the credit is highest."""
    credit, predicted, support = 0.0, 0, 0
    for question, wanted in gold.items():
        found = said[question]
        predicted, support = predicted + len(found), support + len(wanted)
        if found and wanted:
            credits = np.array([[alike(a, b) for b in wanted] for a in found])
            credit += float(credits[linear_sum_assignment(credits, maximize=True)].sum())
    return score(credit, predicted, support)


def _alike(a: Fact, b: Fact, *parts: str) -> float:
    """Give the mean token F1 of the parts; what is open in one and known in the other gives none."""
    pairs = [(getattr(a, part), getattr(b, part)) for part in parts]
    return _mean([float(x == y) if OPEN in (x, y) else token_f1(x, y) for x, y in pairs])


def _recalled(conversation: Conversation, parser: QueryParser, encoder: Encoder) -> list[tuple[float, float]]:
    """Give the share of the evidence found with and without the parser, for each question that has some."""
    asked = [q for q in conversation.questions if q.evidence and q.type != "adversarial"]
    with tempfile.TemporaryDirectory() as folder:
        config = Config.from_dict({"data_dir": folder, "judge": {"engine": "none"}})
        plain = Parts(config, encoder=encoder, extractor=LabelExtractor(conversation))
        parsing = Parts(config, store=plain.store, encoder=encoder, extractor=plain.extractor, parser=parser)
        Pipeline(plain).remember(conversation.id, list(drafts(conversation)))
        arms = (Pipeline(parsing), Pipeline(plain))
        found = [tuple(_share(pipeline, conversation.id, q) for pipeline in arms) for q in asked]
        plain.store.close()
    return [(with_, without) for with_, without in found]


def _share(pipeline: Pipeline, memory: str, q: Question) -> float:
    hits = pipeline.recall(memory, q.question, Options(top_k=TOP_K)).hits
    return evidence_recall(q.evidence, [str(h.passage.metadata["turn"]) for h in hits])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def table(figures: Mapping[str, Any]) -> str:
    """Tell the figures, and what follows from them."""
    rows = [f"parser: {figures['parser']}, {figures['questions']} questions in {figures['seconds']:.0f} s"]
    for name in ("soft", "strict", "ends", "soft_ceiling"):
        told = figures[name]
        rows.append(f"{name:14} precision {told['precision']:.3f} recall {told['recall']:.3f} F1 {told['f1']:.3f}")
    low, high = figures["recall_gain_interval"]
    with_, without = figures[f"evidence_recall_{TOP_K}"], figures[f"evidence_recall_{TOP_K}_without"]
    rows.append(
        f"evidence recall at {TOP_K}: {with_:.3f}, without {without:.3f}; gain {low:+.3f} to {high:+.3f} ({LEVEL:.0%})"
    )
    rows.append(
        "the parser wins: parse.engine may name it"
        if figures["wins"]
        else "the parser does not win: parse.engine: none"
    )
    return "\n".join(rows)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluate.parse", description="A query parser on labelled questions."
    )
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a folder of labelled conversations with a split")
    parser.add_argument("--split", choices=get_args(Split), default="dev")
    parser.add_argument("--adapter", help="the tuned parser: a name in seem/adapters, or a folder")
    parser.add_argument("--config", type=Path, help="a configuration of seem whose parser is measured")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print and write."""
    given = _arguments().parse_args(arguments)
    try:
        config = Config.load(given.config)
        if given.adapter:
            config = replace(config, parse=replace(config.parse, engine="tuned", adapter=given.adapter))
        parts = Parts(config)
        if parts.parser is None:
            raise ConfigError(
                "there is no parser to measure: give --adapter, or a --config whose parse.engine is not none"
            )
        figures = report(split(cast(Split, given.split), given.corpus), parts.parser, parts.encoder)
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
