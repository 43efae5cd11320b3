"""Frames corrected by hand: which passages go where, and the batch that folds the frames concerned anew.

Takes a loaded memory and what a person decided; gives a Plan, and the batch of a plan. The decision is kept as bonds
between passages, so that no later consolidation takes it back. Changes nothing itself. Knows nothing about transactions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from seem.errors import InputError, NotFoundError
from seem.models.protocols import Encoder
from seem.state import State
from seem.store.batch import Change, Kind, Vector, WriteBatch
from seem.store.ids import new_id
from seem.types import Bond, Frame
from seem.write.fold import fold


@dataclass(frozen=True, slots=True)
class Plan:
    """The passages of every frame that changes; none where the frame goes. ``undoes`` is the generation taken back."""

    event: Literal["SPLIT", "MERGE", "REASSIGN", "UNDO"]
    members: Mapping[str, Sequence[str]]
    bonds: tuple[Bond, ...] = ()
    undoes: int | None = None


def split(state: State, frame_id: str, passage_ids: Sequence[str]) -> Plan:
    """Move passages of a frame into a frame of their own."""
    frame = _frame(state, frame_id)
    out = [p for p in frame.provenance if p in set(passage_ids)]
    foreign = [p for p in passage_ids if p not in frame.provenance]
    if foreign:
        raise InputError(f"the passage {foreign[0]} is not in the frame {frame_id}; give passages of that frame")
    rest = [p for p in frame.provenance if p not in out]
    if not out or not rest:
        raise InputError(
            f"the frame {frame_id} cannot be split so: give some of its {len(frame.provenance)} passages, not "
            f"{'all' if out else 'none'} of them"
        )
    return Plan("SPLIT", {frame_id: rest, new_id("f"): out}, _bonds(out, rest, together=False))


def merge(state: State, frame_ids: Sequence[str]) -> Plan:
    """Join frames into the oldest of them."""
    ids = sorted(set(frame_ids))
    if len(ids) < 2:
        raise InputError("a merge takes at least two frames; give the ids of two or more")
    frames = [_frame(state, frame_id) for frame_id in ids]
    joined = [p for frame in frames for p in frame.provenance]
    bonds = [
        bond
        for n, frame in enumerate(frames)
        for later in frames[n + 1 :]
        for bond in _bonds(frame.provenance, later.provenance, together=True)
    ]
    return Plan("MERGE", {ids[0]: joined, **{frame_id: () for frame_id in ids[1:]}}, tuple(bonds))


def reassign(state: State, passage_id: str, frame_id: str | None) -> Plan:
    """Move a passage into another frame, or into one of its own."""
    if passage_id not in state.passages:
        raise NotFoundError(f"there is no passage {passage_id!r}; it may have been deleted")
    if passage_id not in state.frame_of:
        raise InputError(
            f"the passage {passage_id} tells of no event, so it belongs to no frame; update its words, or run: seem retry"
        )
    old = state.frames[state.frame_of[passage_id]]
    target = None if frame_id is None else _frame(state, frame_id)
    rest = [p for p in old.provenance if p != passage_id]
    if target is not None and target.id == old.id:
        raise InputError(f"the passage {passage_id} is in the frame {frame_id} already; nothing was changed")
    if target is None and not rest:
        raise InputError(f"the passage {passage_id} is alone in its frame already; nothing was changed")
    found = list(target.provenance) if target else []
    members = {old.id: rest, (target.id if target else new_id("f")): [*found, passage_id]}
    bonds = (*_bonds([passage_id], rest, together=False), *_bonds([passage_id], found, together=True))
    return Plan("REASSIGN", members, bonds)


def regrouped(state: State, plan: Plan, encoder: Encoder, *, actor: str = "") -> WriteBatch:
    """Give the batch that carries a plan out."""
    frames = [
        fold(frame_id, state.memory, [(state.passages[p], state.extractions[p]) for p in members])
        for frame_id, members in plan.members.items()
        if members
    ]
    encoded = encoder.encode([frame.summary for frame in frames]) if frames else ()
    rows: list[tuple[Kind, str, Vector]] = [("frame", frame.id, encoded[n]) for n, frame in enumerate(frames)]
    new = {frame.id: frame.summary for frame in frames}
    old = {frame_id: state.frames[frame_id].summary for frame_id in plan.members if frame_id in state.frames}
    return WriteBatch(
        encoder=encoder.fingerprint,
        remove_frames=[frame_id for frame_id in old if frame_id not in new],
        frames=frames,
        vectors=rows,
        bonds=plan.bonds,
        unbonds=() if plan.undoes is None else (plan.undoes,),
        history=[Change(i, plan.event, old.get(i), new.get(i), actor, plan.undoes) for i in plan.members],
    )


def _frame(state: State, frame_id: str) -> Frame:
    frame = state.frames.get(frame_id)
    if frame is None:
        raise NotFoundError(f"there is no frame {frame_id!r} in this memory; it may have been merged or deleted")
    return frame


def _bonds(some: Sequence[str], others: Sequence[str], *, together: bool) -> tuple[Bond, ...]:
    return tuple(Bond(one, other, together) for one, other in product(some, others))
