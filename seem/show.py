"""One item with the whole of its grounds: who said what and when, which version holds, which lost, what ended what.

Takes a loaded memory (or what a reader may read of it) and an id; gives the dict that callers get. Knows nothing about
questions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seem.envelope import event_dict, fact_dict, frame_dict, iso, passage_dict, quadruple_dict, time_dict
from seem.errors import NotFoundError
from seem.state import State
from seem.types import Fact, Frame, StoredFact, TimeSpan
from seem.write.versions import Value, Version, fact_versions, versions


def show(state: State, item_id: str) -> dict[str, Any]:
    """Give a passage, frame or fact with everything that was said of it."""
    if item_id in state.frames:
        return {"kind": "frame", **_frame(state, state.frames[item_id])}
    if item_id in state.facts:
        return {"kind": "fact", **_fact(state, state.facts[item_id])}
    if item_id not in state.passages:
        raise NotFoundError(f"there is no item {item_id!r}; it may have been deleted")
    frame_id = state.frame_of.get(item_id)
    extraction = state.extractions.get(item_id)
    told = None
    if extraction is not None:
        told = {
            "summary": extraction.summary,
            "events": [event_dict(e) for e in extraction.events],
            "facts": [quadruple_dict(f) for f in extraction.facts],
            "model": extraction.model,
            "confidence": extraction.confidence,
            "dropped": extraction.dropped,
            "truncated": extraction.truncated,
        }
    return {
        "kind": "passage",
        **passage_dict(state.passages[item_id]),
        "extraction": told,
        "frame": _frame(state, state.frames[frame_id]) if frame_id else None,
        "facts": [_fact(state, state.facts[i]) for i in sorted(state.facts_of.get(item_id, ()))],
    }


def _frame(state: State, frame: Frame) -> dict[str, Any]:
    told = versions(frame, state.passages, state.extractions)
    return {
        **frame_dict(frame),
        "versions": [
            {"event": event_dict(t.event), "slots": {slot: _said(said) for slot, said in t.slots.items()}} for t in told
        ],
    }


def _fact(state: State, fact: StoredFact) -> dict[str, Any]:
    ended = (f for f in state.facts.values() if f.superseded_by == fact.id)
    by = state.facts.get(fact.superseded_by) if fact.superseded_by else None
    return {
        **fact_dict(fact),
        "holds": fact.invalid_at is None,
        "versions": _said(fact_versions(fact, state.passages, state.extractions, state.entities)),
        "ended_by": fact_dict(by) if by else None,
        "ended": [fact_dict(f) for f in sorted(ended, key=lambda f: f.id)],
    }


def _said(said: Iterable[Version]) -> list[dict[str, Any]]:
    return [
        {
            "passage": version.passage.id,
            "speaker": version.passage.speaker,
            "time": iso(version.passage.time),
            "value": _plain(version.value),
            "holds": version.holds,
        }
        for version in said
    ]


def _plain(value: Value) -> Any:
    if isinstance(value, Fact):
        return quadruple_dict(value)
    if isinstance(value, TimeSpan):
        return time_dict(value)
    return list(value) if isinstance(value, tuple) else value
