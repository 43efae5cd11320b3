"""OpenAI-style messages as JSON lines: one message a line, or one conversation (``messages``) a line.

Takes a path, gives drafts: tool calls and results apart, paired by ``tool_call_id``; ``name`` tells agents apart. The
session is what the line says, else the file's name, with the line's number where a line holds a conversation. A
malformed line loses only itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from seem.sources.drafts import Defaults, Problem, to_drafts
from seem.sources.files import parse, read_lines
from seem.sources.tools import expand
from seem.store.batch import Draft

_SESSION = ("session", "conversation_id", "thread_id", "id")


def read(source: Path, problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Give drafts of the file's lines; raise InputError where it cannot be read."""
    messages = expand(_messages(source, problems), problems)
    return to_drafts(messages, problems, Defaults(zone, source.stem))


def _messages(source: Path, problems: list[Problem]) -> Iterator[tuple[int, Any]]:
    for number, line in read_lines(source):
        try:
            told = parse(line)
        except ValueError as error:
            problems.append(Problem(number, f"not JSON: {error}"))
            continue
        inside = told.get("messages") if isinstance(told, Mapping) else None
        if not isinstance(inside, list):
            yield number, told
            continue
        session = next((told[name] for name in _SESSION if told.get(name)), f"{source.stem}:{number}")
        for message in inside:
            yield number, {"session": session, **message} if isinstance(message, Mapping) else message
