"""What a restricted reader may read of a memory, as a memory of its own: folded and linked again from his passages alone.

Takes the whole state and a reader's principals; gives a state on which every stage of reading runs unchanged, equal to
that of a memory which only ever held his passages, arrived one by one. Of the rest nothing is left but the partition:
passages of his that share a frame of the whole memory share one here. Frames and facts are named after the first of his
passages that they cite. What came since is added, anything else is made anew. Knows nothing about stores or questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby

import numpy as np

from seem.errors import ModelError
from seem.models.protocols import Encoder, Fuser, Vectors
from seem.rights import Principals, may_read
from seem.state import State
from seem.store.batch import Kind, Snapshot, Vector, WriteBatch
from seem.types import Extraction, Frame, Passage, StoredFact
from seem.write.fold import fold
from seem.write.integrate import Linking
from seem.write.summary import fact_sentence


class View:
    """One reader's part of one memory. Not thread-safe: the owner holds the memory's lock."""

    def __init__(self, principals: Principals, encoder: Encoder, fuser: Fuser) -> None:
        """Take the reader and the models; nothing is folded yet."""
        self._principals = principals
        self._encoder = encoder
        self._fuser = fuser
        self._state: State | None = None
        # What the state was made of, as the whole memory has it.
        self._passages: dict[str, Passage] = {}
        self._frames: dict[str, tuple[Frame, tuple[str, ...]]] = {}

    def of(self, whole: State) -> State:
        """Give the reader's state as of the whole memory's generation."""
        if self._state is None or self._state.generation != whole.generation:
            known, self._state = self._state, None
            self._state = self._followed(known, whole)
        return self._state

    def size(self) -> int:
        """Estimate the bytes that this takes in RAM."""
        return self._state.size() if self._state else 0

    def _followed(self, state: State | None, whole: State) -> State:
        mine = [p for i in whole.order if may_read((p := whole.passages[i]).readers, self._principals)]
        if state is None or not self._goes_on(state, mine, whole):
            nothing = Snapshot(whole.memory, 0, {}, {}, {}, {}, {}, {}, self._encoder.fingerprint)
            state = State(nothing, self._encoder.dimension)
            self._passages, self._frames = {}, {}
        self._take_passages(state, mine, whole)
        fresh = [whole.extractions[p.id] for p in mine if p.id in whole.extractions and p.id not in state.extractions]
        known = _Known(self._encoder, whole, [x.passage_id for x in fresh])
        _link(state, fresh, known)
        self._fold(state, whole)
        state.generation = whole.generation
        return state

    def _goes_on(self, state: State, mine: Sequence[Passage], whole: State) -> bool:
        """Tell whether the state only lacks what came after all that it was linked from."""
        old = mine[: len(state.order)]
        if [p.id for p in old] != state.order or not all(_said(p) == _said(self._passages[p.id]) for p in old):
            return False
        if any(whole.extractions.get(i) != x for i, x in state.extractions.items()):
            return False
        linked = [n for n, p in enumerate(old) if p.id in state.extractions]
        late = [n for n, p in enumerate(old) if p.id in whole.extractions and p.id not in state.extractions]
        return not late or not linked or min(late) > max(linked)

    def _take_passages(self, state: State, mine: Sequence[Passage], whole: State) -> None:
        fresh = []
        for n, passage in enumerate(mine):
            if self._passages.get(passage.id) is not passage:
                own = replace(passage, position=n, readers=tuple(r for r in passage.readers if r in self._principals))
                fresh += [own] if passage.id not in state.passages else []
                state.refresh(own)
                self._passages[passage.id] = passage
        index = whole.vectors["passage"]
        unseen = [p.id for p in mine if p.id not in state.vectors["passage"] and p.id in index]
        rows: list[tuple[Kind, str, Vector]] = [("passage", i, index.vector(i)) for i in unseen]
        state.apply(WriteBatch(passages=fresh, vectors=rows), 0)

    def _fold(self, state: State, whole: State) -> None:
        """Fold every frame of the whole memory from those of its passages that are here, where that has changed."""
        members: dict[str, list[str]] = {}
        for passage_id in state.order:
            if passage_id in state.extractions and passage_id in whole.frame_of:
                members.setdefault(whole.frame_of[passage_id], []).append(passage_id)
        now = {named("f", ids[0]): (whole.frames[f], tuple(ids)) for f, ids in members.items()}
        changed = [i for i, made_of in now.items() if self._frames.get(i) != made_of]
        frames = {i: self._frame(i, state, *now[i]) for i in changed}
        partial = [f for i, f in frames.items() if 1 < len(f.provenance) < len(now[i][0].provenance)]
        for frame, summary in zip(partial, self._told(state, partial), strict=True):
            frames[frame.id] = replace(frame, summary=summary)
        gone = [i for i in state.frames if i not in now]
        state.apply(WriteBatch(remove_frames=gone, frames=list(frames.values())), 0)
        self._frames = now

    def _frame(self, frame_id: str, state: State, whole: Frame, members: tuple[str, ...]) -> Frame:
        if len(members) == len(whole.provenance):
            return replace(whole, id=frame_id)
        return fold(frame_id, state.memory, [(state.passages[p], state.extractions[p]) for p in members])

    def _told(self, state: State, frames: Sequence[Frame]) -> Sequence[str]:
        """Give the fuser's summaries; reading waits for no model that is not there: the composed ones then stand."""
        groups = [[(state.passages[p], state.extractions[p]) for p in frame.provenance] for frame in frames]
        try:
            return self._fuser.fuse(groups) if groups else []
        except ModelError:
            return [frame.summary for frame in frames]


