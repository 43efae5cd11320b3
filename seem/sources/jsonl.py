"""One JSON object a line: ``text`` or ``content``, and speaker, session, time, id, image, metadata, readers if given.

Takes a path, gives drafts line by line, so that the file may be large; a malformed line loses only itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.sources.drafts import Defaults, Problem, to_drafts
from seem.sources.files import parse, read_lines
from seem.store.batch import Draft


def read(source: Path, problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Give drafts of the file's lines; raise InputError where there is no such file."""
    if not source.is_file():
        raise InputError(f"There is no file {str(source)!r}.")
    return to_drafts(_objects(source, problems), problems, Defaults(zone))


def _objects(source: Path, problems: list[Problem]) -> Iterator[tuple[int, Any]]:
    for number, line in read_lines(source):
        try:
            yield number, parse(line)
        except ValueError as error:
            problems.append(Problem(number, f"not JSON: {error}"))
