"""Extractions into a memory: consolidate, fold and link, against one loaded state; what comes out is one batch to commit.

Takes a state, new extractions, an encoder and a judge; gives a WriteBatch. The partition depends on the order in which passages arrived, not on how they were
batched. Changes nothing itself. Knows nothing about transactions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from seem.models.protocols import Encoder, Judge
from seem.state import State
from seem.store.batch import Change, Kind, Vector, WriteBatch
from seem.store.ids import new_id
from seem.types import Extraction, Frame, Passage, StoredFact
from seem.write.alias import stated
from seem.write.consolidate import Item, Partition, Ties, candidates, judge_pairs, partition
from seem.write.contradict import settle, told_by
from seem.write.fold import fold
from seem.write.link import Linker, fact_key, merge_facts
from seem.write.summary import fact_sentence
from seem.write.vouch import vouch

# Who takes a passage out of a frame where nobody did it by hand.
JUDGE = "judge"
# Of so many passages that hold an unknown name it is asked whether they give it as another one's.
CALLED_IN = 5
NOWHERE: Mapping[str, Sequence[str]] = MappingProxyType({})
CUT_OFF = (
    "the extraction was cut off at the model's budget; what was whole is kept and the passage stays queued: "
    "retry it, or raise extract.max_tokens"
)


def integrate(
    state: State,
    extractions: Sequence[Extraction],
    encoder: Encoder,
    judge: Judge | None,
    *,
    candidates: int,
    former: Mapping[str, Sequence[str]] = NOWHERE,
    split_below: float | None = None,
) -> WriteBatch:
    """Give the batch that takes the extractions into the memory.

    ``former`` names the companions of passages whose words changed; below ``split_below`` (none: half of the judge's
    threshold) they are not its companions any more.
    """
    ordered = sorted(
        (_taken(state, x) for x in extractions), key=lambda x: (state.passages[x.passage_id].position, x.passage_id)
    )
    telling = [x for x in ordered if x.events]
    vectors = encoder.encode([x.summary for x in telling]) if telling else np.empty((0, encoder.dimension), np.float32)
    told = {x.passage_id: vectors[n] for n, x in enumerate(telling)}
    known = dict(state.extractions) | {x.passage_id: x for x in telling}
    items = [Item((state.passages[x.passage_id], x), told[x.passage_id]) for x in telling]
    placed = _partition(state, items, known, judge, candidates, former, split_below)
    frames = _frames(state, telling, known, placed)
    rows: list[tuple[Kind, str, Vector]] = [("extraction", passage_id, vector) for passage_id, vector in told.items()]
    rows += _frame_vectors(frames, told, encoder)
    linked = Linking(state, encoder)
    for extraction in telling:
        linked.take(state.passages[extraction.passage_id], extraction)
    rows += linked.vectors()
    history = [
        Change(
            f.id,
            "FUSE" if len(f.provenance) > 1 else "ADD",
            state.frames[f.id].summary if f.id in state.frames else None,
            f.summary,
        )
        for f in frames
    ]
    history += [
        Change(frame_id, "SPLIT", state.frames[frame_id].summary, state.frames[frame_id].summary, actor=JUDGE)
        for frame_id in sorted(set(placed.left.values()))
    ]
    history += [Change(passage_id, "UNREADABLE", None, verdict) for (passage_id, _), verdict in placed.odd.items()]
    return WriteBatch(
        encoder=encoder.fingerprint,
        extractions=ordered,
        frames=frames,
        entities=list(linked.linker.changed.values()),
        facts=list(linked.facts.values()),
        vectors=rows,
        done=[x.passage_id for x in ordered if not x.truncated],
        failed={x.passage_id: CUT_OFF for x in ordered if x.truncated},
        history=[*history, *linked.history],
    )


def _taken(state: State, extraction: Extraction) -> Extraction:
    """Vouch for an extraction; where the passage was told before (its answer was cut off), lose nothing of that."""
    passage = state.passages[extraction.passage_id]
    allowed = state.open_to(passage.readers)
    told = vouch(extraction, passage, lambda word: bool(state.words["passage"].search(word, 1, allowed)))
    earlier = state.extractions.get(passage.id)
    if earlier is None or not earlier.truncated:
        return told
    richer = told if len(told.events) >= len(earlier.events) else earlier
    return replace(
        told,
        events=richer.events,
        summary=richer.summary,
        facts=tuple(dict.fromkeys((*earlier.facts, *told.facts))),
    )


def _frames(
    state: State, telling: Sequence[Extraction], known: Mapping[str, Extraction], placed: Partition
) -> list[Frame]:
    """Fold every frame that grows or is born, or of which a passage is told anew."""
    again = {state.frame_of[x.passage_id] for x in telling if x.passage_id in state.frame_of} - set(placed.grown)
    groups = [*placed.grown.items(), *((f, state.frames[f].provenance) for f in sorted(again))]
    groups += [(new_id("f"), members) for members in placed.born]
    return [
        fold(frame_id, state.memory, [(state.passages[p], known[p]) for p in members]) for frame_id, members in groups
    ]


def _partition(
    state: State,
    items: Sequence[Item],
    known: Mapping[str, Extraction],
    judge: Judge | None,
    limit: int,
    former: Mapping[str, Sequence[str]],
    split_below: float | None,
) -> Partition:
    """Put each new passage into a stored frame or a new one."""
    stored = {f.id: f.provenance for f in state.frames.values()}
    ids = [i.id for i in items]
    together = {i: state.bonds.together(i) for i in ids}
    ties = Ties(together, {i: state.bonds.apart(i) for i in ids}, former)
    if judge is None:
        # Nobody doubts that they belong together.
        kept = {i: others or set(former.get(i, ())) - set(ties.apart[i]) for i, others in together.items()}
        return partition(ids, {}, stored, threshold=1.0, ties=replace(ties, together=kept, former=NOWHERE))
    index = state.vectors["extraction"]
    pairs = candidates(
        items,
        nearest=lambda vector, k: index.search(vector.reshape(1, -1), k)[0],
        recent=_recent(state, items),
        k=limit,
    )
    old = [(i, other) for i in ids for other in former.get(i, ()) if other in state.frame_of]
    pairs = list(dict.fromkeys([*pairs, *old]))
    sides = {p: (state.passages[p], known[p]) for pair in pairs for p in pair}
    verdicts = judge_pairs(pairs, sides, judge)
    least = judge.threshold / 2 if split_below is None else min(split_below, judge.threshold)
    placed = partition(ids, verdicts.scores, stored, threshold=judge.threshold, ties=replace(ties, least=least))
    return replace(placed, odd=verdicts.odd)


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


class Linking:
    """The entities and facts that one batch adds, widens or closes."""

    def __init__(self, state: State, encoder: Encoder) -> None:
        self._state = state
        self._encoder = encoder
        self._names: dict[str, Vector] = {}
        self._sure = told_by(state.passages)
        # By age: of a fact that ended and was said again, the later one is told again.
        facts = sorted(state.facts.values(), key=lambda f: f.id)
        self._stored = {fact_key(f.subject_id, f.fact, f.object_id): f for f in facts}
        self._by_subject: dict[str, dict[str, StoredFact]] = {}
        for fact in state.facts.values():
            self._by_subject.setdefault(fact.subject_id, {})[fact.id] = fact
        self._telling: Passage | None = None
        self.linker = Linker(state.memory, state.entities.values(), new_id, self._nearest, self._called)
        self.facts: dict[str, StoredFact] = {}
        self.history: list[Change] = []

    def take(self, passage: Passage, extraction: Extraction) -> None:
        """Link the facts of one extraction."""
        self._telling = passage
        linked = [
            (f, s, o)
            for f in extraction.facts
            if (s := self.linker.entity(f.subject)) and (o := self.linker.entity(f.object)) and s != o
        ]
        for fact in merge_facts(self._state.memory, passage, linked, self._stored, new_id):
            self._put(fact)
            if len(fact.provenance) == 1:
                for ended in settle(fact, list(self._by_subject[fact.subject_id].values()), self._sure):
                    self._put(ended)
                    key = fact_key(ended.subject_id, ended.fact, ended.object_id)
                    if self._stored[key].id == ended.id:
                        self._stored[key] = ended
                    self._superseded(ended)

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

    def _superseded(self, ended: StoredFact) -> None:
        by = self._by_subject[ended.subject_id][str(ended.superseded_by)]
        change = Change(ended.id, "SUPERSEDE", fact_sentence(ended.fact), fact_sentence(by.fact), new_of=by.id)
        self.history.append(change)

    def _put(self, fact: StoredFact) -> None:
        self.facts[fact.id] = fact
        self._by_subject.setdefault(fact.subject_id, {})[fact.id] = fact

    def _called(self, name: str) -> list[str]:
        """Give what else passages, open to all who may read this one, say that a name is."""
        told = self._telling
        found = self._state.words["passage"].search(name, CALLED_IN) if told else []
        passages = [self._state.passages[i] for i, _ in found]
        pairs = [pair for p in passages if told and p.readers in ((), told.readers) for pair in stated(p.text)]
        return [b if a == name else a for a, b in pairs if name in (a, b)]

    def _nearest(self, name: str) -> tuple[str, float] | None:
        index = self._state.vectors["entity"]
        if not len(index):
            return None
        if name not in self._names:
            self._names[name] = self._encoder.encode([name])[0]
        found = index.search(self._names[name].reshape(1, -1), 1)[0]
        return found[0] if found else None
