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
_BEGINNINGS = 20
_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Read:
    """``value`` is ``None`` where there was no object; ``complete`` is false where only whole list items were kept."""

    value: dict[str, Any] | None
    complete: bool


def read_object(text: str) -> Read:
    """Read the object; half characters in it are replaced."""
    text = _THOUGHT.sub("", text)
    starts = [m.start() for m in re.finditer(r"\{", text)][:_BEGINNINGS]
    for start in starts:
        value = _decoded(text, start)
        # An empty object before the answer is a stray pair of braces in its prose.
        if value and isinstance(value, dict):
            return Read(_clean(value), True)
    kept = _decoded(_cut(text[starts[0] :]), 0) if starts else None
    return Read(_clean(kept) if isinstance(kept, dict) else None, False)


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


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {whole(key): _clean(item) for key, item in value.items()}
    return value
