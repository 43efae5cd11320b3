"""Conversations of other programs, as drafts: one module a format, all with ``read(source, problems, …)``.

Takes a format's name and a path, gives drafts conversation by conversation, each in the order in which it was said. What
cannot be used is collected as a Problem and left out without losing the rest; a file that cannot be read at all is an
InputError. Knows nothing about storage.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from datetime import tzinfo
from pathlib import Path

from seem.errors import InputError
from seem.sources import (
    chat,
    chatgpt,
    graphiti,
    jsonl,
    locomo,
    log,
    longmemeval,
    mem0,
    openai,
    slack,
    telegram,
    whatsapp,
)
from seem.sources.drafts import Problem
from seem.store.batch import Draft

__all__ = ["FORMATS", "Problem", "read"]

FORMATS: Mapping[str, Callable[..., Iterator[Draft]]] = {
    "chat": chat.read,
    "jsonl": jsonl.read,
    "openai": openai.read,
    "log": log.read,
    "chatgpt": chatgpt.read,
    "whatsapp": whatsapp.read,
    "telegram": telegram.read,
    "slack": slack.read,
    "mem0": mem0.read,
    "graphiti": graphiti.read,
    "locomo": locomo.read,
    "longmemeval": longmemeval.read,
}


def read(format: str, path: Path | str, problems: list[Problem], *, zone: tzinfo | None = None) -> Iterator[Draft]:
    """Read a file of the named format; ``zone`` belongs to times without one (UTC where the format can do without).

    Raise InputError for the whole file.
    """
    if format not in FORMATS:
        close = difflib.get_close_matches(format, FORMATS, n=1)
        hint = f"; did you mean {close[0]}?" if close else "."
        raise InputError(f"Unknown format {format!r}: known are {', '.join(FORMATS)}{hint}")
    given = {} if zone is None else {"zone": zone}
    return FORMATS[format](Path(path), problems, **given)
