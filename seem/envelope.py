"""Values into the plain dicts that callers get: the envelope that users of memory libraries know.

Knows nothing about how anything was found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from seem.scope import IDS
from seem.types import Context, Event, Fact, Frame, Hit, Passage, StoredFact, TimeSpan

if TYPE_CHECKING:
    from seem.access import Changed
    from seem.pipeline import Remembered
    from seem.store.reader import HistoryEntry


def passage_dict(passage: Passage) -> dict[str, Any]:
    """Give a memory item: a passage in its original words."""
    ids = {name: passage.metadata.get(name) for name in IDS}
    own = {k: v for k, v in passage.metadata.items() if k not in IDS}
    return {
        "id": passage.id,
        "memory": passage.text,
        "speaker": passage.speaker,
        "session": passage.session,
        "time": iso(passage.time),
        "image": passage.image or None,
        "readers": list(passage.readers),
        "status": passage.status,
        "metadata": own,
        **ids,
        "created_at": iso(passage.created_at),
        "updated_at": iso(passage.updated_at),
    }


def hit_dict(hit: Hit, explain: bool) -> dict[str, Any]:
    """Give a found item with its score, and the rank in each list that found it."""
    return {**passage_dict(hit.passage), "score": round(hit.score, 6)} | (
        {"score_details": dict(hit.trace)} if explain else {}
    )


def added_dict(told: Remembered) -> dict[str, Any]:
    """Give what became of one message: ADD, MERGE where it joined a known event, NOOP where it was known already."""
    event = "NOOP" if not told.created else "MERGE" if told.merged else "ADD"
    return {
        **passage_dict(told.passage),
        "event": event,
        "frame": frame_dict(told.frame) if told.frame else None,
        "facts": [fact_dict(f) for f in told.facts],
        "error": told.error or None,
    }


def frame_dict(frame: Frame) -> dict[str, Any]:
    """Give an episodic event frame."""
    return {
        "id": frame.id,
        "summary": frame.summary,
        "events": [event_dict(e) for e in frame.events],
        "passages": list(frame.provenance),
    }


def frames_dict(frames: Sequence[Frame]) -> dict[str, Any]:
    """Give the frames that a correction changed."""
    return {"frames": [frame_dict(frame) for frame in frames]}


def event_dict(event: Event) -> dict[str, Any]:
    """Give the six slots of an event."""
    return {
        "participants": list(event.participants),
        "action": event.action,
        "time": time_dict(event.time),
        "location": event.location,
        "causality": event.causality,
        "manner": event.manner,
    }


def fact_dict(fact: StoredFact) -> dict[str, Any]:
    """Give a temporal fact with its validity and sources."""
    return {
        "id": fact.id,
        **quadruple_dict(fact.fact),
        "valid_at": fact.valid_at,
        "invalid_at": fact.invalid_at,
        "created_at": iso(fact.created_at),
        "expired_at": iso(fact.expired_at),
        "superseded_by": fact.superseded_by,
        "passages": list(fact.provenance),
    }


def quadruple_dict(fact: Fact) -> dict[str, Any]:
    """Give subject, relation, object and time words of a fact."""
    return {"subject": fact.subject, "relation": fact.relation, "object": fact.object, "time": time_dict(fact.time)}


def change_dict(entry: HistoryEntry) -> dict[str, Any]:
    """Give one line of an item's history."""
    return {
        "memory_id": entry.change.item_id,
        "event": entry.change.event,
        "old_memory": entry.change.old,
        "new_memory": entry.change.new,
        "old_passages": list(entry.before),
        "new_passages": list(entry.after),
        "actor_id": entry.change.actor or None,
        "created_at": entry.at.isoformat(),
        "is_deleted": entry.change.event == "DELETE",
    }


def changes_dict(changes: Sequence[Changed]) -> dict[str, Any]:
    """Give what a change of rights did, over one memory or several."""
    return {
        "changed": [i for change in changes for i in change.passages],
        "again": [i for change in changes for i in change.again],
        "errors": {i: error for change in changes for i, error in change.errors.items()},
    }


def time_dict(time: TimeSpan | None) -> dict[str, Any] | None:
    """Give a time as it was said and as it was resolved."""
    return dataclasses.asdict(time) if time else None


def context_dict(context: Context, explain: bool = False) -> dict[str, Any]:
    """Give what a search found."""
    return {
        "results": [hit_dict(h, explain) for h in context.hits],
        "frames": [frame_dict(f) for f in context.frames],
        "facts": [fact_dict(f) for f in context.facts],
        "context": context.text,
        "tokens": context.tokens,
        "route": context.route,
    }


def iso(moment: datetime | None) -> str | None:
    """Give a moment as ISO 8601."""
    return moment.isoformat() if moment else None
