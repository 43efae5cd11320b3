"""ChatGPT's export: ``conversations.json``, alone or in its zip or folder.

Takes a path, gives drafts conversation by conversation, the earliest first: the branch that ends in ``current_node``, so
that what was edited or regenerated away is not told. Hidden nodes, the model's thoughts and the custom instructions are
no conversation and are passed over; pictures and files become placeholders. Times are unix seconds, told in the zone
given. A Problem's line counts conversations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.sources.archive import one
from seem.sources.drafts import ROLE_NAMES, Defaults, Problem, parse_time, shown, to_drafts
from seem.sources.files import records
from seem.store.batch import Draft

_NOT_SAID = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")
# Footnote marks of the web tool, in characters of private use.
_CITED = re.compile("\ue200[^\ue200\ue201]*\ue201")
_MEDIA = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "audio",
    "video_container_asset_pointer": "video",
    "real_time_user_audio_video_asset_pointer": "audio",
}


def read(source: Path, problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Give drafts of every conversation; raise InputError where the file is no such export."""
    try:
        told = records(one(source, r"conversations\.json"), problems)
    except ValueError as error:
        raise InputError(f"The file {str(source)!r} is not ChatGPT's conversations.json: {error}.") from error
    numbered = [(n, conversation) for n, conversation in enumerate(told, 1) if _usable(n, conversation, problems)]
    if told and not numbered:
        raise InputError(f"The file {str(source)!r} is not ChatGPT's conversations.json: no element has a mapping.")
    numbered.sort(key=lambda pair: _seconds(pair[1]))
    messages = (pair for n, conversation in numbered for pair in _messages(n, conversation, problems, zone))
    return to_drafts(messages, problems, Defaults(zone))


def _usable(number: int, conversation: Any, problems: list[Problem]) -> bool:
    if isinstance(conversation, Mapping) and isinstance(conversation.get("mapping"), Mapping):
        return True
    problems.append(Problem(number, "a conversation is an object with a mapping of nodes"))
    return False


def _seconds(conversation: Mapping[str, Any]) -> float:
    told = conversation.get("create_time")
    return float(told) if isinstance(told, int | float) and 0 < told < 1e11 else 0.0


def _messages(
    number: int, conversation: Mapping[str, Any], problems: list[Problem], zone: tzinfo
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    session = conversation.get("conversation_id") or conversation.get("id") or f"conversation {number}"
    title = conversation.get("title")
    shared = {"title": title} if isinstance(title, str) and title else {}
    time = datetime.fromtimestamp(began, zone) if (began := _seconds(conversation)) else None
    for node in _branch(number, conversation, problems):
        message = node.get("message")
        if message is None:
            continue
        try:
            told = _message(message)
            if told is None:
                continue
            said = message.get("create_time")
            time = parse_time(said, zone)[0].astimezone(zone) if said is not None else time
            yield number, {**told, "session": session, "time": time, "metadata": {**shared, **told["metadata"]}}
        except ValueError as error:
            which = message.get("id") if isinstance(message, Mapping) else node.get("id")
            named = f"message {which[:60]!r}: " if isinstance(which, str) else ""
            problems.append(Problem(number, f"{named}{error}"))


def _branch(number: int, conversation: Mapping[str, Any], problems: list[Problem]) -> list[Mapping[str, Any]]:
    """Give the nodes from the root to the current one."""
    mapping = conversation["mapping"]
    at = conversation.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        leaves = [name for name, node in mapping.items() if isinstance(node, Mapping) and not node.get("children")]
        if mapping:
            problems.append(Problem(number, "no current node is told; the last branch of the file is read"))
        at = leaves[-1] if leaves else None
    path: dict[str, Mapping[str, Any]] = {}
    while isinstance(at, str) and at not in path:
        node = mapping.get(at)
        if not isinstance(node, Mapping):
            problems.append(Problem(number, f"the node {at[:60]!r} is missing; what stands before it is lost"))
            break
        path[at] = node
        at = node.get("parent")
    return list(path.values())[::-1]


def _message(message: Any) -> dict[str, Any] | None:
    """Give a node's message, or ``None`` where nothing was said; raise ValueError where it is malformed."""
    author = message.get("author") if isinstance(message, Mapping) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(author, Mapping) or not isinstance(content, Mapping):
        raise ValueError("a message has an author and a content")
    extra = message.get("metadata")
    extra = extra if isinstance(extra, Mapping) else {}
    role, kind = author.get("role"), content.get("content_type")
    hidden = extra.get("is_visually_hidden_from_conversation") or message.get("weight") == 0
    if hidden or kind in _NOT_SAID:
        return None
    words, media = _content(content)
    media += _attached(extra)
    if not words and not media:
        return None
    tool = message.get("recipient") if message.get("recipient") not in (None, "", "all") else None
    told = {"media": media, "model": extra.get("model_slug"), "tool": tool}
    return {
        "id": message.get("id"),
        "role": role,
        "name": author.get("name") or (ROLE_NAMES.get(role) if isinstance(role, str) else None),
        "text": words or f"[{', '.join(media)}]",
        "infer": bool(words),
        "metadata": {name: value for name, value in told.items() if value},
    }


def _content(content: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Give the words of a content of any kind, and what is there in place of media."""
    kind = content.get("content_type")
    words: list[str] = []
    media: list[str] = []
    parts = content.get("parts")
    if kind == "tether_browsing_display":
        parts = [content.get("result") or content.get("summary") or ""]
    elif kind in ("tether_quote", "system_error"):
        parts = [content.get("title") or content.get("name") or "", content.get("text") or ""]
    elif parts is None and "text" in content:
        parts = [content["text"]]
    if not isinstance(parts, list):
        raise ValueError(f"the content type {shown(kind)} is not known")
    for part in parts:
        if isinstance(part, str):
            words.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            words.append(part["text"])
        elif isinstance(part, Mapping):
            media.append(_MEDIA.get(told, "file") if isinstance(told := part.get("content_type"), str) else "file")
    return _CITED.sub("", "\n".join(word for word in words if word.strip())).strip(), media


def _attached(extra: Mapping[str, Any]) -> list[str]:
    told = extra.get("attachments")
    files = told if isinstance(told, list) else []
    return [f"file {name}" for file in files if isinstance(file, Mapping) and isinstance(name := file.get("name"), str)]
