"""One labelled conversation: from its JSON file to frozen values.

Takes a path, gives a Conversation whose labels are Extractions of the same shape as a model's. Reads what is there and
names the file and the turn where it cannot; whether the labels keep the guide's rules is for ``check`` to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.types import Event, Extraction, Fact, Passage, TimeSpan

TEACHER = "teacher"
CONTEXT_TURNS = 2


@dataclass(frozen=True, slots=True)
class Turn:
    """A passage (its id is the turn's, its memory the conversation's), its labels, and the two passages before it."""

    passage: Passage
    extraction: Extraction
    context: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Turns that tell of the same occurrence, and the summary that fuses them."""

    turns: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Distinct:
    """Two turns that tempt to be merged and must not be."""

    a: str
    b: str
    why: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its short answer, the ids of all turns needed, and fact patterns with ``?`` for the unknown."""

    id: str
    question: str
    answer: str
    type: str
    evidence: tuple[str, ...]
    facts: tuple[tuple[str, str, str], ...]
    narrative: bool


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole conversation; turns in the order in which they were said."""

    id: str
    kind: str
    speakers: tuple[str, ...]
    sessions: tuple[str, ...]
    turns: tuple[Turn, ...]
    occurrences: tuple[Occurrence, ...]
    distinct: tuple[Distinct, ...]
    questions: tuple[Question, ...]


def read(path: Path) -> Conversation:
    """Read one file; raise InputError that names it, and the turn where one is at fault."""
    raw = read_json(path)
    try:
        return Conversation(
            id=raw["id"],
            kind=raw["kind"],
            speakers=tuple(raw["speakers"]),
            sessions=tuple(session["id"] for session in raw["sessions"]),
            turns=_turns(path, raw),
            occurrences=tuple(Occurrence(tuple(o["turns"]), o["summary"]) for o in raw.get("occurrences", ())),
            distinct=tuple(Distinct(d["a"], d["b"], d["why"]) for d in raw.get("distinct", ())),
            questions=tuple(_question(question) for question in raw.get("questions", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not a labelled conversation ({_why(error)}).") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; raise InputError that names the file."""
    try:
        raw = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error}).") from error
    if not isinstance(raw, dict):
        raise InputError(f"{path}: a conversation is a JSON object, this is a {type(raw).__name__}.")
    return raw


def _turns(path: Path, raw: Mapping[str, Any]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for session in raw["sessions"]:
        time = _time(session["time"])
        for told in session["turns"]:
            before = tuple(turn.passage for turn in turns[-CONTEXT_TURNS:])
            try:
                turns.append(_turn(told, raw["id"], session["id"], time, len(turns), before))
            except (KeyError, TypeError, ValueError) as error:
                name = told.get("id", "without id") if isinstance(told, Mapping) else repr(told)
                raise InputError(f"{path}: turn {name} of session {session['id']}: {_why(error)}.") from error
    return tuple(turns)


def _turn(
    told: Mapping[str, Any],
    conversation: str,
    session: str,
    time: datetime,
    position: int,
    context: tuple[Passage, ...],
) -> Turn:
    passage = Passage(
        id=told["id"],
        memory=conversation,
        text=told["text"],
        position=position,
        speaker=told["speaker"],
        session=session,
        time=time,
        image=told.get("image", ""),
    )
    frame = told["frame"] or {"summary": "", "events": ()}
    extraction = Extraction(
        passage_id=passage.id,
        events=tuple(_event(event) for event in frame["events"]),
        facts=tuple(Fact(f["s"], f["r"], f["o"], _span(f["time"])) for f in told["facts"]),
        summary=frame["summary"],
        model=TEACHER,
    )
    return Turn(passage, extraction, context)


def _event(told: Mapping[str, Any]) -> Event:
    return Event(
        participants=tuple(told["participants"]),
        action=told["action"],
        time=_span(told["time"]),
        location=told["location"],
        causality=told["causality"],
        manner=told["manner"],
    )


def _span(told: Mapping[str, Any] | None) -> TimeSpan | None:
    return None if told is None else TimeSpan(told["text"], told["start"], told["end"])


def _question(told: Mapping[str, Any]) -> Question:
    return Question(
        id=told["id"],
        question=told["question"],
        answer=told["answer"],
        type=told["type"],
        evidence=tuple(told["evidence"]),
        facts=tuple(_pattern(fact) for fact in told["facts"]),
        narrative=told["narrative"],
    )


def _pattern(told: Sequence[str]) -> tuple[str, str, str]:
    subject, relation, object_ = told
    return subject, relation, object_


def _time(told: str) -> datetime:
    """Give the session's time; the corpus writes it without a zone and means UTC."""
    time = datetime.fromisoformat(told)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _why(error: Exception) -> str:
    return f"no key {error}" if isinstance(error, KeyError) else str(error)
