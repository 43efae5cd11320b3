"""The annotation guide's rules, as code: what is wrong with one conversation, and its size.

Takes the raw JSON object, gives problems (one sentence each, the turn named first) and a Size. Works on raw values,
since what it looks for is just what the typed loader could not read. Does not cover whether a label is true.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from seem.types import SLOTS

KINDS = frozenset({"friends", "assistant", "agents"})
TYPES = frozenset({"single-hop", "multi-hop", "temporal", "open-domain", "update", "adversarial"})
NOT_MENTIONED = "Not mentioned"
LEAST_SUPPORT = 0.75
NULL_SHARE = (0.12, 0.45)

_KEYS = ("id", "kind", "speakers", "sessions", "occurrences", "distinct", "questions")
_TURN_KEYS = frozenset({"id", "speaker", "text", "image", "frame", "facts"})
_QUESTION_KEYS = frozenset({"id", "question", "answer", "type", "evidence", "facts", "narrative"})
_WORD_SLOTS = ("location", "causality", "manner")
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
_WORD = re.compile(r"[^\W_]+")

Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Size:
    """How much it holds. ``support`` is the share of slot words that the turn and its two predecessors show."""

    turns: int
    sessions: int
    empty: int
    events: int
    facts: int
    occurrences: int
    distinct: int
    questions: int
    support: float


def check(raw: Raw) -> tuple[list[str], Size | None]:
    """Give the problems of a conversation, none if it keeps the guide, and its size where it could be measured."""
    if missing := [key for key in _KEYS if key not in raw]:
        return [f"missing: {', '.join(missing)}"], None
    try:
        problems = [*_conversation(raw), *_labels(raw), *_occurrences(raw), *_questions(raw)]
        size = _size(raw)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return [f"unreadable: {type(error).__name__}: {error}"], None
    return problems or _shares(size), size


def _all_turns(raw: Raw) -> list[Raw]:
    return [turn for session in raw["sessions"] for turn in session["turns"]]


def _conversation(raw: Raw) -> Iterator[str]:
    if raw["kind"] not in KINDS:
        yield f"unknown kind {raw['kind']!r}"
    last: datetime | None = None
    for session in raw["sessions"]:
        time = datetime.fromisoformat(session["time"])
        if last and time <= last:
            yield f"{session['id']}: not later than the session before it"
        last = time
        for number, turn in enumerate(session["turns"], 1):
            if turn["id"] != f"{session['id']}:{number}":
                yield f"{turn['id']}: expected the id {session['id']}:{number}"
            if turn["speaker"] not in raw["speakers"]:
                yield f"{turn['id']}: unknown speaker {turn['speaker']!r}"
            if not turn["text"].strip():
                yield f"{turn['id']}: empty text"


def _labels(raw: Raw) -> Iterator[str]:
    for turn in _all_turns(raw):
        name = turn["id"]
        if set(turn) - _TURN_KEYS or "frame" not in turn or "facts" not in turn:
            yield f"{name}: wrong keys {sorted(turn)}"
        else:
            yield from (f"{name}: {problem}" for problem in label_problems(turn["frame"], turn["facts"]))


def label_problems(frame: Raw | None, facts: Sequence[Raw]) -> Iterator[str]:
    """Say what is wrong with one turn's label."""
    if frame is None:
        if facts:
            yield "facts without a frame"
    elif set(frame) != {"summary", "events"} or not frame["summary"] or not 1 <= len(frame["events"]) <= 4:
        yield "a frame has a summary and one to four events"
    else:
        for event in frame["events"]:
            yield from _event(event)
        yield from _facts(facts)


def _event(event: Raw) -> Iterator[str]:
    if set(event) != set(SLOTS):
        yield f"wrong slots {sorted(event)}"
        return
    participants = event["participants"]
    if not isinstance(participants, list) or not participants or not all(map(_filled, participants)):
        yield f"participants must be names, not {participants!r}"
    if not _filled(event["action"]):
        yield f"action must be words, not {event['action']!r}"
    for slot in _WORD_SLOTS:
        if event[slot] is not None and not _filled(event[slot]):
            yield f"{slot} must be words or null, not {event[slot]!r}"
    yield from _time(event["time"])


def _facts(facts: Sequence[Raw]) -> Iterator[str]:
    if len(facts) > 5:
        yield "more than five facts"
    for fact in facts:
        if set(fact) != {"s", "r", "o", "time"} or not all(_filled(fact[key]) for key in "sro"):
            yield f"not a fact: {fact!r}"
        else:
            yield from _time(fact["time"])


