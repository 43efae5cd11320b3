"""Values to rows and back: moments as ISO text, slots and metadata as JSON, vectors as little-endian float32.

Takes the values of ``seem.types``, gives dicts for the tables, and the reverse. Knows nothing about connections.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sqlalchemy import Row

from seem.errors import InputError, StoreError
from seem.store.batch import Draft, Vector
from seem.types import Entity, Event, Extraction, Fact, Frame, Passage, StoredFact, TimeSpan


def moment(value: datetime | None) -> str | None:
    """Give UTC ISO text whose order is the order in time; refuse a time without zone."""
    if value is None:
        return None
    if value.tzinfo is None:
        raise InputError(f"the time {value.isoformat()} has no time zone; give an aware datetime")
    return value.astimezone(UTC).isoformat(timespec="microseconds")


def now() -> str:
    """Give this moment as stored text."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def parsed(text: str | None) -> datetime | None:
    """Read a stored moment."""
    return None if text is None else datetime.fromisoformat(text)


def encoded(value: Any) -> str:
    """Give compact JSON; refuse what JSON cannot hold."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"metadata must be plain JSON (texts, finite numbers, lists, mappings): {error}") from error


def draft_row(memory: str, draft: Draft, *, item_id: str, position: int, at: str) -> dict[str, Any]:
    """Give the row of a new passage."""
    return {
        "memory": memory,
        "id": item_id,
        "key": draft.key,
        "position": position,
        **_words(draft),
        "created_at": at,
        "status": "pending" if draft.infer else "raw",
    }


def passage_row(passage: Passage, *, at: str) -> dict[str, Any]:
    """Give the row of a passage that is written again or restored."""
    return {
        "memory": passage.memory,
        "id": passage.id,
        "key": passage.id,
        "position": passage.position,
        **_words(passage),
        "created_at": moment(passage.created_at) or at,
        "updated_at": moment(passage.updated_at),
        "status": passage.status,
        "error": None,
        "attempts": 0,
    }


def _words(source: Draft | Passage) -> dict[str, Any]:
    if source.time is not None and source.time.tzinfo is None:
        raise InputError(f"the time {source.time.isoformat()} has no time zone; give an aware datetime")
    return {
        "text": source.text,
        "speaker": source.speaker,
        "session": source.session,
        "time": None if source.time is None else source.time.isoformat(),
        "image": source.image,
        "readers": encoded(list(source.readers)),
        "metadata": encoded(dict(source.metadata)),
    }


def to_passage(row: Row[Any]) -> Passage:
    """Read a passage."""
    return Passage(
        id=row.id,
        memory=row.memory,
        text=row.text,
        position=row.position,
        speaker=row.speaker,
        session=row.session,
        time=parsed(row.time),
        image=row.image,
        readers=tuple(json.loads(row.readers)) if row.readers != "[]" else (),
        metadata=json.loads(row.metadata),
        created_at=parsed(row.created_at),
        updated_at=parsed(row.updated_at),
        status=row.status,
    )


def extraction_row(memory: str, extraction: Extraction) -> dict[str, Any]:
    """Give the row of an extraction."""
    payload: dict[str, Any] = {
        "summary": extraction.summary,
        "events": [_event(event) for event in extraction.events],
        "facts": [_fact(fact) for fact in extraction.facts],
    }
    if extraction.shown is not None:
        payload["shown"] = list(extraction.shown)
    return {
        "memory": memory,
        "passage_id": extraction.passage_id,
        "payload": encoded(payload),
        "model": extraction.model,
        "confidence": extraction.confidence,
        "dropped": extraction.dropped,
        "truncated": int(extraction.truncated),
    }


def to_extraction(row: Row[Any]) -> Extraction:
    """Read an extraction."""
    payload = json.loads(row.payload)
    return Extraction(
        passage_id=row.passage_id,
        events=tuple(_to_event(event) for event in payload["events"]),
        facts=tuple(_to_fact(fact) for fact in payload["facts"]),
        summary=payload["summary"],
        model=row.model,
        confidence=row.confidence,
        dropped=row.dropped,
        truncated=bool(row.truncated),
        shown=tuple(payload["shown"]) if "shown" in payload else None,
    )


def frame_row(frame: Frame, *, serial: int, at: str) -> dict[str, Any]:
    """Give the row of a frame, members aside."""
    return {
        "memory": frame.memory,
        "id": frame.id,
        "serial": serial,
        "payload": encoded([_event(event) for event in frame.events]),
        "summary": frame.summary,
        "created_at": at,
        "updated_at": at,
    }


def to_frame(row: Row[Any], provenance: Iterable[str]) -> Frame:
    """Read a frame; refuse one that lost its provenance."""
    members = tuple(provenance)
    if not members:
        raise StoreError(f"the frame {row.id} has no passages left; run `seem verify`")
    events = tuple(_to_event(event) for event in json.loads(row.payload))
    return Frame(id=row.id, memory=row.memory, provenance=members, summary=row.summary, events=events)


def fact_row(stored: StoredFact, *, serial: int, at: str) -> dict[str, Any]:
    """Give the row of a fact, sources aside."""
    return {
        "memory": stored.memory,
        "id": stored.id,
        "serial": serial,
        "payload": encoded(_fact(stored.fact)),
        "subject_id": stored.subject_id,
        "object_id": stored.object_id,
        "valid_at": stored.valid_at,
        "invalid_at": stored.invalid_at,
        "created_at": moment(stored.created_at) or at,
        "expired_at": moment(stored.expired_at),
        "superseded_by": stored.superseded_by,
    }


def to_fact(row: Row[Any], provenance: Iterable[str]) -> StoredFact:
    """Read a fact; refuse one that lost its provenance."""
    sources = tuple(provenance)
    if not sources:
        raise StoreError(f"the fact {row.id} has no passages left; run `seem verify`")
    return StoredFact(
        id=row.id,
        memory=row.memory,
        fact=_to_fact(json.loads(row.payload)),
        subject_id=row.subject_id,
        object_id=row.object_id,
        provenance=sources,
        valid_at=row.valid_at,
        invalid_at=row.invalid_at,
        created_at=parsed(row.created_at),
        expired_at=parsed(row.expired_at),
        superseded_by=row.superseded_by,
    )


def to_entity(row: Row[Any], aliases: Iterable[str]) -> Entity:
    """Read an entity."""
    return Entity(id=row.id, memory=row.memory, name=row.name, aliases=tuple(aliases))


def vector_bytes(vector: Vector, item_id: str) -> bytes:
    """Give the bytes of a vector of shape ``(dimension,)``; refuse anything else."""
    values = np.asarray(vector)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise InputError(f"the vector of {item_id} must be one row of finite numbers, not shape {values.shape}")
    return values.astype("<f4").tobytes()


def to_vector(blob: bytes) -> Vector:
    """Read a vector (read-only, shape ``(dimension,)``)."""
    return np.frombuffer(blob, dtype="<f4")


def _span(span: TimeSpan | None) -> list[str | None] | None:
    return None if span is None else [span.text, span.start, span.end]


def _to_span(data: list[Any] | None) -> TimeSpan | None:
    return None if data is None else TimeSpan(*data)


def _event(event: Event) -> dict[str, Any]:
    slots = {
        "time": _span(event.time),
        "location": event.location,
        "causality": event.causality,
        "manner": event.manner,
    }
    filled = {slot: value for slot, value in slots.items() if value is not None}
    return {"participants": list(event.participants), "action": event.action, **filled}


def _to_event(data: Mapping[str, Any]) -> Event:
    rest = {slot: data.get(slot) for slot in ("location", "causality", "manner")}
    return Event(tuple(data["participants"]), data["action"], time=_to_span(data.get("time")), **rest)


def _fact(fact: Fact) -> list[Any]:
    return [fact.subject, fact.relation, fact.object, _span(fact.time)]


def _to_fact(data: list[Any]) -> Fact:
    return Fact(data[0], data[1], data[2], _to_span(data[3]))
