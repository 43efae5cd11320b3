"""Wrong gold labels of a benchmark, corrected beside the data: a file of corrections, each with its reason and evidence.

Takes a YAML file and what was asked; gives the same with corrected answers and without the questions that no label fits.
The data is never changed and raw scores stand beside corrected ones. Knows nothing about scores.

A correction: ``{id: conv-1#12, answer: …, reason: …, evidence: [D3:4]}``; ``unusable: true`` instead of an answer where
there is no right one. The id is the case's with the number of its question, from 1, or the case's alone where it has one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from seem.errors import InputError
from training.benchmarks.cases import Case, Query
from training.benchmarks.run import Asked, Outcome


@dataclass(frozen=True, slots=True)
class Correction:
    """One wrong label: the right answer, or ``None`` where the question has no usable one."""

    id: str
    answer: str | None
    reason: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Errata:
    """The corrections of one file, by id, and the file's hash."""

    corrections: Mapping[str, Correction]
    sha256: str

    def of(self, case: Case, number: int) -> Correction | None:
        """Give the correction of a case's question, counted from 1."""
        only = self.corrections.get(case.id) if len(case.queries) == 1 else None
        return self.corrections.get(f"{case.id}#{number}", only)


def read_errata(path: Path) -> Errata:
    """Read a file of corrections; InputError with every problem in it."""
    try:
        raw = path.read_bytes()
        told = yaml.safe_load(raw)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be read as YAML: {error}") from error
    if not isinstance(told, list):
        raise InputError(
            f"{path} must hold a list of corrections, each with id, reason, evidence, and answer or unusable"
        )
    problems: list[str] = []
    found = {c.id: c for n, item in enumerate(told, 1) if (c := _correction(item, f"correction {n}", problems))}
    if len(found) + len(problems) < len(told):
        problems.append("an id is given twice")
    if problems:
        raise InputError(f"{path} has {len(problems)} problem(s): {'; '.join(problems)}")
    return Errata(found, hashlib.sha256(raw).hexdigest())


def corrected(asked: Sequence[Asked], errata: Errata) -> list[Asked]:
    """Give what was asked and said with the corrected answers, without the questions that have no usable one."""
    return [_corrected(each, errata) for each in asked]


def listing(cases: Sequence[Case], errata: Errata) -> dict[str, Any]:
    """Give every correction of these cases with what the label was; InputError where one names no question."""
    met: dict[str, tuple[Query, Correction]] = {}
    for case in cases:
        for number, query in enumerate(case.queries, 1):
            if correction := errata.of(case, number):
                met[correction.id] = (query, correction)
    if strange := sorted(set(errata.corrections) - set(met)):
        raise InputError(f"the errata name {', '.join(strange)}, which the data does not hold; ids are like conv-1#12")
    rows = [
        {
            "id": c.id,
            "question": q.text,
            "was": q.answer,
            "now": c.answer,
            "reason": c.reason,
            "evidence": list(c.evidence),
        }
        for q, c in met.values()
    ]
    return {
        "sha256": errata.sha256,
        "corrected": [row for row in rows if row["now"] is not None],
        "unusable": [row for row in rows if row["now"] is None],
    }


def _corrected(each: Asked, errata: Errata) -> Asked:
    kept: list[int] = []
    queries: list[Query] = []
    for number, query in enumerate(each.case.queries):
        correction = errata.of(each.case, number + 1)
        if correction is None or correction.answer is not None:
            kept.append(number)
            queries.append(query if correction is None else replace(query, answer=str(correction.answer)))
    outcomes = {name: _kept(outcome, kept) for name, outcome in each.outcomes.items()}
    return replace(each, case=replace(each.case, queries=tuple(queries)), outcomes=outcomes)


def _kept(outcome: Outcome, numbers: Sequence[int]) -> Outcome:
    said = [outcome.said[n] for n in numbers] if outcome.said else []
    return replace(outcome, found=[outcome.found[n] for n in numbers], said=said)


def _correction(item: Any, name: str, problems: list[str]) -> Correction | None:
    if not isinstance(item, Mapping):
        problems.append(f"{name} is no mapping")
        return None
    wrong = [key for key in item if key not in ("id", "answer", "unusable", "reason", "evidence")]
    missing = [key for key in ("id", "reason", "evidence") if not item.get(key)]
    evidence = item.get("evidence")
    if wrong or missing or not isinstance(evidence, list) or ("answer" in item) == (item.get("unusable") is True):
        told = [f"{key} is unknown" for key in wrong] + [f"{key} is missing" for key in missing]
        told += [] if isinstance(evidence, list) or "evidence" in missing else ["evidence must be a list of ids"]
        told += (
            ["give an answer or unusable: true, one of both"]
            if ("answer" in item) == (item.get("unusable") is True)
            else []
        )
        problems.append(f"{name}: {', '.join(told)}")
        return None
    answer = None if item.get("unusable") is True else str(item["answer"])
    return Correction(str(item["id"]), answer, str(item["reason"]), tuple(map(str, evidence)))
