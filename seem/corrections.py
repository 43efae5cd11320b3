"""The taking back: what was remembered is forgotten, given other words, put into other frames, or made anew.

Takes the parts, the loaded states and the digestion of passages; every call is one transaction, and what remains is
folded again from its extractions. Knows nothing about questions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from seem.errors import ModelError, NotFoundError
from seem.state import State, passage_text
from seem.states import States
from seem.store.batch import Change, Kind, WriteBatch
from seem.types import Frame, Passage
from seem.wiring import Parts
from seem.write.forget import taken_back
from seem.write.regroup import Plan, merge, reassign, regrouped, split
from seem.write.retell import retell
from seem.write.summary import fact_sentence
from seem.write.undo import undo


class Digest(Protocol):
    """Run the models over stored passages and give the error of each that failed.

    ``former`` names those with which a passage shared a frame before its words changed.
    """

    def __call__(
        self, memory: str, passages: Sequence[Passage], *, former: Mapping[str, Sequence[str]] = ...
    ) -> dict[str, str]: ...


class Corrections:
    """What takes back, over every memory of one store."""

    def __init__(self, parts: Parts, states: States, digest: Digest) -> None:
        """Take the parts, the loaded memories and the way to run the models over stored passages."""
        self.parts = parts
        self.states = states
        self._digest = digest

    def _without(self, state: State, gone: Collection[str], actor: str) -> WriteBatch:
        """Give the batch that removes passages."""
        return taken_back(state, gone, self.parts.encoder, self.parts.fuser, actor)

    def revise(
        self, passage: Passage, *, text: str | None, metadata: Mapping[str, object] | None, actor: str = ""
    ) -> tuple[Passage, str]:
        """Give a passage other words (and extract it again) or other metadata; the old words stay in the history.

        Returns the passage as it then is, and the error of a model that failed.
        """
        told = text is not None and text != passage.text
        former: dict[str, Sequence[str]] = {}

        def batch(state: State) -> WriteBatch:
            current = state.passages.get(passage.id)
            if current is None:
                raise NotFoundError(f"there is no passage {passage.id!r} any more; nothing was changed")
            changed = replace(
                current,
                text=text if text is not None else current.text,
                metadata={**current.metadata, **(metadata or {})},
            )
            if not told:
                return WriteBatch(passages=[changed])
            undone = self._without(state, {passage.id}, actor)
            former.clear()
            former.update(zip([passage.id], (frame.provenance for frame in undone.frames), strict=False))
            shrunk = [Change(f.id, "UPDATE", state.frames[f.id].summary, f.summary, actor) for f in undone.frames]
            return replace(
                undone,
                remove_passages=(),
                remove_extractions=[passage.id],
                # What was stored without being extracted stays so.
                passages=[replace(changed, status="raw" if current.status == "raw" else "pending")],
                vectors=[
                    *undone.vectors,
                    ("passage", passage.id, self.parts.encoder.encode([passage_text(changed)])[0]),
                ],
                history=[Change(passage.id, "UPDATE", current.text, changed.text, actor), *shrunk],
            )

        self.states.commit(passage.memory, batch)
        current = self.parts.store.passage(passage.id)
        errors = self._digest(passage.memory, [current], former=former) if current.status == "pending" else {}
        with self.states.state(passage.memory) as state:
            # The moment of the change is the store's.
            current = self.parts.store.passage(passage.id)
            state.refresh(current)
        return current, errors.get(passage.id, "")

    def split(self, memory: str, frame_id: str, passage_ids: Sequence[str], *, actor: str = "") -> list[Frame]:
        """Move passages of a frame into a frame of their own; give both."""
        return self._regroup(memory, lambda state: split(state, frame_id, passage_ids), actor)

    def merge(self, memory: str, frame_ids: Sequence[str], *, actor: str = "") -> list[Frame]:
        """Join frames into the oldest of them; give it."""
        return self._regroup(memory, lambda state: merge(state, frame_ids), actor)

    def reassign(self, memory: str, passage_id: str, frame_id: str | None, *, actor: str = "") -> list[Frame]:
        """Move a passage into another frame, or into one of its own; give the frames that changed."""
        return self._regroup(memory, lambda state: reassign(state, passage_id, frame_id), actor)

    def undo(self, memory: str, item_id: str | None = None, *, actor: str = "") -> list[Frame]:
        """Take back the last correction of a frame or passage, or of the whole memory; give the frames that changed."""
        corrections = self.parts.store.corrections
        return self._regroup(memory, lambda state: undo(state, corrections(memory), item_id), actor)

    def _regroup(self, memory: str, decide: Callable[[State], Plan], actor: str) -> list[Frame]:
        """Put passages into other frames as a person decided; give the frames that changed and are still there."""
        changed: list[str] = []

        def batch(state: State) -> WriteBatch:
            plan = decide(state)
            changed[:] = plan.members
            return self._retold(regrouped(state, plan, self.parts.encoder, actor=actor), state)

        self.states.commit(memory, batch)
        with self.states.state(memory) as state:
            return [state.frames[frame_id] for frame_id in changed if frame_id in state.frames]

    def _retold(self, batch: WriteBatch, state: State) -> WriteBatch:
        """Give the batch with the fuser's summaries. A correction waits for no model: without it the composed ones stand."""
        try:
            return retell(batch, state, self.parts.fuser, self.parts.encoder)
        except ModelError:
            return batch

    def reindex(self, memory: str) -> int:
        """Make every vector anew from the stored texts, with the configured encoder; give their number."""
        snapshot = self.parts.store.load(memory)
        texts: list[tuple[Kind, str, str]] = [("passage", p.id, passage_text(p)) for p in snapshot.passages.values()]
        texts += [("extraction", x.passage_id, x.summary) for x in snapshot.extractions.values() if x.events]
        texts += [("frame", f.id, f.summary) for f in snapshot.frames.values()]
        texts += [("fact", f.id, fact_sentence(f.fact)) for f in snapshot.facts.values()]
        texts += [("entity", e.id, e.name) for e in snapshot.entities.values()]
        vectors = (
            self.parts.encoder.encode([t for _, _, t in texts])
            if texts
            else np.empty((0, self.parts.encoder.dimension), np.float32)
        )
        rows = [(kind, item, vectors[n]) for n, (kind, item, _) in enumerate(texts)]
        with self.states.lock(memory):
            self.parts.store.apply(
                memory, WriteBatch(encoder=self.parts.encoder.fingerprint, vectors=rows), expected=snapshot.generation
            )
            self.states.drop(memory)
        return len(rows)
