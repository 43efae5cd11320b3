"""Histories in the form of the LongMemEval benchmark: an item a question, with its haystack of sessions.

Takes a path (one item or a list) or an item, gives drafts in order of the sessions' dates: key
``<session>_<turn from 1>``. Which turn holds the answer (``has_answer``) is never read. Items that share a session give
equal keys for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.sources.drafts import Defaults, Problem, to_drafts
from seem.sources.files import read_json
from seem.store.batch import Draft

_WEEKDAY = re.compile(r"\s*\(\w+\)\s*")
_TIME_FORM = "%Y/%m/%d %H:%M"
_PARTS = ("haystack_session_ids", "haystack_dates", "haystack_sessions")


def read(source: Path | Mapping[str, Any], problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Give drafts of every item; a Problem's line counts turns. Raise InputError for another form of file."""
    told = read_json(source) if isinstance(source, Path) else source
    items = [told] if isinstance(told, Mapping) else told
    name = f"The file {str(source)!r}" if isinstance(source, Path) else "The item"
    if not isinstance(items, list) or not all(_is_item(item) for item in items):
        raise InputError(f"{name} is not in LongMemEval form: items with {', '.join(_PARTS)} of one length.")
    messages = (message for item in items for message in _messages(item))
    return to_drafts(enumerate(messages, 1), problems, Defaults(zone))


def _is_item(item: Any) -> bool:
    parts = [item.get(part) for part in _PARTS] if isinstance(item, Mapping) else [None]
    return all(isinstance(part, list) for part in parts) and len({len(part) for part in parts if part is not None}) == 1


def _messages(item: Mapping[str, Any]) -> Iterator[Any]:
    sessions = [(name, _time(date), turns) for name, date, turns in zip(*(item[part] for part in _PARTS), strict=True)]
    if all(isinstance(time, datetime) for _, time, _ in sessions):
        sessions.sort(key=lambda session: session[1])
    for name, time, turns in sessions:
        for number, turn in enumerate(turns if isinstance(turns, list) else [turns], 1):
            if not isinstance(turn, Mapping):
                yield turn
                continue
            told = {key: turn.get(key) for key in ("role", "content")}
            yield told | {"id": f"{name}_{number}", "session": name, "time": time}


def _time(told: Any) -> Any:
    """Give the time without a zone; what is not in the benchmark's form is left for the reader of times to refuse."""
    try:
        return datetime.strptime(_WEEKDAY.sub(" ", told), _TIME_FORM)
    except (TypeError, ValueError):
        return told
