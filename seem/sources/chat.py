"""Messages as chat programs have them: role and content, and where given name, timestamp, id, session.

Takes a sentence, one message, a list of messages, or the path of a JSON file that holds one of these (or an object with
``messages``). A system prompt is stored, but nothing is extracted from it; a tool call is a message of its own. Knows
nothing about storage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.sources.drafts import Defaults, Problem, parse_time, to_drafts
from seem.sources.files import read_json
from seem.sources.tools import expand
from seem.store.batch import Draft

Messages = str | Mapping[str, Any] | Sequence[Mapping[str, Any] | str]


def read(
    source: Messages | Path,
    problems: list[Problem],
    *,
    zone: tzinfo = UTC,
    session: str = "",
    timestamp: datetime | str | int | float | None = None,
    readers: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    infer: bool = True,
) -> Iterator[Draft]:
    """Give drafts of the messages; the keyword arguments serve those that do not say themselves.

    Raise InputError where the whole is no list of messages, or ``timestamp`` no time.
    """
    told = _unwrap(read_json(source)) if isinstance(source, Path) else source
    messages = [told] if isinstance(told, str | Mapping) else told
    if not isinstance(messages, Sequence) or isinstance(messages, bytes | bytearray):
        name = f"The file {str(source)!r}" if isinstance(source, Path) else "The input"
        raise InputError(f"{name} must hold a list of messages with role and content, not a {type(told).__name__}.")
    extra = dict(metadata or {})
    time = None
    if timestamp is not None:
        try:
            time, assumed = parse_time(timestamp, zone)
        except ValueError as error:
            raise InputError(f"The timestamp cannot be used: {error}.") from error
        extra |= {"zone_assumed": True} if assumed else {}
    defaults = Defaults(zone, session, time, tuple(readers), extra, infer)
    whole = ({"role": "user", "content": message} if isinstance(message, str) else message for message in messages)
    return to_drafts(expand(enumerate(whole, 1), problems), problems, defaults)


def _unwrap(told: Any) -> Any:
    return told["messages"] if isinstance(told, Mapping) and "messages" in told else told