def _time(time: Any) -> Iterator[str]:
    if time is None:
        return
    if not isinstance(time, Mapping) or set(time) != {"text", "start", "end"} or not _filled(time["text"]):
        yield f"not a time: {time!r}"
        return
    start, end = time["start"], time["end"]
    wrong = [date for date in (start, end) if date is not None and not _DATE.fullmatch(str(date))]
    yield from (f"not a date: {date!r}" for date in wrong)
    if not wrong and start and end and min(len(start), len(end)) > 4 and start[:7] > end[:7]:
        yield f"starts after its end: {time!r}"


def _occurrences(raw: Raw) -> Iterator[str]:
    framed = {turn["id"] for turn in _all_turns(raw) if turn.get("frame")}
    member_of: dict[str, set[int]] = defaultdict(set)
    for number, occurrence in enumerate(raw["occurrences"]):
        if len(occurrence["turns"]) < 2 or not occurrence.get("summary"):
            yield f"occurrence {number}: needs two turns and a summary"
        for turn in occurrence["turns"]:
            if turn not in framed:
                yield f"occurrence {number}: {turn} is unknown or has no frame"
            member_of[turn].add(number)
    for pair in raw["distinct"]:
        if set(pair) != {"a", "b", "why"} or not {pair["a"], pair["b"]} <= framed:
            yield f"not a distinct pair of turns with frames: {pair!r}"
        elif member_of[pair["a"]] & member_of[pair["b"]]:
            yield f"a distinct pair inside one occurrence: {pair!r}"
    if len(raw["distinct"]) < len(raw["occurrences"]):
        yield "fewer distinct pairs than occurrences"


def _questions(raw: Raw) -> Iterator[str]:
    turns = {turn["id"] for turn in _all_turns(raw)}
    for name, count in Counter(question.get("id") for question in raw["questions"]).items():
        if count > 1:
            yield f"{name}: told {count} times"
    for question in raw["questions"]:
        yield from (f"{question.get('id')}: {problem}" for problem in _question(question, turns))


def _question(question: Raw, turns: set[str]) -> Iterator[str]:
    if set(question) != _QUESTION_KEYS or question["type"] not in TYPES:
        yield f"wrong keys or type: {sorted(question)}, {question.get('type')!r}"
        return
    evidence, adversarial = question["evidence"], question["type"] == "adversarial"
    if not set(evidence) <= turns:
        yield f"unknown evidence {sorted(set(evidence) - turns)}"
    if adversarial and question["answer"] != NOT_MENTIONED:
        yield f"an adversarial answer is exactly {NOT_MENTIONED!r}"
    if not adversarial and not evidence:
        yield "no evidence"
    if question["type"] == "multi-hop" and len(evidence) < 2:
        yield "multi-hop with one evidence turn"
    if not isinstance(question["narrative"], bool) or not all(len(fact) == 3 for fact in question["facts"]):
        yield "narrative must be true or false, and a fact three parts"


def _shares(size: Size) -> list[str]:
    low, high = NULL_SHARE
    share = size.empty / size.turns if size.turns else 0.0
    problems = [] if low <= share <= high else [f"share of turns without a frame {share:.2f}, not {low} to {high}"]
    if size.support < LEAST_SUPPORT:
        problems.append(f"slot words that were shown {size.support:.2f}, below {LEAST_SUPPORT}")
    return problems


def _size(raw: Raw) -> Size:
    turns = _all_turns(raw)
    frames = [turn["frame"] for turn in turns if turn.get("frame")]
    return Size(
        turns=len(turns),
        sessions=len(raw["sessions"]),
        empty=len(turns) - len(frames),
        events=sum(len(frame["events"]) for frame in frames),
        facts=sum(len(turn.get("facts", ())) for turn in turns),
        occurrences=len(raw["occurrences"]),
        distinct=len(raw["distinct"]),
        questions=len(raw["questions"]),
        support=_support(turns),
    )


def _support(turns: Sequence[Raw]) -> float:
    """Give the share of slot words over three letters of which a shown word has the same first five letters."""
    shown = total = 0
    for position, turn in enumerate(turns):
        window = turns[max(0, position - 2) : position + 1]
        text = " ".join(f"{t['text']} {t['speaker']} {t.get('image', '')}" for t in window).lower()
        stems = {word[:5] for word in _words(text)}
        for event in (turn.get("frame") or {"events": ()})["events"]:
            for slot in (*_WORD_SLOTS, "action"):
                words = {word for word in _words(event.get(slot) or "") if len(word) > 3}
                total += len(words)
                # Scripts without blanks have no stems: there a whole run of letters must stand in the text.
                shown += sum(word[:5] in stems or (not word.isascii() and word in text) for word in words)
    return shown / total if total else 1.0


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
