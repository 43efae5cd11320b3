"""LoCoMo: ``python -m training.benchmarks.locomo --data FILE --json OUT``.

Takes a file in LoCoMo form, which is read where it lies; each conversation becomes a memory of its own, by the product's
own import. Measures evidence recall by turn for methods side by side; with ``--answer``, also the answers, by the
benchmark's own F1, by the A-MEM/Mem0 harness's F1 and BLEU-1, and, with ``--judge``, by a large model.

Questions are asked as they stand in the file: no category is told to the reader, and an adversarial question is open,
where the official program offers its answer and the trap for choice. Figures of such answers are harder to reach.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from seem.sources import locomo
from seem.sources.drafts import Problem
from training.benchmarks.cases import Bench, Case, Query
from training.benchmarks.judging import Marking
from training.benchmarks.locomo_data import ADVERSARIAL, CATEGORIES, Question, check_categories, load
from training.benchmarks.locomo_scores import REPORT_ORDER, score_answer
from training.benchmarks.program import chosen, drive, file_hash, flags

LABEL = "dia_id"


def scores(query: Query, text: str) -> dict[str, float]:
    """Score one answer every way."""
    return score_answer(Question(query.text, query.answer, query.evidence, int(query.kind), query.trap), text)


def marking(query: Query, text: str) -> Marking | None:
    """Give what the judge is asked; adversarial questions are not judged, as in the harness."""
    if query.kind == BENCH.apart:
        return None
    return Marking("locomo", "label", (("question", query.text), ("right_answer", query.answer), ("answer", text)))


BENCH = Bench("LoCoMo", {str(n): CATEGORIES[n] for n in REPORT_ORDER}, str(ADVERSARIAL), scores, marking)


def cases(data: Path) -> list[Case]:
    """Read a file; InputError where it is not in LoCoMo form or numbers its categories otherwise."""
    samples = load(data)
    check_categories(samples)
    told = json.loads(data.read_text(encoding="utf-8"))
    raw = {str(each["sample_id"]): each for each in (told if isinstance(told, list) else [told])}
    data_hash = file_hash(data)
    found = []
    for sample in samples:
        problems: list[Problem] = []
        drafts = tuple(locomo.read(raw[sample.id], problems))
        why = [p.why for p in problems]
        why += [f"the evidence {each!r} of {q.text!r} names no turn" for q in sample.questions for each in q.unknown]
        queries = tuple(Query(q.text, q.answer, q.evidence, str(q.category), q.trap) for q in sample.questions)
        found.append(Case(sample.id, drafts, queries, LABEL, data_hash, problems=tuple(why)))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print and write."""
    parser = argparse.ArgumentParser(
        prog="python -m training.benchmarks.locomo", description="LoCoMo, method by method."
    )
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo form")
    parser.add_argument("--conversations", default="", help="how many, or their ids with commas between them")
    flags(parser, "dense,bm25,rrf,seem")
    given = parser.parse_args(arguments)
    command = [parser.prog, *(sys.argv[1:] if arguments is None else arguments)]
    return drive(given, BENCH, lambda: chosen(cases(given.data), given.conversations), command)


if __name__ == "__main__":
    sys.exit(main())
