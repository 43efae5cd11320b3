"""A dump of Mem0: what ``get_all`` gives, as JSON (``results`` or a bare list) or JSON lines.

Takes a path, gives a draft a memory, the earliest first. Mem0 keeps conclusions, not the words that they were drawn
from; they are passages here. Its ids stay in the metadata. A dump of several owners is refused, since a memory has one.
A Problem's line counts records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from seem.sources.drafts import Defaults, Problem, to_drafts, worded_key
from seem.sources.dump import in_order, one_owner, recorded
from seem.store.batch import Draft

_OWNERS = ("user_id", "agent_id", "run_id")
_WORDS = ("memory", "text", "data")


def read(source: Path, problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Give drafts of the memories; raise InputError where the file is no dump, or one of several owners."""
    told = recorded(source, problems, inside=("results", "memories"), what="a Mem0 dump")
    one_owner(source, told, next((name for name in _OWNERS if any(record.get(name) for _, record in told)), "user_id"))
    ordered = in_order(told, ("created_at",))
    return to_drafts(((number, _message(record)) for number, record in ordered), problems, Defaults(zone))


def _message(record: Mapping[str, Any]) -> Mapping[str, Any]:
    text = next((record[name] for name in _WORDS if record.get(name)), None)
    own = record.get("metadata")
    kept = {f"mem0_{name}": record[name] for name in ("id", *_OWNERS, "updated_at", "categories") if record.get(name)}
    named = record.get("id")
    return {
        "id": worded_key(f"mem0/{named}", text) if named and isinstance(text, str) else named,
        "text": text,
        "speaker": record.get("actor_id"),
        "role": record.get("role"),
        "session": record.get("run_id"),
        "time": record.get("created_at"),
        "metadata": {**own, **kept} if isinstance(own, Mapping) else own or kept,
    }