class _Known:
    """The encoder, spared the texts whose vectors the whole memory has."""

    def __init__(self, encoder: Encoder, whole: State, passage_ids: Iterable[str]) -> None:
        self._encoder = encoder
        self._whole = whole
        self.dimension = encoder.dimension
        self.fingerprint = encoder.fingerprint
        self._places: dict[str, tuple[Kind, str]] = {}
        for passage_id in passage_ids:
            self._places[whole.extractions[passage_id].summary] = ("extraction", passage_id)
            for fact in (whole.facts[i] for i in whole.facts_of.get(passage_id, ())):
                self._places[fact_sentence(fact.fact)] = ("fact", fact.id)
                for entity in (fact.subject_id, fact.object_id):
                    self._places[whole.entities[entity].name] = ("entity", entity)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Give one unit vector a text."""
        out: Vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        unknown = []
        for n, text in enumerate(texts):
            kind, item = self._places.get(text, ("passage", ""))
            if item in self._whole.vectors[kind]:
                out[n] = self._whole.vectors[kind].vector(item)
            else:
                unknown.append(n)
        if unknown:
            out[unknown] = self._encoder.encode([texts[n] for n in unknown])
        return out


def _link(state: State, fresh: Sequence[Extraction], encoder: _Known) -> None:
    """Take extractions in, one by one, as if each had come with a write of its own."""
    linking = Linking(state, encoder)
    for extraction in fresh:
        if extraction.events:
            before = len(linking.linker.added)
            linking.take(state.passages[extraction.passage_id], extraction)
            if added := linking.linker.added[before:]:
                names = [linking.linker.changed[e].name for e in added]
                state.vectors["entity"].add(added, encoder.encode(names))
    facts = _named(state, list(linking.facts.values()))
    told = [x for x in fresh if x.events]
    new = [f for f in facts if f.id not in state.facts]
    summaries, sentences = (
        encoder.encode([x.summary for x in told]),
        encoder.encode([fact_sentence(f.fact) for f in new]),
    )
    rows: list[tuple[Kind, str, Vector]] = [("extraction", x.passage_id, summaries[n]) for n, x in enumerate(told)]
    rows += [("fact", f.id, sentences[n]) for n, f in enumerate(new)]
    entities = list(linking.linker.changed.values())
    state.apply(WriteBatch(extractions=fresh, entities=entities, facts=facts, vectors=rows), 0)


def _named(state: State, facts: Sequence[StoredFact]) -> list[StoredFact]:
    """Give the facts with names and dates that tell of nothing but the passages that they cite."""
    fresh = sorted((f for f in facts if f.id not in state.facts), key=lambda f: (f.provenance[0], f.id))
    names: dict[str, str] = {}
    for passage_id, told in groupby(fresh, key=lambda f: f.provenance[0]):
        names |= {f.id: f"{named('k', passage_id)}_{n:03d}" for n, f in enumerate(told)}
    source = {f.id: f.provenance[0] for f in [*state.facts.values(), *facts]}

    def since(*fact_ids: str) -> datetime | None:
        return max((at for i in fact_ids if (at := state.passages[source[i]].created_at)), default=None)

    return [
        replace(
            f,
            id=names.get(f.id, f.id),
            created_at=since(f.id),
            expired_at=since(f.id, f.superseded_by) if f.superseded_by else None,
            superseded_by=names.get(f.superseded_by, f.superseded_by) if f.superseded_by else None,
        )
        for f in facts
    ]


def named(prefix: str, passage_id: str) -> str:
    """Give the id of a frame (``f``) or fact (``k``) of a restricted reader: that of a passage, under another letter."""
    return f"{prefix}_{passage_id.partition('_')[2]}"


def _said(passage: Passage) -> tuple[object, ...]:
    """Give what of a passage its frames and facts are made of."""
    return (passage.text, passage.speaker, passage.session, passage.time, passage.image)
