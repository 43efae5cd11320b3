"""Extractions into a memory: consolidate, fold and link, against one loaded state; what comes out is one batch to commit.

Takes a state, new extractions, an encoder and a judge; gives a WriteBatch. The partition depends on the order in which passages arrived, not on how they were
batched. Changes nothing itself. Knows nothing about transactions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seem.models.protocols import Encoder, Judge
from seem.state import State
from seem.store.batch import Change, Kind, Vector, WriteBatch
from seem.store.ids import new_id
from seem.types import Extraction, Frame, Passage, StoredFact
from seem.write.consolidate import Item, Partition, candidates, judge_pairs, partition
from seem.write.fold import fold
from seem.write.link import Linker, closed_by, fact_key, merge_facts
from seem.write.summary import fact_sentence


def integrate(
    state: State, extractions: Sequence[Extraction], encoder: Encoder, judge: Judge | None, *, candidates: int
) -> WriteBatch:
    """Give the batch that takes the extractions into the memory."""
    ordered = sorted(extractions, key=lambda x: (state.passages[x.passage_id].position, x.passage_id))
    telling = [x for x in ordered if x.events]
    vectors = encoder.encode([x.summary for x in telling]) if telling else np.empty((0, encoder.dimension), np.float32)
    told = {x.passage_id: vectors[n] for n, x in enumerate(telling)}
    frames = _frames(state, telling, told, judge, candidates)
    rows: list[tuple[Kind, str, Vector]] = [("extraction", passage_id, vector) for passage_id, vector in told.items()]
    rows += _frame_vectors(frames, told, encoder)
    linked = _Linking(state, encoder)
    for extraction in telling:
        linked.take(state.passages[extraction.passage_id], extraction)
    rows += linked.vectors()
    history = [
        Change(
            f.id,
            "MERGE" if len(f.provenance) > 1 else "ADD",
            state.frames[f.id].summary if f.id in state.frames else None,
            f.summary,
        )
        for f in frames
    ]
    return WriteBatch(
        encoder=encoder.fingerprint,
        extractions=ordered,
        frames=frames,
        entities=list(linked.linker.changed.values()),
        facts=list(linked.facts.values()),
        vectors=rows,
        done=[x.passage_id for x in ordered],
        history=[*history, *linked.history],
    )


def _frames(
    state: State, telling: Sequence[Extraction], told: dict[str, Vector], judge: Judge | None, limit: int
) -> list[Frame]:
    """Put each extraction into a stored frame or a new one, and fold every frame that changed."""
    known = dict(state.extractions) | {x.passage_id: x for x in telling}
    placed = _partition(
        state, [Item((state.passages[x.passage_id], x), told[x.passage_id]) for x in telling], known, judge, limit
    )
    groups = [*placed.grown.items(), *((new_id("f"), members) for members in placed.born)]
    return [
        fold(frame_id, state.memory, [(state.passages[p], known[p]) for p in members]) for frame_id, members in groups
    ]


def _partition(
    state: State, items: Sequence[Item], known: dict[str, Extraction], judge: Judge | None, limit: int
) -> Partition:
    stored = {f.id: f.provenance for f in state.frames.values()}
    if judge is None:
        return partition([i.id for i in items], {}, stored, threshold=1.0)
    index = state.vectors["extraction"]
    pairs = candidates(
        items,
        nearest=lambda vector, k: index.search(vector.reshape(1, -1), k)[0],
        recent=_recent(state, items),
        k=limit,
    )
    sides = {p: (state.passages[p], known[p]) for pair in pairs for p in pair}
    verdicts = judge_pairs(pairs, sides, judge)
    return partition([i.id for i in items], verdicts.scores, stored, threshold=judge.threshold)


def _recent(state: State, items: Sequence[Item]) -> dict[str, list[str]]:
    """Give the last passages with events of each session that goes on, before the first new one."""
    sessions = {i.side[0].session for i in items}
    new = {i.id for i in items}
    recent: dict[str, list[str]] = {s: [] for s in sessions}
    for passage_id in state.order:
        extraction = state.extractions.get(passage_id)
        if (
            extraction
            and extraction.events
            and passage_id not in new
            and state.passages[passage_id].session in sessions
        ):
            recent[state.passages[passage_id].session].append(passage_id)
    return recent


def _frame_vectors(
    frames: Sequence[Frame], told: dict[str, Vector], encoder: Encoder
) -> list[tuple[Kind, str, Vector]]:
    fused = [f for f in frames if len(f.provenance) > 1 or f.provenance[0] not in told]
    encoded = encoder.encode([f.summary for f in fused]) if fused else ()
    rows: list[tuple[Kind, str, Vector]] = [("frame", f.id, told[f.provenance[0]]) for f in frames if f not in fused]
    return rows + [("frame", f.id, encoded[n]) for n, f in enumerate(fused)]


class _Linking:
    """The entities and facts that one batch adds, widens or closes."""

    def __init__(self, state: State, encoder: Encoder) -> None:
        self._state = state
        self._encoder = encoder
        self._names: dict[str, Vector] = {}
        self._stored = {fact_key(f.subject_id, f.fact, f.object_id): f for f in state.facts.values()}
        self._by_subject: dict[str, dict[str, StoredFact]] = {}
        for fact in state.facts.values():
            self._by_subject.setdefault(fact.subject_id, {})[fact.id] = fact
        self.linker = Linker(state.memory, state.entities.values(), new_id, self._nearest)
        self.facts: dict[str, StoredFact] = {}
        self.history: list[Change] = []

    def take(self, passage: Passage, extraction: Extraction) -> None:
        """Link the facts of one extraction."""
        linked = [
            (f, s, o)
            for f in extraction.facts
            if (s := self.linker.entity(f.subject)) and (o := self.linker.entity(f.object)) and s != o
        ]
        for fact in merge_facts(self._state.memory, passage, linked, self._stored, new_id):
            self._put(fact)
            if len(fact.provenance) == 1:
                for ended in closed_by(fact, list(self._by_subject.get(fact.subject_id, {}).values())):
                    self._put(ended)
                    self._stored[fact_key(ended.subject_id, ended.fact, ended.object_id)] = ended
                    self.history.append(
                        Change(ended.id, "SUPERSEDE", fact_sentence(ended.fact), fact_sentence(fact.fact))
                    )

    def vectors(self) -> list[tuple[Kind, str, Vector]]:
        """Give the vectors of new facts and new entities."""
        fresh = [f for f in self.facts.values() if f.id not in self._state.facts]
        rows: list[tuple[Kind, str, Vector]] = []
        if fresh:
            encoded = self._encoder.encode([fact_sentence(f.fact) for f in fresh])
            rows += [("fact", f.id, encoded[n]) for n, f in enumerate(fresh)]
        added = [self.linker.changed[e] for e in self.linker.added]
        if added:
            encoded = self._encoder.encode([e.name for e in added])
            rows += [("entity", e.id, encoded[n]) for n, e in enumerate(added)]
        return rows

    def _put(self, fact: StoredFact) -> None:
        self.facts[fact.id] = fact
        self._by_subject.setdefault(fact.subject_id, {})[fact.id] = fact

    def _nearest(self, name: str) -> tuple[str, float] | None:
        index = self._state.vectors["entity"]
        if not len(index):
            return None
        if name not in self._names:
            self._names[name] = self._encoder.encode([name])[0]
        found = index.search(self._names[name].reshape(1, -1), 1)[0]
        return found[0] if found else None
