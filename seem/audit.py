"""Who did what to which ids, and when: the trail as plain dicts, and who acts.

Every write leaves a line in the same transaction; reads do where ``audit.reads`` says so. Holds no content, so it stays
when what it tells of is deleted. Knows nothing about where callers come from: they say who acts with ``acting``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from seem.store.ledger import ACTOR
from seem.store.rows import moment
from seem.store.store import Store
from seem.store.trail import Entry


@contextmanager
def acting(actor: str) -> Iterator[None]:
    """Say who acts in what is done meanwhile, in this thread or task."""
    before = ACTOR.set(actor)
    try:
        yield
    finally:
        ACTOR.reset(before)


def entry_dict(entry: Entry) -> dict[str, Any]:
    """Give a line of the trail."""
    return {
        "id": entry.id,
        "at": entry.at,
        "actor": entry.actor or None,
        "action": entry.action,
        "memory": entry.memory,
        "generation": entry.generation,
        "ids": dict(entry.ids),
        "removed": dict(entry.removed),
    }


def page(
    store: Store, since: datetime | None, until: datetime | None, *, after: int, limit: int | None, **which: str | None
) -> dict[str, Any]:
    """Give lines of the trail, oldest first, and where the next page begins (``None``: nothing follows)."""
    more = None if limit is None else limit + 1
    found = store.audit(since=moment(since), until=moment(until), after=after, limit=more, **which)
    shown = found if limit is None else found[:limit]
    return {
        "results": [entry_dict(entry) for entry in shown],
        "next": shown[-1].id if len(found) > len(shown) else None,
    }


def shown_ids(told: Any) -> dict[str, list[str]]:
    """Give the ids of what a read shows: passages, frames and facts, wherever they stand in the reply."""
    found: dict[str, list[str]] = {"passage": [], "frame": [], "fact": []}
    kinds = {"p_": "passage", "f_": "frame", "k_": "fact"}
    waiting = [told]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            item = value.get("id", value.get("memory_id"))
            if isinstance(item, str) and item[:2] in kinds:
                found[kinds[item[:2]]].append(item)
            # Not into metadata: what stands there is the user's.
            waiting += [value[name] for name in ("results", "frames", "facts", "frame") if name in value]
        elif isinstance(value, list):
            waiting += value
    return {kind: sorted(set(ids)) for kind, ids in found.items()}
