"""LoCoMo files into values: conversations as turns, questions with the turns that answer them.

Takes the benchmark's own JSON (Maharana et al., ACL 2024), which is read where it lies and never copied. Repairs the
known quirks of the evidence ids and reports what it could not repair. Reads neither ``event_summary`` nor
``observation``, which tell what a system should find. Knows nothing about memories or scores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seem.errors import InputError

# By id, never by name: other projects give the same numbers other names.
CATEGORIES: Mapping[int, str] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5
NOT_MENTIONED = "Not mentioned"

_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_DATE = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. ``id`` as ``D<session>:<turn>``; ``image`` is the caption; ``time`` the session's, taken to be UTC."""

    id: str
    session: int
    speaker: str
    text: str
    image: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its gold answer and the ids of the turns that hold it.

    ``evidence`` is normalised, without repeats. ``unknown`` lists what names no turn of the conversation: ids of turns
    that do not exist stay in ``evidence`` too, where nothing can find them, as in the official count; scraps that are
    no id ("D") do not. An adversarial question has ``NOT_MENTIONED`` as its answer unless the file gives one, and in
    ``trap`` the answer that tempts.
    """

    text: str
    answer: str
    evidence: tuple[str, ...]
    category: int
    trap: str = ""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One conversation in order, with its questions."""

    id: str
    speakers: tuple[str, ...]
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def load(path: str | Path) -> list[Sample]:
    """Read a LoCoMo file; InputError where it is missing, no JSON, or not in LoCoMo form."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"cannot read {path} as LoCoMo JSON: {error}") from error
    samples = data if isinstance(data, list) else [data]
    try:
        return [_sample(sample) for sample in samples]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path} is not in LoCoMo form: {type(error).__name__} {error}") from error


def check_categories(samples: list[Sample]) -> None:
    """Hold the category names against what the questions are; InputError where the file numbers them otherwise.

    Only adversarial questions carry a trap. A multi-hop question mostly needs several turns, a single-hop one hardly
    ever; that is held against the content only where both have 20 questions.
    """
    questions = [question for sample in samples for question in sample.questions]
    for question in questions:
        if question.category not in CATEGORIES:
            raise InputError(f"the question {question.text!r} has category {question.category}: LoCoMo has 1 to 5")
        if bool(question.trap) != (question.category == ADVERSARIAL):
            raise InputError(
                f"the question {question.text!r} of category {question.category} "
                f"{'has' if question.trap else 'lacks'} an adversarial answer: "
                "the file numbers its categories otherwise"
            )
    several = {number: [len(q.evidence) > 1 for q in questions if q.category == number] for number in (1, 4)}
    if min(len(counts) for counts in several.values()) >= 20:
        multi, single = (sum(several[number]) / len(several[number]) for number in (1, 4))
        if multi < 0.5 or single > 0.5:
            raise InputError(
                f"{multi:.0%} of category 1 and {single:.0%} of category 4 need several turns: "
                "the file numbers its categories otherwise"
            )


def evidence_ids(entries: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the normalised ids of an evidence list in order, without repeats, and the entries that hold none."""
    ids: dict[str, None] = {}
    scraps = []
    for entry in entries:
        found = [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(entry)]
        ids.update(dict.fromkeys(found))
        if not found:
            scraps.append(entry)
    return tuple(ids), tuple(scraps)


def _sample(raw: Mapping[str, Any]) -> Sample:
    conversation = raw["conversation"]
    turns = tuple(_turns(conversation))
    known = {turn.id for turn in turns}
    speakers = tuple(str(conversation[key]) for key in ("speaker_a", "speaker_b") if key in conversation)
    return Sample(str(raw["sample_id"]), speakers, turns, tuple(_question(item, known) for item in raw["qa"]))


def _turns(conversation: Mapping[str, Any]) -> Iterator[Turn]:
    """Give the turns of the sessions that exist; some files date sessions that do not."""
    if not isinstance(conversation, Mapping):
        raise TypeError(f"the conversation is a {type(conversation).__name__}, no object")
    for number in sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key))):
        written = conversation[f"session_{number}_date_time"]
        time = datetime.strptime(written, _DATE).replace(tzinfo=UTC)
        for turn in conversation[f"session_{number}"]:
            image = turn.get("blip_caption") or ""
            yield Turn(turn["dia_id"], number, turn["speaker"], turn["text"], image, time)


def _question(raw: Mapping[str, Any], known: set[str]) -> Question:
    category = int(raw["category"])
    evidence, scraps = evidence_ids(raw.get("evidence") or [])
    answer = raw["answer"] if category != ADVERSARIAL else raw.get("answer", NOT_MENTIONED)
    trap = str(raw.get("adversarial_answer") or "")
    unknown = scraps + tuple(each for each in evidence if each not in known)
    return Question(str(raw["question"]), str(answer), evidence, category, trap, unknown)
