"""JSON files, whole or by line, with errors that say in one sentence what is wrong with them.

Takes a path, gives parsed values. Numbers that JSON does not know (NaN, Infinity) are refused, since no database keeps
them. Knows nothing about messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seem.errors import InputError


def read_json(path: Path) -> Any:
    """Parse a whole file; raise InputError that names it."""
    try:
        return parse(path.read_bytes())
    except OSError as error:
        raise InputError(f"The file {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise InputError(f"The file {str(path)!r} is not JSON: {error}.") from error


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Give (number from 1, line) of a file's lines that are not blank; raise InputError where it cannot be read."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise InputError(f"The file {str(path)!r} cannot be read: {error.strerror or error}.") from error


def parse(data: bytes) -> Any:
    """Parse UTF-8 (UTF-16 and -32 too, with or without a mark); raise ValueError that says what is wrong."""
    try:
        return json.loads(data, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno}, column {error.colno}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not valid {error.encoding}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
