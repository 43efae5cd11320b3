"""The corpus as a benchmark: ``python -m training.benchmarks.corpus --split test --json OUT``.

Takes labelled conversations; each becomes a memory of its own. The same methods, figures and tables as for LoCoMo, by
type of question; ``seem-gold`` reads what the teacher's labels say instead of the students', the ceiling. Answers are
scored by plain token F1, the A-MEM/Mem0 harness's F1 and BLEU-1; adversarial ones by abstaining.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seem.models.protocols import JudgeInput
from training.benchmarks.cases import Bench, Case, Query
from training.benchmarks.judging import Marking
from training.benchmarks.kept import digest
from training.benchmarks.locomo_data import ADVERSARIAL, NOT_MENTIONED, Question
from training.benchmarks.locomo_scores import adversarial_score, bleu1, exact_match, harness_f1, token_f1
from training.benchmarks.program import chosen, drive, flags
from training.corpus import CORPUS, Conversation
from training.evaluate.program import chosen as chosen_split
from training.examples.answer import LabelExtractor, drafts

LABEL = "turn"
TYPES = ("single-hop", "multi-hop", "temporal", "open-domain", "update", "adversarial")


class LabelJudge:
    """Says of two turns what the labels say: the same occurrence or not."""

    name = "teacher"
    threshold = 0.5

    def __init__(self, conversation: Conversation) -> None:
        """Take the labels."""
        self._same = {
            frozenset((a, b))
            for occurrence in conversation.occurrences
            for a in occurrence.turns
            for b in occurrence.turns
        }

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> npt.NDArray[np.float64]:
        """Give 1 for turns of one occurrence, else 0."""
        turns = [frozenset(str(passage.metadata[LABEL]) for passage, _ in pair) for pair in pairs]
        return np.array([float(pair in self._same) for pair in turns])


def scores(query: Query, text: str) -> dict[str, float]:
    """Score one answer every way; an adversarial one is right where it abstains or denies the premise."""
    if query.kind == BENCH.apart:
        right = adversarial_score(Question(query.text, query.answer, (), ADVERSARIAL), text)
        return dict.fromkeys(("f1", "exact", "harness_f1", "bleu1"), right)
    return {
        "f1": token_f1(text, query.answer),
        "exact": exact_match(text, query.answer),
        "harness_f1": harness_f1(text, query.answer),
        "bleu1": bleu1(text, query.answer),
    }


def marking(query: Query, text: str) -> Marking | None:
    """Give what the judge is asked, by LoCoMo's prompt; adversarial questions are not judged."""
    if query.kind == BENCH.apart:
        return None
    return Marking("locomo", "label", (("question", query.text), ("right_answer", query.answer), ("answer", text)))


BENCH = Bench("The corpus", {name: name for name in TYPES}, "adversarial", scores, marking)


def case(conversation: Conversation) -> Case:
    """Give a conversation as a case, its labels as gold."""
    queries = tuple(
        Query(q.question, NOT_MENTIONED if q.type == "adversarial" else q.answer, q.evidence, q.type)
        for q in conversation.questions
    )
    gold = (LabelExtractor(conversation), LabelJudge(conversation))
    data = digest([repr(turn) for turn in conversation.turns], repr(conversation.occurrences))
    return Case(conversation.id, tuple(drafts(conversation)), queries, LABEL, data, gold=gold)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print and write."""
    parser = argparse.ArgumentParser(
        prog="python -m training.benchmarks.corpus", description="The corpus's questions, method by method."
    )
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a folder of labelled conversations")
    parser.add_argument("--split", choices=("train", "dev", "test", "all"), default="test")
    parser.add_argument("--conversations", default="", help="how many, or their ids with commas between them")
    flags(parser, "dense,bm25,rrf,graph,seem,seem-gold")
    given = parser.parse_args(arguments)
    command = [parser.prog, *(sys.argv[1:] if arguments is None else arguments)]

    def cases() -> list[Case]:
        return chosen([case(each) for each in chosen_split(given.corpus, given.split, None)], given.conversations)

    return drive(given, BENCH, cases, command)


if __name__ == "__main__":
    sys.exit(main())
