"""The JSON object in a large model's answer: found among prose, fences and thoughts, and kept as far as it was whole.

Takes ANY text and never raises. Knows nothing about tasks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from seem.prompts.texts import whole

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_BEGINNING = re.compile(r'\{\s*"')
_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Read:
    """``value`` is ``None`` where there was no object; ``complete`` is false where only whole list items were kept."""

    value: dict[str, Any] | None
    complete: bool


def read_object(text: str) -> Read:
    """Read the object; half characters in it are replaced."""
    text = _THOUGHT.sub("", text)
    # Braces in the prose before the answer hold no key.
    start = _BEGINNING.search(text)
    if start is None:
        return Read(None, False)
    value = _decoded(text, start.start())
    if isinstance(value, dict):
        return Read(cleaned(value), True)
    kept = _decoded(_cut(text[start.start() :]), 0)
    return Read(cleaned(kept) if isinstance(kept, dict) else None, False)


def _decoded(text: str, start: int) -> Any:
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _cut(text: str) -> str:
    """End the text after the last object that was a whole item of a list, and close what is open around it."""
    stack: list[str] = []
    end, closing = 0, ""
    quoted = escaped = False
    for at, letter in enumerate(text):
        if quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        elif letter in _CLOSING:
            stack.append(letter)
        elif letter in "}]":
            if not stack or _CLOSING[stack.pop()] != letter:
                break
            if letter == "}" and stack and stack[-1] == "[":
                end, closing = at + 1, "".join(_CLOSING[s] for s in reversed(stack))
    return text[:end] + closing


def cleaned(value: Any) -> Any:
    """Give a JSON value with every lone surrogate in it replaced."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {whole(key): cleaned(item) for key, item in value.items()}
    return value
