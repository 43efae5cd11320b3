"""Episodes of Graphiti: what ``retrieve_episodes`` gives, as a JSON list (or ``episodes``) or JSON lines.

Takes a path, gives a draft an episode in order of ``valid_at``, when it was said; entities and edges are drawn anew. The
speaker of a message episode stands before its first colon. Ids stay in the metadata. A dump of several groups is refused,
since a memory has one owner. A Problem's line counts records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from seem.sources.drafts import Defaults, Problem, to_drafts, worded_key
from seem.sources.dump import in_order, one_owner, recorded
from seem.store.batch import Draft

_SPOKEN = re.compile(r"(?P<who>[^:\n()]{1,60}?) ?(?:\((?P<role>\w+)\))?: ?(?P<text>.+)", re.DOTALL)
_LATER = re.compile(r"\n[^:\n()]{1,60}(?:\(\w+\))?: ")


def read(source: Path, problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Give drafts of the episodes; raise InputError where the file holds none, or those of several groups."""
    told = recorded(source, problems, inside=("episodes",), what="a list of Graphiti episodes")
    one_owner(source, told, "group_id")
    ordered = in_order(told, ("valid_at", "created_at"))
    return to_drafts(((number, _message(record)) for number, record in ordered), problems, Defaults(zone))


def _message(record: Mapping[str, Any]) -> Mapping[str, Any]:
    content = record.get("content")
    spoken = _SPOKEN.fullmatch(content) if isinstance(content, str) and record.get("source") == "message" else None
    # Several speakers in one episode stay as they are: nobody's words are told as another's.
    if spoken and _LATER.search(spoken["text"]):
        spoken = None
    named = record.get("uuid")
    kept = ("uuid", "name", "group_id", "source", "source_description")
    return {
        "id": worded_key(f"graphiti/{named}", content) if named and isinstance(content, str) else None,
        "text": spoken["text"] if spoken else content,
        "speaker": spoken["who"] if spoken else None,
        "role": spoken["role"] if spoken else None,
        "session": record.get("group_id"),
        "time": record.get("valid_at") or record.get("created_at"),
        "metadata": {f"graphiti_{name}": record[name] for name in kept if record.get(name)},
    }
