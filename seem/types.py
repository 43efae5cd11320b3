"""The glossary: the values that every stage takes and gives. Frozen, and free of behaviour beyond their own consistency.

Symbols of the paper (Lu et al., "Structured Episodic Event Memory", ACL 2026) stand beside the fields.
Knows nothing about models, storage or retrieval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

SLOTS = ("participants", "action", "time", "location", "causality", "manner")


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A time as it was said, and what it means.

    ``start`` and ``end`` are ISO dates at the precision known (``2024-02-27``, ``2024-02``, ``2024``), both inclusive.
    Equal for a point; one ``None`` for an open interval; both ``None`` where the words could not be resolved.
    """

    text: str
    start: str | None = None
    end: str | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """One immutable piece of the source (p_t): a chat turn, a tool result, a log line.

    ``memory`` is the owner's key, the unit of isolation. ``position`` counts arrivals within the memory. ``time`` is aware,
    or ``None`` where nobody knows when it was said. ``readers`` empty means that everyone with access to the memory may
    read it.
    """

    id: str
    memory: str
    text: str
    position: int = 0
    speaker: str = ""
    session: str = ""
    time: datetime | None = None
    image: str = ""
    readers: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    status: str = "done"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, is planned, believed or stated: the six slots of the frame."""

    participants: tuple[str, ...]
    action: str
    time: TimeSpan | None = None
    location: str | None = None
    causality: str | None = None
    manner: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A quadruple (s, r, o, tau); ``time`` tells when it holds."""

    subject: str
    relation: str
    object: str
    time: TimeSpan | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """What one extractor said of ONE passage (F_ext and K_t). Immutable; no events means "nothing worth remembering".

    ``model`` names the extractor and its version. ``confidence`` lies in [0, 1]. ``dropped`` counts what decoding gave but the
    grounding check refused. ``truncated`` is true where the model ran out of its budget and only whole lines were kept.
    ``shown`` holds the earlier passages that the extractor saw beside it; ``None`` where nobody wrote that down.
    """

    passage_id: str
    events: tuple[Event, ...] = ()
    facts: tuple[Fact, ...] = ()
    summary: str = ""
    model: str = ""
    confidence: float = 1.0
    dropped: int = 0
    truncated: bool = False
    shown: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """An episodic event frame (e_t): the fold of the extractions that tell of one occurrence.

    ``provenance`` (rho^eml) holds the ids of their passages, in the order in which they were said; it is never empty.
    """

    id: str
    memory: str
    provenance: tuple[str, ...]
    summary: str
    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not self.provenance:
            raise ValueError("a frame without provenance cannot exist")


@dataclass(frozen=True, slots=True)
class Bond:
    """What a person decided about two passages: they tell of one occurrence (``together``), or of two.

    ``generation`` is that of the write which made it. Of two bonds of one pair the later holds.
    """

    one: str
    other: str
    together: bool
    generation: int = 0


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact in the graph: its ends are entities, its provenance (rho^gml) passages.

    ``valid_at`` / ``invalid_at`` are ISO dates in the world, ``created_at`` / ``expired_at`` moments in the memory. A contradicted fact is closed
    (``invalid_at``, ``expired_at``, ``superseded_by``), not deleted.
    """

    id: str
    memory: str
    fact: Fact
    subject_id: str
    object_id: str
    provenance: tuple[str, ...]
    valid_at: str | None = None
    invalid_at: str | None = None
    created_at: datetime | None = None
    expired_at: datetime | None = None
    superseded_by: str | None = None

    def __post_init__(self) -> None:
        if not self.provenance:
            raise ValueError("a fact without provenance cannot exist")


@dataclass(frozen=True, slots=True)
class Entity:
    """A node of the graph: a canonical name and the other surface forms that mean it."""

    id: str
    memory: str
    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found for a question, with its score and how it was found (stage name -> score)."""

    passage: Passage
    score: float
    trace: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """What the reader is given (C): passages, frames and facts, and their serialised text, every line citing passage ids."""

    question: str
    hits: tuple[Hit, ...]
    frames: tuple[Frame, ...]
    facts: tuple[StoredFact, ...]
    text: str
    tokens: int
    route: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The reader's words (a), the context that grounds them, and which model spoke."""

    text: str
    context: Context
    model: str
