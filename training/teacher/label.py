"""Label everything in IN: jobs solved concurrently, labels and rejects written into OUT.

OUT holds ``conversations/`` (extract: what the corpus validator takes), ``rejected/`` (what it does not),
``labels.jsonl`` (the other tasks), ``rejects.jsonl`` with the reasons, ``ledger.json`` and the cache. A run that was
stopped or killed is continued by running it again. Knows nothing about prompts.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.corpus.check import check
from training.teacher.client import Teacher
from training.teacher.ledger import Ledger, Stopped
from training.teacher.session import Meter, run
from training.teacher.settings import Settings
from training.teacher.solve import Job, Outcome, solve
from training.teacher.sources import Source, read_sources
from training.teacher.tasks import Task, inputs, turn_inputs

REJECTS = "rejects.jsonl"
LABELS = "labels.jsonl"
_LABELS = ("frame", "facts")


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a run did. ``stopped`` says why it ended early; ``missing`` counts the inputs without an answer."""

    done: int
    rejected: int
    missing: int
    stopped: str
    ledger: Ledger


def label(task: Task, settings: Settings, source: Path, out: Path) -> Labelled:
    """Label IN into OUT; raise InputError where IN cannot be read."""
    sources = read_sources(source) if task == "extract" else []
    answers = settings.answers
    asked = [i for s in sources for i in turn_inputs(s, answers)] if sources else list(inputs(task, source, answers))
    jobs = list({i.job.id: i.job for i in asked}.values())

    async def work(teacher: Teacher, meter: Meter) -> tuple[dict[str, Outcome], str]:
        return await solve_all(teacher, jobs, meter)

    (outcomes, stopped), ledger = run(settings, out, len(jobs), task, work)
    rejects = [reject(o) for o in outcomes.values() if o.state != "done"]
    if task == "extract":
        rejects += write_conversations(sources, outcomes, out)
    else:
        done = {o.id: o.label for o in outcomes.values() if o.state == "done"}
        write_rows(out / LABELS, [{**i.about, "label": done[i.job.id]} for i in asked if i.job.id in done])
    write_rows(out / REJECTS, rejects)
    states = [o.state for o in outcomes.values()]
    missing = len(jobs) - len(states) + states.count("failed")
    return Labelled(states.count("done"), states.count("rejected"), missing, stopped, ledger)


async def solve_all(teacher: Teacher, jobs: Sequence[Job], meter: Meter) -> tuple[dict[str, Outcome], str]:
    """Solve the jobs, as many at a time as the teacher admits; give the outcomes, and why the run ended early."""
    outcomes: dict[str, Outcome] = {}
    stopped = ""

    async def one(job: Job) -> None:
        nonlocal stopped
        try:
            outcomes[job.id] = await solve(teacher, job)
        except Stopped as error:
            stopped = stopped or str(error)
            return
        meter.step()

    # The semaphore serves tasks in the order of their creation.
    async with asyncio.TaskGroup() as group:
        for job in jobs:
            group.create_task(one(job))
    return {job.id: outcomes[job.id] for job in jobs if job.id in outcomes}, stopped


def write_conversations(sources: Sequence[Source], outcomes: Mapping[str, Outcome], out: Path) -> list[dict[str, Any]]:
    """Write the conversations that are labelled to the end, valid ones apart from others; give the problems of the latter."""
    rejects: list[dict[str, Any]] = []
    for source in sources:
        found = {p.id: outcomes.get(f"{p.memory}/{p.id}") for p in source.passages}
        if any(o is None or o.state == "failed" for o in found.values()):
            continue
        raw = with_labels(source.raw, {t: o.label for t, o in found.items() if o and o.state == "done"})
        problems = write_conversation(raw, out)
        rejects += [{"id": raw["id"], "state": "rejected", "reasons": problems}] if problems else []
        if source.ids:
            _write_json(out / "ids" / f"{raw['id']}.json", dict(source.ids))
    return rejects


def write_conversation(raw: Mapping[str, Any], out: Path) -> list[str]:
    """Write a conversation to where it belongs by the validator's word; give the problems."""
    problems, _ = check(raw)
    there, elsewhere = ("rejected", "conversations") if problems else ("conversations", "rejected")
    _write_json(out / there / f"{raw['id']}.json", raw)
    (out / elsewhere / f"{raw['id']}.json").unlink(missing_ok=True)
    return problems


def with_labels(raw: Mapping[str, Any], labels: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Give a conversation with new labels on its turns; a rejected turn has none.

    Occurrences and distinct pairs stay where all of their turns still have frames.
    """
    sessions = []
    for session in raw["sessions"]:
        bare = [{key: value for key, value in turn.items() if key not in _LABELS} for turn in session["turns"]]
        sessions.append({**session, "turns": [turn | dict(labels.get(turn["id"], {})) for turn in bare]})
    framed = {turn for turn, told in labels.items() if told["frame"]}
    return {
        **raw,
        "sessions": sessions,
        "occurrences": [o for o in raw.get("occurrences", ()) if set(o["turns"]) <= framed],
        "distinct": [d for d in raw.get("distinct", ()) if {d["a"], d["b"]} <= framed],
        "questions": list(raw.get("questions", ())),
    }


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    os.replace(draft, path)


def write_rows(path: Path, told: Sequence[Mapping[str, Any]]) -> None:
    """Write a JSONL file whole or not at all."""
    draft = path.with_name(path.name + ".new")
    draft.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in told), encoding="utf-8")
    os.replace(draft, path)


def reject(outcome: Outcome) -> dict[str, Any]:
    """Give an outcome without a label as a row of the rejects."""
    return {"id": outcome.id, "state": outcome.state, "reasons": list(outcome.reasons), "answer": outcome.answer}
