"""The words of a Slack message: its text, blocks or attachments, with mentions and links as people read them.

Takes a message's fields and the names of people and channels; gives plain text. Knows nothing about files or times.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MARK = re.compile(r"<([@#!]?)([^<>|\n]*)(?:\|([^<>\n]*))?>")


@dataclass(frozen=True, slots=True)
class Names:
    """What people and channels are called, by their ids."""

    people: Mapping[str, str]
    channels: Mapping[str, str]


def words_of(message: Mapping[str, Any]) -> str:
    """Give the text as Slack writes it; a bot's message may have it in attachments or blocks alone."""
    text = message.get("text")
    if text is not None and not isinstance(text, str):
        raise ValueError("the text must be a string")
    if text and text.strip():
        return text
    attached = message.get("attachments")
    found = []
    for part in attached if isinstance(attached, list) else []:
        if isinstance(part, Mapping):
            told = [part.get(name) for name in ("pretext", "title", "text")]
            lines = [word for word in told if isinstance(word, str) and word.strip()]
            fallback = part.get("fallback")
            found += lines or ([fallback] if isinstance(fallback, str) and fallback.strip() else [])
    return "\n".join(found) or _in_blocks(message.get("blocks"))


def plain(text: str, names: Names) -> str:
    """Give the text with mentions as names, links as their words, and signs unescaped."""
    return html.unescape(_MARK.sub(lambda match: _read(match, names), text)).strip()


def _read(match: re.Match[str], names: Names) -> str:
    sign, target, label = match.groups()
    if sign == "@":
        return f"@{names.people.get(target) or label or target}"
    if sign == "#":
        return f"#{names.channels.get(target) or label or target}"
    if sign == "!":
        return label or f"@{target.partition('^')[0]}"
    return label if label and label not in target else target.removeprefix("mailto:")


def _in_blocks(blocks: Any) -> str:
    """Give the strings under ``text`` in blocks of any shape, in their order."""
    found: list[str] = []
    waiting = [blocks]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += reversed(part)
        elif isinstance(part, Mapping):
            if isinstance(part.get("text"), str):
                found.append(part["text"])
            waiting += [value for value in reversed(list(part.values())) if isinstance(value, list | Mapping)]
    return "".join(found) if len(found) < 2 else " ".join(word.strip() for word in found if word.strip())
