"""The summaries of fused frames told anew: the stage behind the fold, and the fuser that is plain code.

Takes a batch with folded frames; gives the batch in which every frame of several passages has the fuser's summary and the vector of it. A summary
depends on the frame's extractions and on the fuser alone, so that deleting a passage and folding again leaves no word of it. Knows nothing about models.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property

from seem.models.protocols import Encoder, Fuser, JudgeInput
from seem.state import State
from seem.store.batch import WriteBatch
from seem.write.fold import fold

KEPT = 512


class Composer:
    """Composing by code: what each passage told, in the order in which they were said."""

    name = "composed"

    def fuse(self, groups: Sequence[Sequence[JudgeInput]]) -> list[str]:
        """Give the summaries of the folds."""
        return [fold("f", "m", members).summary for members in groups]


class Kept:
    """A fuser made on first use, whose summaries are kept by the hash of its version and of the extractions that they tell."""

    def __init__(self, make: Callable[[], Fuser], size: int = KEPT) -> None:
        """Keep the ``size`` summaries that were used last."""
        self._make = make
        self._size = size
        self._known: OrderedDict[str, tuple[frozenset[str], str]] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def fuser(self) -> Fuser:
        """The fuser itself."""
        return self._make()

    @property
    def name(self) -> str:
        """Name and version of the fuser."""
        return self.fuser.name

    def fuse(self, groups: Sequence[Sequence[JudgeInput]]) -> list[str]:
        """Give the summaries; only those are made that are not known."""
        wanted = {self._key(members): members for members in groups}
        with self._lock:
            told = {key: self._known[key][1] for key in wanted if key in self._known}
        missing = {key: members for key, members in wanted.items() if key not in told}
        made = self.fuser.fuse(list(missing.values())) if missing else []
        told |= dict(zip(missing, made, strict=True))
        with self._lock:
            for key, members in wanted.items():
                self._known[key] = (frozenset(passage.id for passage, _ in members), told[key])
                self._known.move_to_end(key)
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        return [told[self._key(members)] for members in groups]

    def forget(self, passage_ids: Collection[str] | None = None) -> None:
        """Drop every summary that tells of one of the passages; ``None``: all."""
        with self._lock:
            for key, (members, _) in list(self._known.items()):
                if passage_ids is None or not members.isdisjoint(passage_ids):
                    del self._known[key]

    def _key(self, members: Sequence[JudgeInput]) -> str:
        digest = hashlib.sha256(self.name.encode())
        for passage, extraction in members:
            told = (passage.id, passage.speaker, passage.time, extraction.events)
            digest.update(repr(told).encode("utf-8", "replace"))
        return digest.hexdigest()


def retell(batch: WriteBatch, state: State, fuser: Fuser, encoder: Encoder) -> WriteBatch:
    """Give the batch with the fuser's summaries; raise ModelError where its model fails."""
    known = dict(state.extractions) | {x.passage_id: x for x in batch.extractions}
    fused = [f for f in batch.frames if len(f.provenance) > 1]
    groups = [[(state.passages[p], known[p]) for p in f.provenance] for f in fused]
    told = zip(fused, fuser.fuse(groups), strict=True)
    retold = {f.id: replace(f, summary=summary) for f, summary in told if summary != f.summary}
    if not retold:
        return batch
    encoded = encoder.encode([f.summary for f in retold.values()])
    vectors = {("frame", frame_id): encoded[n] for n, frame_id in enumerate(retold)}
    return replace(
        batch,
        frames=[retold.get(f.id, f) for f in batch.frames],
        vectors=[(kind, item, vectors.get((kind, item), vector)) for kind, item, vector in batch.vectors],
        history=[replace(c, new=retold[c.item_id].summary) if c.item_id in retold else c for c in batch.history],
    )
