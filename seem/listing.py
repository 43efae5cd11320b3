"""What a loaded memory holds, page by page: passages in order of arrival, frames and facts in order of birth.

Takes a state, gives the dicts that callers get and where the next page begins; a page stays where it is while items come
and go. Knows nothing about questions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from typing import Any, Literal

from seem.envelope import fact_dict, frame_dict, passage_dict
from seem.errors import InputError
from seem.state import State
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


def _passages(
    state: State, limit: int, after: str, allowed: Collection[str] | None
) -> tuple[list[dict[str, Any]], str | None]:
    if after and not (after.isdecimal() and after.isascii()):
        raise InputError(f"{after!r} is no place in a list of passages; give «next» of the page before")
    start = bisect_right(state.order, int(after) if after else -1, key=lambda i: state.passages[i].position)
    found: list[dict[str, Any]] = []
    place = after
    for passage_id in state.order[start:]:
        if allowed is not None and passage_id not in allowed:
            continue
        if len(found) == limit:
            return found, place
        found.append(passage_dict(state.passages[passage_id]))
        place = str(state.passages[passage_id].position)
    return found, None


def _frame(state: State, frame_id: str, allowed: Collection[str] | None) -> dict[str, Any] | None:
    frame = readable(state.frames[frame_id], state.passages, state.extractions, allowed)
    return frame_dict(frame) if frame else None


def _fact(state: State, fact_id: str, allowed: Collection[str] | None) -> dict[str, Any] | None:
    fact = state.facts[fact_id]
    return fact_dict(fact) if allowed is None or set(fact.provenance) <= set(allowed) else None
