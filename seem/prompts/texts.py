"""The prompts for large models: one text file a task, and the data of one request, fenced beneath it.

The files hold no placeholders: what stands in them is the system message, byte for byte, and data follows in tags,
so that no brace, quote or look-alike of a special token in a passage can become markup. Used by the prompted twins at run
time AND by the teacher. Knows nothing about endpoints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

from seem.prompts.judge import when
from seem.prompts.window import clean_name
from seem.types import Event, Extraction, Fact, Passage

Task = Literal["extract", "judge", "fuse", "parse", "route", "answer", "corpus"]
Messages = list[dict[str, str]]

CONTEXT_TURNS = 2
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# What JSON or a tokenizer would choke on: half an emoji, and control characters other than tab and line break.
_BROKEN = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@cache
def system(task: Task) -> str:
    """Give the task's instructions as they stand in its file."""
    return (files("seem.prompts") / "texts" / f"{task}.txt").read_text(encoding="utf-8").strip()


def whole(text: str) -> str:
    """Give the text with every lone surrogate replaced, so that it can be sent and stored."""
    return _BROKEN.sub("\ufffd", text)


def fenced(tag: str, text: str) -> str:
    """Put data between tags that nothing in it can close: its "<" becomes a look-alike."""
    return f"<{tag}>\n{_CONTROL.sub(' ', whole(text)).replace('<', '‹')}\n</{tag}>"


def render(task: Task, blocks: Sequence[tuple[str, str]]) -> Messages:
    """Render the messages of one request: the instructions, then the data, each block in its tag."""
    data = "\n\n".join(fenced(tag, text) for tag, text in blocks)
    return [{"role": "system", "content": system(task)}, {"role": "user", "content": data}]


def extract_messages(passage: Passage, context: Sequence[Passage], names: Sequence[str]) -> Messages:
    """Ask for events and facts of one passage; ``context`` holds the turns before it, the nearest last."""
    before = context[-CONTEXT_TURNS:]
    known = dict.fromkeys(clean_name(n) for n in (passage.speaker, *(p.speaker for p in before), *names))
    blocks = [("said_at", moment(passage)), ("names", ", ".join(known))]
    blocks += [("before", spoken(p)) for p in before]
    return render("extract", [*blocks, ("passage", spoken(passage))])


def judge_messages(a: tuple[Passage, Extraction], b: tuple[Passage, Extraction]) -> Messages:
    """Ask whether two notes tell of the same occurrence."""
    return render("judge", [("first", noted(*a)), ("second", noted(*b))])


def fuse_messages(sides: Sequence[tuple[Passage, Extraction]]) -> Messages:
    """Ask for one note of several that tell of the same occurrence."""
    return render("fuse", [("note", noted(*side)) for side in sides])


def question_messages(task: Literal["parse", "route"], question: str) -> Messages:
    """Ask for the patterns or the route of a question."""
    return render(task, [("question", question)])


def answer_messages(question: str, context: str) -> Messages:
    """Ask for the answer to a question from a serialised context."""
    return render("answer", [("evidence", context), ("question", question)])


def moment(passage: Passage) -> str:
    """Give when a passage was said, with its weekday."""
    if passage.time is None:
        return "unknown"
    return f"{passage.time.isoformat(timespec='minutes')} ({_DAYS[passage.time.weekday()]})"


def spoken(passage: Passage) -> str:
    """Give a passage as it was said: speaker, words, picture."""
    image = f" [image: {passage.image}]" if passage.image else ""
    return f"{clean_name(passage.speaker)}: {passage.text}{image}"


def noted(passage: Passage, extraction: Extraction) -> str:
    """Give a passage with the note made of it, one event or fact a line."""
    lines = [f"said at: {moment(passage)}", f"words: {spoken(passage)}"]
    lines += [f"summary: {extraction.summary}"] if extraction.summary else []
    return "\n".join([*lines, *map(_event, extraction.events), *map(_fact, extraction.facts)])


def _event(event: Event) -> str:
    slots = {"where": event.location, "why": event.causality, "how": event.manner}
    parts = [f"event: {', '.join(event.participants)}: {event.action}"]
    parts += [f"when: {event.time.text} ({when(event.time)})"] if event.time else []
    return "; ".join(parts + [f"{name}: {words}" for name, words in slots.items() if words])


def _fact(fact: Fact) -> str:
    parts = [f"fact: {fact.subject} {fact.relation} {fact.object}"]
    return "; ".join(parts + ([f"when: {when(fact.time)}"] if fact.time else []))
