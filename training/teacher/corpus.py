"""New conversations, written by the teacher after the corpus's guide: a plan, its sessions, the labels turn by turn, the links and questions.

Takes a kind, a domain and a language, gives conversations in the corpus format: valid ones in ``DIR/conversations``,
others in ``DIR/rejected`` with their reasons in ``DIR/rejects.jsonl``. Turns are labelled as any passage is, by the
labeller that sees the turn and the two before it. A higher count adds to what is there. Does not cover whether a plot is
any good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from seem.prompts.schemas import CORPUS_LINKS, CORPUS_PLAN, CORPUS_SESSION, Schema
from seem.prompts.texts import render
from training.corpus.check import NOT_MENTIONED, check
from training.teacher.client import Teacher
from training.teacher.label import REJECTS, Labelled, reject, with_labels, write_conversation, write_rows
from training.teacher.ledger import Stopped
from training.teacher.session import Meter, run
from training.teacher.settings import Settings
from training.teacher.solve import Check, Job, Outcome, solve
from training.teacher.sources import source
from training.teacher.tasks import turn_inputs

_EARLIER_TURNS = 60


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be written. ``domain`` empty: the teacher chooses."""

    kind: str
    language: str = "English"
    domain: str = ""


class _Refused(Exception):
    """One step of a conversation has no usable answer."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.id)
        self.outcome = outcome


def write(settings: Settings, wish: Wish, count: int, out: Path) -> Labelled:
    """Write ``count`` conversations into OUT."""

    async def work(teacher: Teacher, meter: Meter) -> list[tuple[str, Outcome | list[str]] | str]:
        return list(await asyncio.gather(*(_one(teacher, settings, wish, n, out, meter) for n in range(1, count + 1))))

    results, ledger = run(settings, out, count, f"{wish.kind} conversations", work)
    rejects: list[dict[str, Any]] = []
    for result in results:
        if isinstance(result, str):
            continue
        name, told = result
        if isinstance(told, Outcome):
            rejects.append({**reject(told), "id": name, "step": told.id})
        elif told:
            rejects.append({"id": name, "step": "check", "state": "rejected", "reasons": told})
    write_rows(out / REJECTS, rejects)
    stopped = [r for r in results if isinstance(r, str)]
    failed = sum(r["state"] == "failed" for r in rejects)
    done = count - len(stopped) - len(rejects)
    return Labelled(done, len(rejects) - failed, len(stopped) + failed, stopped[0] if stopped else "", ledger)


async def _one(
    teacher: Teacher, settings: Settings, wish: Wish, n: int, out: Path, meter: Meter
) -> tuple[str, Outcome | list[str]] | str:
    """Write one conversation; give its name with its problems or the outcome that ended it, or why the run ended."""
    writer = _Writer(teacher, settings, wish, n)
    try:
        raw = await writer.conversation()
    except _Refused as refused:
        meter.step()
        return writer.name, refused.outcome
    except Stopped as error:
        return str(error)
    problems = write_conversation(raw, out)
    meter.step()
    return writer.name, problems


class _Writer:
    def __init__(self, teacher: Teacher, settings: Settings, wish: Wish, n: int) -> None:
        self._teacher = teacher
        self._settings = settings
        self._wish = wish
        self.name = f"{wish.kind}-t{settings.writing.seed}-{n:03d}"
        self._about = [("kind", wish.kind), ("domain", wish.domain or "your choice"), ("language", wish.language)]
        self._about.append(("variation", str(settings.writing.seed * 1000 + n)))

    async def conversation(self) -> dict[str, Any]:
        w = self._settings.writing
        kind = self._wish.kind
        plan = await self._step(
            "plan", [("sessions", str(w.sessions))], CORPUS_PLAN, lambda a: _plan(a, kind, w.sessions)
        )
        raw: dict[str, Any] = {"id": self.name, "kind": kind, "speakers": plan["speakers"], "sessions": []}
        raw |= {"occurrences": [], "distinct": [], "questions": []}
        for number, planned in enumerate(plan["sessions"], 1):
            raw["sessions"].append(await self._session(raw, plan, number, planned))
        labelled = await self._labels(raw)
        return labelled | await self._links(labelled)

    async def _session(
        self, raw: Mapping[str, Any], plan: Mapping[str, Any], number: int, planned: Mapping[str, Any]
    ) -> dict[str, Any]:
        earlier = [f"{s['id']} ({s['time']}) {t['speaker']}: {t['text']}" for s in raw["sessions"] for t in s["turns"]]
        blocks = [
            ("premise", plan["premise"]),
            ("speakers", ", ".join(plan["speakers"])),
            ("earlier", "\n".join(earlier[-_EARLIER_TURNS:]) or "(nothing yet)"),
            ("said_at", planned["time"]),
            ("outline", planned["outline"]),
            ("turns", str(self._settings.writing.turns)),
        ]
        turns = await self._step(
            "session", blocks, CORPUS_SESSION, lambda a: _session(a, plan["speakers"]), part=f"S{number}"
        )
        told = [{"id": f"S{number}:{n}"} | turn for n, turn in enumerate(turns, 1)]
        return {"id": f"S{number}", "time": planned["time"], "turns": told}

    async def _labels(self, raw: dict[str, Any]) -> dict[str, Any]:
        jobs = [i.job for i in turn_inputs(source(raw, Path(self.name)), self._settings.answers)]
        outcomes = await asyncio.gather(*(solve(self._teacher, job) for job in jobs))
        for outcome in outcomes:
            if outcome.state != "done":
                raise _Refused(outcome)
        return with_labels(raw, {o.id.removeprefix(f"{self.name}/"): o.label for o in outcomes})

    async def _links(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        turns = [t for s in raw["sessions"] for t in s["turns"]]
        times = {t["id"]: s["time"] for s in raw["sessions"] for t in s["turns"]}
        said = [f"{t['id']} ({times[t['id']]}) {t['speaker']}: {t['text']}" for t in turns]
        lines = [line if t["frame"] else f"{line} (nothing)" for line, t in zip(said, turns, strict=True)]

        def links(answer: Mapping[str, Any]) -> tuple[Any, list[str]]:
            label = _links(answer)
            # The validator's own words are the best correction; how many turns are empty is not this step's to mend.
            problems, _ = check({**raw, **label})
            return label, [p for p in problems if not p.startswith(("share of turns", "slot words"))]

        found: dict[str, Any] = await self._step("links", [("conversation", "\n".join(lines))], CORPUS_LINKS, links)
        return found

    async def _step(
        self, step: str, blocks: Sequence[tuple[str, str]], schema: Schema, check_: Check, part: str = ""
    ) -> Any:
        w, attempts = self._settings.writing, self._settings.answers.attempts
        messages = render("corpus", [("step", step), *self._about, *blocks])
        job = Job(
            f"{self.name}/{step}{part}", "corpus", messages, schema, check_, w.max_tokens, w.temperature, attempts
        )
        outcome = await solve(self._teacher, job)
        if outcome.state != "done":
            raise _Refused(outcome)
        return outcome.label


def _plan(answer: Mapping[str, Any], kind: str, sessions: int) -> tuple[Any, list[str]]:
    times = [datetime.fromisoformat(s["time"]) for s in answer["sessions"]]
    speakers = list(dict.fromkeys(answer["speakers"]))
    rules = {
        f"{sessions} sessions are wanted, not {len(times)}": len(times) == sessions,
        "session times have no zone": all(time.tzinfo is None for time in times),
        "the speakers must be User and Assistant": kind != "assistant" or set(speakers) == {"User", "Assistant"},
        "two or more speakers are needed": len(speakers) > 1
        and all(isinstance(s, str) and s.strip() for s in speakers),
    }
    problems = [told for told, kept in rules.items() if not kept]
    if not problems and any(a >= b for a, b in pairwise(times)):
        problems.append("each session must be later than the one before")
    return dict(answer) | {"speakers": speakers}, problems


def _session(answer: Mapping[str, Any], speakers: Sequence[str]) -> tuple[Any, list[str]]:
    turns, problems = [], []
    for n, told in enumerate(answer["turns"], 1):
        turn = {"speaker": told["speaker"], "text": told["text"].strip()}
        turns.append(turn | ({"image": told["image"]} if told.get("image") else {}))
        problems += [] if turn["speaker"] in speakers else [f"turn {n}: {turn['speaker']!r} is no speaker"]
        problems += [] if turn["text"] else [f"turn {n}: empty text"]
    return turns, problems if turns else ["no turns"]


def _links(answer: Mapping[str, Any]) -> dict[str, Any]:
    questions = []
    for n, told in enumerate(answer["questions"], 1):
        facts = [[f["s"], f["r"], f["o"]] for f in told["facts"]]
        reply = NOT_MENTIONED if told["type"] == "adversarial" else told["answer"]
        kept = {key: told[key] for key in ("question", "type", "evidence", "narrative")}
        questions.append({"id": f"Q{n}", **kept, "answer": reply, "facts": facts})
    occurrences = [{key: o[key] for key in ("turns", "summary")} for o in answer["occurrences"]]
    distinct = [{key: d[key] for key in ("a", "b", "why")} for d in answer["distinct"]]
    return {"occurrences": occurrences, "distinct": distinct, "questions": questions}
