"""Conversations of other programs, as drafts: one module a format, all with ``read(source, problems, …)``.

Takes a format's name and a path, gives drafts in the order in which they were said. What cannot be used is collected
as a Problem and left out without losing the rest; a file that cannot be read at all is an InputError. Knows nothing
about storage.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import UTC, tzinfo
from pathlib import Path

from seem.errors import InputError
from seem.sources import chat, jsonl, locomo, longmemeval
from seem.sources.drafts import Problem
from seem.store.batch import Draft

__all__ = ["FORMATS", "Problem", "read"]

FORMATS = {"chat": chat.read, "jsonl": jsonl.read, "locomo": locomo.read, "longmemeval": longmemeval.read}


def read(format: str, path: Path | str, problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Read a file of the named format; ``zone`` belongs to times without one. Raise InputError for the whole file."""
    if format not in FORMATS:
        close = difflib.get_close_matches(format, FORMATS, n=1)
        hint = f"; did you mean {close[0]}?" if close else "."
        raise InputError(f"Unknown format {format!r}: known are {', '.join(FORMATS)}{hint}")
    return FORMATS[format](Path(path), problems, zone=zone)
