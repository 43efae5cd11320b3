"""What is to be labelled: conversations in the corpus format, with or without labels, from a folder or from passages in JSONL.

Takes a path, gives Sources; a line or file that cannot be used is named. Knows nothing about tasks or the teacher.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.prompts.reading import cleaned
from seem.prompts.texts import CONTEXT_TURNS
from seem.types import Event, Extraction, Fact, Passage, TimeSpan
from training.corpus.conversation import read_json
from training.corpus.folder import paths

_ASSISTANT = {"User", "Assistant"}
_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True, slots=True)
class Source:
    """A conversation's raw JSON, its passages in order, and what the rows of a JSONL file called them (turn id -> id)."""

    raw: dict[str, Any]
    passages: tuple[Passage, ...]
    ids: Mapping[str, str]

    def before(self, n: int) -> tuple[Passage, ...]:
        """Give the passages shown with the ``n``-th."""
        return self.passages[max(0, n - CONTEXT_TURNS) : n]

    def sides(self) -> dict[str, tuple[Passage, Extraction]]:
        """Give the passages that have a frame, with their labels, by turn id."""
        turns = {t["id"]: t for s in self.raw["sessions"] for t in s["turns"]}
        return {p.id: (p, note(p.id, turns[p.id])) for p in self.passages if turns[p.id].get("frame")}


def read_sources(path: Path) -> list[Source]:
    """Read a folder of conversations, one of them, or a JSONL file of passages; raise InputError that names the fault."""
    if path.is_dir():
        found = [source(read_json(file), file) for file in paths(path)]
    elif path.suffix == ".json":
        found = [source(read_json(path), path)]
    else:
        found = [source(raw, path, ids) for raw, ids in _conversations(path)]
    for name, count in Counter(s.raw["id"] for s in found).items():
        if count > 1:
            raise InputError(f"{path}: {count} conversations have the id {name!r}; rename them.")
    return found


def source(raw: dict[str, Any], path: Path, ids: Mapping[str, str] | None = None) -> Source:
    """Read a raw conversation's passages."""
    passages: list[Passage] = []
    raw = cleaned(raw)
    try:
        # It names a file of OUT.
        if not _NAME.fullmatch(raw["id"]):
            raise InputError(f"{path}: the conversation's id {raw['id']!r} must be letters, digits, '.', '_' and '-'.")
        for session in raw["sessions"]:
            said = moment(session["time"])
            for turn in session["turns"]:
                image = turn.get("image") or ""
                place = (turn["speaker"], session["id"], said, image)
                passages.append(Passage(turn["id"], raw["id"], turn["text"], len(passages), *place))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not a conversation ({type(error).__name__}: {error}).") from error
    return Source(raw, tuple(passages), ids or {})


def note(passage_id: str, turn: Mapping[str, Any]) -> Extraction:
    """Give a turn's label as an extraction."""
    frame = turn.get("frame") or {"summary": "", "events": ()}
    events = tuple(
        Event(tuple(e["participants"]), e["action"], _span(e["time"]), e["location"], e["causality"], e["manner"])
        for e in frame["events"]
    )
    facts = tuple(Fact(f["s"], f["r"], f["o"], _span(f["time"])) for f in turn.get("facts", ()))
    return Extraction(passage_id, events, facts, frame["summary"])


def rows(path: Path, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a JSONL file's objects with their line numbers; raise InputError that names a malformed line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    told = [(n, line) for n, line in enumerate(lines, 1) if line.strip()]
    if not told:
        raise InputError(f"{path} is empty; give a folder of conversations or a JSONL file.")
    for n, line in told:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {n}: not JSON ({error}).") from error
        if not isinstance(row, dict) or any(key not in row for key in needed):
            raise InputError(f"{path}, line {n}: an object with {', '.join(needed)} is needed.")
        yield n, cleaned(row)


def moment(told: str) -> datetime:
    """Read an ISO time; without a zone it means UTC, as the corpus has it."""
    time = datetime.fromisoformat(told)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _span(told: Mapping[str, Any] | None) -> TimeSpan | None:
    return None if told is None else TimeSpan(told["text"], told["start"], told["end"])


def _conversations(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Group rows by ``conversation`` (default: the file's name), then by session and day, in the order of the file."""
    grouped: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for n, row in rows(path, ("text", "speaker", "time")):
        if not isinstance(row["text"], str) or not row["text"].strip() or not isinstance(row["speaker"], str):
            raise InputError(f"{path}, line {n}: text and speaker must be text, and text not empty.")
        grouped.setdefault(str(row.get("conversation", path.stem)), []).append((n, row))
    for name, told in grouped.items():
        yield _conversation(path, name, told)


def _conversation(
    path: Path, name: str, told: list[tuple[int, dict[str, Any]]]
) -> tuple[dict[str, Any], dict[str, str]]:
    sessions: list[dict[str, Any]] = []
    ids: dict[str, str] = {}
    last: tuple[str, str] | None = None
    for n, row in told:
        try:
            time = moment(row["time"])
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{path}, line {n}: time must be an ISO time (YYYY-MM-DDTHH:MM), not {row['time']!r}."
            ) from error
        mark = (str(row.get("session", "")), time.date().isoformat())
        if mark != last:
            sessions.append({"id": f"S{len(sessions) + 1}", "time": row["time"], "turns": []})
            last = mark
        turn = {
            "id": f"{sessions[-1]['id']}:{len(sessions[-1]['turns']) + 1}",
            "speaker": row["speaker"],
            "text": row["text"],
        }
        turn |= {"image": row["image"]} if row.get("image") else {}
        sessions[-1]["turns"].append(turn)
        ids |= {turn["id"]: str(row["id"])} if "id" in row else {}
    speakers = list(dict.fromkeys(t["speaker"] for s in sessions for t in s["turns"]))
    kind = told[0][1].get("kind", "assistant" if set(speakers) <= _ASSISTANT else "friends")
    empty: dict[str, Any] = {"occurrences": [], "distinct": [], "questions": []}
    return {"id": name, "kind": kind, "speakers": speakers, "sessions": sessions} | empty, ids
