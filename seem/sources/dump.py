"""Records that another memory library wrote out, as JSON or JSON lines, and whose they are.

Takes a path, gives numbered mappings. Knows no library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.sources.drafts import Problem, parse_time
from seem.sources.files import records

Records = list[tuple[int, Mapping[str, Any]]]


def recorded(source: Path, problems: list[Problem], *, inside: Sequence[str], what: str) -> Records:
    """Give the records by their number from 1; raise InputError where the file holds no list of them."""
    try:
        told = records(source.read_bytes(), problems, inside=inside)
    except OSError as error:
        raise InputError(f"The file {str(source)!r} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise InputError(f"The file {str(source)!r} is not {what}: {error}.") from error
    found = [(number, record) for number, record in enumerate(told, 1) if isinstance(record, Mapping)]
    problems += [
        Problem(n, "a record is an object") for n, record in enumerate(told, 1) if not isinstance(record, Mapping)
    ]
    return found


def in_order(told: Records, times: Sequence[str]) -> Records:
    """Give the records by the first of these times that each tells, those without one first."""

    def moment(record: Mapping[str, Any]) -> datetime:
        value = next((record[name] for name in times if record.get(name)), None)
        try:
            return parse_time(value, UTC)[0]
        except ValueError:
            return datetime.min.replace(tzinfo=UTC)

    return sorted(told, key=lambda pair: moment(pair[1]))


def one_owner(source: Path, told: Records, field: str) -> None:
    """Refuse records of several owners: they would meet in one memory."""
    owners = sorted({str(record[field]) for _, record in told if isinstance(record.get(field), str | int)})
    if len(owners) > 1:
        shown = ", ".join(owners[:5]) + (", …" if len(owners) > 5 else "")
        raise InputError(
            f"The file {str(source)!r} holds records of several {field}s ({shown}); write out one at a time, so that "
            "nobody's memory takes in another's."
        )
