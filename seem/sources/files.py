"""JSON files, whole, by record or by line, with errors that say in one sentence what is wrong with them.

Takes a path or bytes, gives parsed values. Numbers that JSON does not know (NaN, Infinity) are refused, since no
database keeps them. Knows nothing about messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.sources.drafts import Problem


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


def records(data: bytes, problems: list[Problem], *, inside: Sequence[str] = ()) -> list[Any]:
    """Give the elements of a JSON list, of the list that an object holds under a name of ``inside``, or of JSON lines.

    Of a list that is cut off or damaged, what stands before the damage is given and the rest told in ``problems``.
    Raise ValueError where there is no list.
    """
    try:
        told = parse(data)
    except ValueError as error:
        found = _before_damage(data.decode("utf-8-sig", "replace"), inside, problems)
        if not found:
            raise error
        return found
    if isinstance(told, dict):
        told = next((told[name] for name in inside if isinstance(told.get(name), list)), told)
    if not isinstance(told, list):
        raise ValueError(f"it holds no list of records, but {_kind(told)}")
    return told


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


def _before_damage(text: str, inside: Sequence[str], problems: list[Problem]) -> list[Any]:
    """Give the whole elements of a damaged list, or of JSON lines."""
    names = "|".join(map(re.escape, inside))
    opening = re.compile(rf'\s*(?:\[|\{{[^\[]*?"(?:{names})"\s*:\s*\[)' if inside else r"\s*\[").match(text)
    if opening is None:
        return _by_line(text, problems)
    decoder = json.JSONDecoder(parse_constant=_refuse)
    found: list[Any] = []
    at = opening.end()
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if text.startswith("]", at):
            return found
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            if found:
                line = text.count("\n", 0, at) + 1
                problems.append(Problem(line, "the file is damaged or cut off here; what follows cannot be read"))
            return found
        found.append(value)


def _by_line(text: str, problems: list[Problem]) -> list[Any]:
    found, wrong = [], []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            found += [parse(line.encode())] if line.strip() else []
        except ValueError as error:
            wrong.append(Problem(number, f"not JSON: {error}"))
    problems += wrong if found else []
    return found


def _kind(value: Any) -> str:
    return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
