"""The six tasks: what each asks about an input, as jobs for the teacher.

Takes sources or rows, gives jobs, each with the input that its label is written beside. Knows nothing about asking or files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

from seem.errors import InputError
from seem.prompts.schemas import EXTRACT, FUSE, JUDGE, PARSE, ROUTE, Schema
from seem.prompts.texts import (
    Messages,
    answer_messages,
    extract_messages,
    fuse_messages,
    judge_messages,
    question_messages,
    spoken,
)
from seem.types import Extraction, Passage
from training.teacher.labels import fused_label, patterns, reply_label, route_label, turn_label, verdict
from training.teacher.settings import Answers
from training.teacher.solve import Check, Job
from training.teacher.sources import Source, moment, note, read_sources, rows

Task = Literal["extract", "judge", "fuse", "parse", "route", "answer"]
TASKS: tuple[Task, ...] = get_args(Task)
Side = tuple[Passage, Extraction]


@dataclass(frozen=True, slots=True)
class Input:
    """One job, and what its label is written beside."""

    job: Job
    about: Mapping[str, Any]


def inputs(task: Task, path: Path, answers: Answers) -> Iterator[Input]:
    """Give the jobs of a task over IN; raise InputError that names what cannot be used."""
    if task == "extract":
        for found in read_sources(path):
            yield from turn_inputs(found, answers)
    elif task in ("judge", "fuse"):
        yield from _notes(task, path, answers)
    else:
        yield from _questions(task, path, answers)


def turn_inputs(found: Source, answers: Answers) -> Iterator[Input]:
    """Give one extraction job a turn; its id is the conversation's and the turn's."""
    speakers = [str(s) for s in found.raw["speakers"]]
    for n, passage in enumerate(found.passages):
        before = found.before(n)

        def check(
            answer: Mapping[str, Any], passage: Passage = passage, before: Sequence[Passage] = before
        ) -> tuple[Any, list[str]]:
            return turn_label(answer, passage, before, speakers)

        job = _job(
            f"{passage.memory}/{passage.id}",
            "extract",
            extract_messages(passage, before, speakers),
            EXTRACT,
            check,
            answers,
        )
        yield Input(job, {"turn": passage.id})


def _notes(task: Task, path: Path, answers: Answers) -> Iterator[Input]:
    groups = _groups_of_folder(task, path) if path.is_dir() or path.suffix == ".json" else _groups_of_rows(task, path)
    for name, about, sides in groups:
        if task == "judge":
            yield Input(_job(name, task, judge_messages(sides[0], sides[1]), JUDGE, verdict, answers), about)
            continue
        passages = [p for p, _ in sides]

        def check(answer: Mapping[str, Any], passages: Sequence[Passage] = passages) -> tuple[Any, list[str]]:
            return fused_label(answer, passages)

        yield Input(_job(name, task, fuse_messages(sides), FUSE, check, answers), about)


def _groups_of_folder(task: Task, path: Path) -> Iterator[tuple[str, dict[str, Any], list[Side]]]:
    """Fuse: the occurrences. Judge: their pairs, the distinct ones, and each framed turn with the two framed before it."""
    for found in read_sources(path):
        sides = found.sides()
        occurrences = [[t for t in o["turns"] if t in sides] for o in found.raw.get("occurrences", ())]
        groups: Iterable[tuple[str, ...]] = [tuple(o) for o in occurrences if len(o) > 1]
        if task == "judge":
            order = list(sides)
            pairs = [pair for group in groups for pair in combinations(group, 2)]
            pairs += [(d["a"], d["b"]) for d in found.raw.get("distinct", ()) if d["a"] in sides and d["b"] in sides]
            pairs += [(order[m], order[n]) for n in range(len(order)) for m in range(max(0, n - 2), n)]
            groups = dict.fromkeys(tuple(sorted(pair, key=order.index)) for pair in pairs)
        for turns in groups:
            about: dict[str, Any] = {"conversation": found.raw["id"], "turns": list(turns)}
            yield f"{found.raw['id']}/{'+'.join(turns)}", about, [sides[t] for t in turns]


def _groups_of_rows(task: Task, path: Path) -> Iterator[tuple[str, dict[str, Any], list[Side]]]:
    """Read rows ``{"id"?, "notes": [{"speaker", "time", "text", "image"?, "frame", "facts"?}, …]}``; two for the judge."""
    for n, row in rows(path, ("notes",)):
        name = str(row.get("id", n))
        try:
            sides = [_side(f"{name}:{m}", m, told) for m, told in enumerate(row["notes"], 1)]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            why = f"{type(error).__name__}: {error}"
            raise InputError(f"{path}, line {n}: a note has speaker, time, text and frame ({why}).") from error
        if len(sides) < 2 or (task == "judge" and len(sides) != 2):
            wanted = "two" if task == "judge" else "two or more"
            raise InputError(f"{path}, line {n}: {wanted} notes are needed, not {len(sides)}.")
        yield name, row, sides


def _side(name: str, position: int, told: Mapping[str, Any]) -> Side:
    time = moment(told["time"]) if told.get("time") else None
    return Passage(name, "", told["text"], position, told["speaker"], "", time, told.get("image") or ""), note(
        name, told
    )


def _questions(task: Task, path: Path, answers: Answers) -> Iterator[Input]:
    for name, about, question, context in _asked(task, path):
        if task == "answer":
            yield Input(_job(name, task, answer_messages(question, context), None, reply_label, answers), about)
        elif task == "route":
            yield Input(_job(name, task, question_messages("route", question), ROUTE, route_label, answers), about)
        else:

            def check(answer: Mapping[str, Any], question: str = question) -> tuple[Any, list[str]]:
                return patterns(answer, question)

            yield Input(_job(name, task, question_messages("parse", question), PARSE, check, answers), about)


def _asked(task: Task, path: Path) -> Iterator[tuple[str, dict[str, Any], str, str]]:
    """Give name, input, question and context.

    A folder's questions are answered from their whole conversation, rows ``{"id"?, "question", "context"}`` from theirs.
    """
    if path.is_dir() or path.suffix == ".json":
        for found in read_sources(path):
            context = "\n".join(f"[{p.id}] {p.time:%Y-%m-%d} {spoken(p)}" for p in found.passages)
            for asked in found.raw.get("questions", ()):
                about = {"conversation": found.raw["id"], "id": asked["id"], "question": asked["question"]}
                yield f"{found.raw['id']}/{asked['id']}", about, asked["question"], context
        return
    for n, row in rows(path, ("question", "context") if task == "answer" else ("question",)):
        yield str(row.get("id", n)), row, str(row["question"]), str(row.get("context", ""))


def _job(name: str, task: Task, messages: Messages, schema: Schema | None, check: Check, answers: Answers) -> Job:
    return Job(name, task, messages, schema, check, answers.max_tokens, answers.temperature, answers.attempts)
