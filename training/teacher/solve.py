"""One label: asked for, read, checked, and asked for again with what was wrong, within a bound.

Takes a job (messages, schema, a check), gives an Outcome. A cut-off answer is asked for again with twice the room.
Knows nothing about files or what the labels mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from seem.errors import ModelError
from seem.prompts.reading import read_object
from seem.prompts.schemas import Schema
from seem.prompts.texts import Messages
from training.teacher.client import Teacher

# Gives the label and what is wrong with it.
Check = Callable[[Mapping[str, Any]], tuple[Any, list[str]]]
State = Literal["done", "rejected", "failed"]
_RAW = 2000
_TOLD = 8


@dataclass(frozen=True, slots=True)
class Job:
    """What to ask. ``schema`` ``None``: the answer is plain text, checked as ``{"text": …}``."""

    id: str
    task: str
    messages: Messages
    schema: Schema | None
    check: Check
    max_tokens: int
    temperature: float
    attempts: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """``done`` with its label; ``rejected`` with the reasons and the last answer; ``failed`` where the endpoint gave none.

    A later run tries again what failed; what was rejected it reads from the cache.
    """

    id: str
    state: State
    label: Any = None
    reasons: tuple[str, ...] = ()
    answer: str = ""


async def solve(teacher: Teacher, job: Job) -> Outcome:
    """Ask until the label is valid or the attempts are used up; raise Stopped where the run ends."""
    messages, limit = job.messages, job.max_tokens
    reasons: list[str] = []
    answer = ""
    for _ in range(job.attempts):
        try:
            reply = await teacher.ask(
                messages, job.schema, task=job.task, max_tokens=limit, temperature=job.temperature
            )
        except ModelError as error:
            state: State = "rejected" if str(error).startswith("refused") else "failed"
            return Outcome(job.id, state, reasons=(str(error),), answer=answer)
        answer = reply.text
        label, reasons = _checked(job, answer)
        if not reasons:
            return Outcome(job.id, "done", label)
        if reply.finished:
            again = f"That answer cannot be used: {'; '.join(reasons[:_TOLD])}. Answer again, without these mistakes."
            messages = [*job.messages, {"role": "assistant", "content": answer or "{}"}]
            messages.append({"role": "user", "content": again})
        else:
            reasons = [f"cut off at {limit} tokens"]
            messages, limit = job.messages, limit * 2
    return Outcome(job.id, "rejected", reasons=tuple(reasons), answer=answer[:_RAW])


def _checked(job: Job, answer: str) -> tuple[Any, list[str]]:
    if job.schema is None:
        return job.check({"text": answer.strip()})
    read = read_object(answer)
    if read.value is None or not read.complete:
        return None, ["no whole JSON object"]
    try:
        return job.check(read.value)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return None, [f"wrong shape: {type(error).__name__}: {error}"]
