"""Limits on what one request may hold, each named in the refusal. Takes wire values; knows nothing about routes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from seem.errors import InputError
from serving.config import Limits
from serving.errors import ApiError

DEEPEST = 64


def check_messages(messages: Any, limits: Limits) -> int:
    """Give how many messages there are; refuse too many and too long ones."""
    listed = messages if isinstance(messages, list) else [messages]
    if len(listed) > limits.messages:
        raise _over("messages", len(listed), limits.messages, "send them in several requests, or use /v1/import")
    for message in listed:
        check_text(message, limits)
    return len(listed)


def check_shape(told: Any) -> None:
    """Refuse what no reply could tell again: numbers that are none, and what is nested too deeply to be walked."""
    level = [told]
    for _ in range(DEEPEST):
        level = [part for value in level for part in _parts(value)]
        if not level:
            return
        if any(isinstance(value, float) and not math.isfinite(value) for value in level):
            raise InputError("a number is not finite (NaN, Infinity, or too large); give it as text")
    raise InputError(f"the request is nested more than {DEEPEST} levels deep; flatten it")


def check_text(told: Any, limits: Limits) -> None:
    """Refuse a text that is too long, wherever in a message it stands."""
    if isinstance(told, str) and len(told) > limits.text_chars:
        raise _over("characters of one text", len(told), limits.text_chars, "split it")
    if isinstance(told, Mapping):
        for value in told.values():
            check_text(value, limits)
    if isinstance(told, list):
        for value in told:
            check_text(value, limits)


def check_query(query: str, limits: Limits) -> None:
    """Refuse a question that is too long."""
    if len(query) > limits.query_chars:
        raise _over("characters of a question", len(query), limits.query_chars, "shorten it")


def page_size(limit: int | None, limits: Limits) -> int:
    """Give the size of a page; refuse one over the limit."""
    if limit is not None and limit > limits.page:
        raise _over("items of a page", limit, limits.page, "follow «next»")
    return limit or min(50, limits.page)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _over(what: str, count: int, limit: int, hint: str) -> ApiError:
    return ApiError(413, "too_large", f"{count} {what} are more than the limit of {limit}; {hint}", limit=limit)
