"""What callers give, checked and brought into one form: messages, a question, a number, a moment, other words.

Takes plain values, gives plain values; raises InputError that says what to give instead. Knows nothing about memories.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from seem.errors import InputError
from seem.scope import IDS
from seem.sources import chat
from seem.sources.drafts import Problem, parse_time, storable
from seem.store.batch import Draft

_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
Messages = str | Mapping[str, Any] | Sequence[Mapping[str, Any] | str]


def drafts_of(
    messages: Messages,
    *,
    session: str,
    timestamp: datetime | str | float | None,
    readers: Sequence[str],
    metadata: dict[str, Any],
    infer: bool,
) -> tuple[list[Draft], list[Problem]]:
    """Give the drafts of messages, and what was left out and why; refuse messages that hold nothing."""
    problems: list[Problem] = []
    drafts = list(
        chat.read(
            messages,
            problems,
            session=session,
            timestamp=timestamp,
            readers=readers,
            metadata=metadata,
            infer=infer,
        )
    )
    if not drafts:
        why = problems[0].why if problems else "no message was given"
        raise InputError(f"there is nothing to remember: {why}")
    return drafts, problems


def question_text(query: str) -> str:
    """Give a question as text that can be encoded."""
    if not isinstance(query, str) or not query.strip():
        raise InputError("the question is empty; ask something")
    return query.encode("utf-8", "replace").decode("utf-8")


def count(top_k: int | None, limit: int | None) -> int:
    """Give the number of items that is wanted under either name; 0 where none was given."""
    if top_k is not None and limit is not None and top_k != limit:
        raise InputError(f"top_k={top_k} and limit={limit} mean the same thing; give one")
    chosen = top_k if top_k is not None else limit
    if chosen is not None and chosen < 1:
        raise InputError(f"top_k must be at least 1, not {chosen}")
    return chosen or 0


def as_moment(as_of: datetime | str | float | None) -> datetime | None:
    """Give the moment that is meant; a day, month or year alone means its end, a time without zone is UTC."""
    if as_of is None:
        return None
    if isinstance(as_of, str) and _DATE.fullmatch(as_of.strip()):
        year, month, day = (int(part) for part in (as_of.strip() + "-12-31").split("-")[:3])
        try:
            last = day if as_of.count("-") == 2 else monthrange(year, month)[1]
            return datetime(year, month, last, 23, 59, 59, 999999, UTC)
        except ValueError:
            raise InputError(f"as_of {as_of!r} is no date of the calendar; give a moment as ISO 8601") from None
    try:
        return parse_time(as_of, UTC)[0]
    except ValueError as error:
        raise InputError(f"as_of: {error}; give a moment as ISO 8601") from None


def revision(
    text: str | None, data: str | None, metadata: Mapping[str, Any] | None
) -> tuple[str | None, Mapping[str, Any]]:
    """Give the other words (under either name) and the other metadata of a passage, fit to be stored."""
    words = text if text is not None else data
    if words is None and metadata is None:
        raise InputError("nothing to update: give text or metadata")
    if words is not None and (not isinstance(words, str) or not words.strip()):
        raise InputError("the new text is empty or no text; use delete to remove a passage")
    fixed = sorted(set(metadata or {}) & set(IDS))
    if fixed:
        raise InputError(
            f"{fixed[0]} says whose memory it is and cannot be changed by update; "
            "add the passage to the other memory instead"
        )
    return (None if words is None else storable(words)), storable(metadata or {})
