"""The values that cross the store's border: what one transaction writes, and what a memory looks like when it is loaded.

Computed outside any transaction (models may take seconds), applied inside one. Knows nothing about SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from seem.types import Bond, Entity, Extraction, Frame, Passage, StoredFact

# An extraction is known by its passage: its vector is that of its summary, and goes where its passage goes.
Kind = Literal["passage", "extraction", "frame", "fact", "entity"]
Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Draft:
    """A passage before it has an id. ``key`` makes a repeat harmless: the client's message id, else a hash of the content."""

    text: str
    key: str
    speaker: str = ""
    session: str = ""
    time: datetime | None = None
    image: str = ""
    readers: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    infer: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the history: what happened to which passage, frame or fact.

    ``old`` and ``new`` are its texts; of a change of rights, the readers that it took and gave. The judge's joining is FUSE,
    a person's is MERGE. ``undoes`` is the generation of the correction that an UNDO takes back. ``new_of`` names the
    item whose words ``new`` are, where that is another one. UNREADABLE keeps what the judge said of a passage that was no
    verdict.
    """

    item_id: str
    event: Literal[
        "ADD",
        "UPDATE",
        "DELETE",
        "MERGE",
        "SPLIT",
        "SUPERSEDE",
        "GRANT",
        "REVOKE",
        "FUSE",
        "REASSIGN",
        "UNDO",
        "UNREADABLE",
    ]
    old: str | None = None
    new: str | None = None
    actor: str = ""
    undoes: int | None = None
    new_of: str | None = None


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """Everything that one transaction writes, removals first. Upserts replace the whole row, provenance included.

    ``frames`` carry their members as ``Frame.provenance`` (one extraction a passage). ``vectors`` holds (kind, item id, unit
    float32 vector of the encoder ``encoder``); the vector of a removed item goes with the item. ``readers`` gives passages
    other readers, ``again`` puts passages back among those that wait; neither counts as a change of the passage. ``bonds``
    are written with the generation of the batch; ``unbonds`` are generations whose bonds are taken back. ``untold`` names
    passages that stay while every text that was made of them goes from the history.
    """

    encoder: str = ""
    remove_passages: Sequence[str] = ()
    remove_extractions: Sequence[str] = ()
    remove_frames: Sequence[str] = ()
    remove_facts: Sequence[str] = ()
    remove_entities: Sequence[str] = ()
    passages: Sequence[Passage] = ()
    extractions: Sequence[Extraction] = ()
    frames: Sequence[Frame] = ()
    entities: Sequence[Entity] = ()
    facts: Sequence[StoredFact] = ()
    vectors: Sequence[tuple[Kind, str, Vector]] = ()
    done: Sequence[str] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    readers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    again: Sequence[str] = ()
    untold: Sequence[str] = ()
    bonds: Sequence[Bond] = ()
    unbonds: Sequence[int] = ()
    history: Sequence[Change] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole memory as of one generation. Mappings are by id; passages and facts are in order of arrival."""

    memory: str
    generation: int
    passages: Mapping[str, Passage]
    extractions: Mapping[str, Extraction]
    frames: Mapping[str, Frame]
    entities: Mapping[str, Entity]
    facts: Mapping[str, StoredFact]
    vectors: Mapping[tuple[Kind, str], Vector]
    encoder: str
    bonds: Sequence[Bond] = ()
