"""LongMemEval files into cases: an item is a question with a haystack of sessions, and becomes a memory of its own.

Takes the benchmark's own JSON (Wu et al., ICLR 2025), which is read where it lies. Evidence are the user's turns that are
marked in it; the mark itself never reaches a memory. The index holds the user's turns alone, as the published retrieval
does, or both sides'. Knows nothing about methods or scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from seem.errors import InputError
from seem.sources import longmemeval
from seem.sources.drafts import Problem
from seem.sources.files import read_json
from training.benchmarks.cases import Case, Query
from training.benchmarks.kept import digest

Roles = Literal["user", "all"]

TYPES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
)
LABEL = "turn"
ABSTENTION = "_abs"


def load(path: Path, roles: Roles = "user") -> list[Case]:
    """Read a file; InputError where it is missing, no JSON, or not in LongMemEval form."""
    told = read_json(path)
    items = told if isinstance(told, list) else [told]
    cases = []
    for number, item in enumerate(items, 1):
        try:
            cases.append(_case(item, roles))
        except (KeyError, TypeError, AttributeError) as error:
            why = f"{type(error).__name__} {error}"
            raise InputError(f"{path} is not in LongMemEval form: item {number}: {why}") from error
    if repeated := {case.id for case in cases if [other.id for other in cases].count(case.id) > 1}:
        raise InputError(f"{path} has the question_id {sorted(repeated)[0]!r} twice")
    return cases


def abstains(case: Case) -> bool:
    """Tell whether the right response is that the question cannot be answered."""
    return ABSTENTION in case.id


def session_of(label: str) -> str:
    """Give the session of a turn's label, ``<session>_<turn>``."""
    return label.rpartition("_")[0]


def _case(item: Mapping[str, Any], roles: Roles) -> Case:
    if item["question_type"] not in TYPES:
        raise InputError(f"the question {item['question_id']!r} has type {item['question_type']!r}; known are {TYPES}")
    problems: list[Problem] = []
    drafts = tuple(
        replace(draft, metadata={**draft.metadata, LABEL: draft.key})
        for draft in longmemeval.read(item, problems)
        if roles == "all" or draft.metadata.get("role") == "user"
    )
    query = Query(
        str(item["question"]),
        str(item["answer"]),
        tuple(_evidence(item)),
        str(item["question_type"]),
        asked=f"Today is {item['question_date']}. {item['question']}",
    )
    why = tuple(problem.why for problem in problems)
    return Case(str(item["question_id"]), drafts, (query,), LABEL, digest(item, roles), problems=why)


def _evidence(item: Mapping[str, Any]) -> Iterator[str]:
    """Give the labels of the user's turns that hold the answer, of the sessions that do."""
    answering = set(item["answer_session_ids"])
    for session, turns in zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True):
        for number, turn in enumerate(turns, 1):
            if session in answering and turn["role"] == "user" and turn.get("has_answer"):
                yield f"{session}_{number}"
