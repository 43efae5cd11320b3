"""What a loaded memory holds, page by page: passages in order of arrival, frames and facts in order of birth.

Takes a state, gives the dicts that callers get and where the next page begins; a page stays where it is while items come
and go. Knows nothing about questions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection
from typing import Any, Literal

from seem.envelope import fact_dict, frame_dict, passage_dict
from seem.errors import InputError
from seem.state import State
from seem.store.schema import STATUSES
from seem.types import Passage
from seem.write.fold import readable

Kind = Literal["passages", "frames", "facts"]


def listing(
    state: State, kind: Kind, limit: int, after: str, allowed: Collection[str] | None
) -> tuple[list[dict[str, Any]], str | None]:
    """Give ``limit`` items that follow ``after``, and the place of the last one; ``None`` where nothing follows."""
    if limit < 1:
        raise InputError(f"limit must be at least 1, not {limit}")
    if kind == "passages":
        return _passages(state, limit, after, allowed)
    if after and not after.startswith("f_" if kind == "frames" else "k_"):
        raise InputError(f"{after!r} is no place in a list of {kind}; give «next» of the page before")
    ids = sorted(state.frames if kind == "frames" else state.facts)
    found: list[dict[str, Any]] = []
    for item_id in ids[bisect_right(ids, after) :]:
        told = _frame(state, item_id, allowed) if kind == "frames" else _fact(state, item_id, allowed)
        if told is not None and len(found) == limit:
            return found, found[-1]["id"]
        if told is not None:
            found.append(told)
    return found, None


def whole(state: State, passage: Passage) -> dict[str, Any]:
    """Give a passage with the frame and the facts that were made of it."""
    frame_id = state.frame_of.get(passage.id)
    facts = [fact_dict(state.facts[i]) for i in sorted(state.facts_of.get(passage.id, ()))]
    return {**passage_dict(passage), "frame": frame_dict(state.frames[frame_id]) if frame_id else None, "facts": facts}


def item(state: State, item_id: str) -> dict[str, Any]:
    """Give one passage with what was made of it, or one frame or fact, of those that the state holds."""
    if item_id in state.passages:
        return whole(state, state.passages[item_id])
    return frame_dict(state.frames[item_id]) if item_id in state.frames else fact_dict(state.facts[item_id])


def counted(state: State) -> dict[str, int]:
    """Count the passages by status and everything made of them, under the names that the store counts them by."""
    extractions = state.extractions.values()
    by_status = Counter(passage.status for passage in state.passages.values())
    return {
        "passages": len(state.passages),
        "extractions": len(extractions),
        "frames": len(state.frames),
        "entities": len(state.entities),
        "facts": len(state.facts),
        **{status: by_status[status] for status in STATUSES},
        "closed_facts": sum(fact.expired_at is not None for fact in state.facts.values()),
        "truncated": sum(extraction.truncated for extraction in extractions),
        "dropped": sum(extraction.dropped for extraction in extractions),
    }


def _passages(
    state: State, limit: int, after: str, allowed: Collection[str] | None
) -> tuple[list[dict[str, Any]], str | None]:
    if after and not after.startswith("p_"):
        raise InputError(f"{after!r} is no place in a list of passages; give «next» of the page before")
    found: list[dict[str, Any]] = []
    for passage_id in state.order[_following(state, after) :]:
        if allowed is not None and passage_id not in allowed:
            continue
        if len(found) == limit:
            return found, found[-1]["id"]
        found.append(passage_dict(state.passages[passage_id]))
    return found, None


def _following(state: State, after: str) -> int:
    """Give where in the order of arrival the passages after one begin, also where that one has gone meanwhile."""
    if after in state.passages:
        return state.order.index(after) + 1
    # Ids rise with time, in the order of arrival of one process.
    return next((n for n, passage_id in enumerate(state.order) if passage_id > after), len(state.order))


def _frame(state: State, frame_id: str, allowed: Collection[str] | None) -> dict[str, Any] | None:
    frame = readable(state.frames[frame_id], state.passages, state.extractions, allowed)
    return frame_dict(frame) if frame else None


def _fact(state: State, fact_id: str, allowed: Collection[str] | None) -> dict[str, Any] | None:
    fact = state.facts[fact_id]
    return fact_dict(fact) if allowed is None or set(fact.provenance) <= set(allowed) else None
