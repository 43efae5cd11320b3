"""One memory, loaded: its values, its vector and word indexes, its graph, all derived from the store.

Takes a snapshot, then the batches that were committed after it, in order; both ways lead to the same state. Knows
nothing about models or SQL. Not thread-safe: the owner holds the memory's lock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

import numpy as np

from seem.bonds import Bonds
from seem.graph.build import Graph
from seem.rights import Readers, covers
from seem.store.batch import Kind, Snapshot, Vector, WriteBatch
from seem.store.lexical import LexicalIndex
from seem.store.vectors import VectorIndex
from seem.types import Entity, Extraction, Frame, Passage, StoredFact

FACT_EDGE = 1.0
PASSAGE_EDGE = 1.0
# Seen with tracemalloc on turns of some 15 words: values, postings and nodes of one item.
ITEM_BYTES = 3500


class State:
    """A memory in RAM, as of one generation."""

    def __init__(self, snapshot: Snapshot, dimension: int) -> None:
        """Build everything from a snapshot. ``dimension`` is the encoder's."""
        self.memory = snapshot.memory
        self.generation = snapshot.generation
        self.passages: dict[str, Passage] = {}
        self.extractions: dict[str, Extraction] = {}
        self.frames: dict[str, Frame] = {}
        self.frame_of: dict[str, str] = {}
        self.entities: dict[str, Entity] = {}
        self.facts: dict[str, StoredFact] = {}
        self.facts_of: dict[str, set[str]] = defaultdict(set)
        self.order: list[str] = []
        self.vectors: dict[Kind, VectorIndex] = {
            k: VectorIndex(dimension) for k in ("passage", "extraction", "frame", "fact", "entity")
        }
        self.words: dict[Kind, LexicalIndex] = {"passage": LexicalIndex(), "extraction": LexicalIndex()}
        self.graph = Graph()
        self.bonds = Bonds(snapshot.bonds)
        self._edges: dict[str, list[tuple[str, str, float]]] = {}
        whole = WriteBatch(
            encoder=snapshot.encoder,
            passages=list(snapshot.passages.values()),
            extractions=list(snapshot.extractions.values()),
            frames=list(snapshot.frames.values()),
            entities=list(snapshot.entities.values()),
            facts=list(snapshot.facts.values()),
            vectors=[(kind, item, vector) for (kind, item), vector in snapshot.vectors.items()],
        )
        self.apply(whole, snapshot.generation)

    def apply(self, batch: WriteBatch, generation: int) -> None:
        """Follow a committed batch, removals first."""
        self._remove(batch)
        for passage in batch.passages:
            self.passages[passage.id] = passage
            self.words["passage"].add(passage.id, passage_text(passage))
            self.graph.add_node(passage.id)
        if batch.passages or batch.remove_passages:
            self.order = sorted(self.passages, key=lambda i: (self.passages[i].position, i))
        for entity in batch.entities:
            self.entities[entity.id] = entity
            self.graph.add_node(entity.id)
        for extraction in batch.extractions:
            self.extractions[extraction.passage_id] = extraction
            if extraction.summary:
                self.words["extraction"].add(extraction.passage_id, extraction.summary)
            else:
                self.words["extraction"].remove([extraction.passage_id])
                self.vectors["extraction"].remove([extraction.passage_id])
        for frame in batch.frames:
            self._put_frame(frame)
        for fact in batch.facts:
            self._put_fact(fact)
        self._put_vectors(batch.vectors)
        self._put_bonds(batch, generation)
        for passage_id in batch.done:
            self._mark(passage_id, "done")
        for passage_id in batch.failed:
            self._mark(passage_id, "failed")
        for passage_id in batch.again:
            self._mark(passage_id, "pending")
        for passage_id, readers in batch.readers.items():
            self.passages[passage_id] = replace(self.passages[passage_id], readers=readers)
        self.generation = generation

    def size(self) -> int:
        """Estimate the bytes that this takes in RAM, in constant time."""
        rows = sum(len(index) * index.dimension * 4 for index in self.vectors.values())
        items = len(self.passages) + len(self.extractions) + len(self.frames) + len(self.facts) + len(self.entities)
        return rows + items * ITEM_BYTES

    def refresh(self, passage: Passage) -> None:
        """Take a passage's dates and status as the store has them; its words must be the same."""
        self.passages[passage.id] = passage

    def before(self, passage: Passage, count: int = 2) -> list[Passage]:
        """Give the passages that came directly before one, the nearest last, of those that all of its readers may read."""
        at = bisect_left(self.order, (passage.position, passage.id), key=lambda i: (self.passages[i].position, i))
        found: list[Passage] = []
        while at > 0 and len(found) < count:
            at -= 1
            earlier = self.passages[self.order[at]]
            if covers(earlier.readers, passage.readers):
                found.append(earlier)
        return found[::-1]

    def covered(self, extraction: Extraction, names: Collection[str]) -> bool:
        """Tell whether all readers of a passage may read what its extractor was shown beside it, ``names`` included."""
        readers = self.passages[extraction.passage_id].readers
        shown = (self.passages[i].readers for i in extraction.shown or () if i in self.passages)
        return all(covers(other, readers) for other in shown) and set(names) <= set(self.speakers(readers))

    def beside(self, passage_id: str, allowed: Collection[str] | None = None) -> list[str]:
        """Give the passages directly before and after one in its session, of those that may be read."""
        passage = self.passages[passage_id]
        at = bisect_left(self.order, (passage.position, passage.id), key=lambda i: (self.passages[i].position, i))
        found = []
        for step in (-1, 1):
            n = at + step
            while 0 <= n < len(self.order) and self.passages[self.order[n]].session == passage.session:
                if allowed is None or self.order[n] in allowed:
                    found.append(self.order[n])
                    break
                n += step
        return found

    def open_to(self, readers: Readers) -> set[str] | None:
        """Give the passages that all of ``readers`` may read, or ``None`` where that is all of them."""
        if all(covers(passage.readers, readers) for passage in self.passages.values()):
            return None
        return {i for i, passage in self.passages.items() if covers(passage.readers, readers)}

    def speakers(self, readers: Readers, session: str | None = None) -> list[str]:
        """Name who spoke, the most recent first, in passages that all of ``readers`` may read."""
        found = (self.passages[i] for i in reversed(self.order))
        said = (p for p in found if p.speaker and (session is None or p.session == session))
        return list(dict.fromkeys(p.speaker for p in said if covers(p.readers, readers)))

    def _mark(self, passage_id: str, status: str) -> None:
        if passage_id in self.passages:
            self.passages[passage_id] = replace(self.passages[passage_id], status=status)

    def _put_bonds(self, batch: WriteBatch, generation: int) -> None:
        for taken_back in batch.unbonds:
            self.bonds.take_back(taken_back)
        for bond in batch.bonds:
            self.bonds.add(replace(bond, generation=generation))

    def _put_frame(self, frame: Frame) -> None:
        old = self.frames.get(frame.id)
        for passage_id in old.provenance if old else ():
            if self.frame_of.get(passage_id) == frame.id:
                del self.frame_of[passage_id]
        self.frames[frame.id] = frame
        for passage_id in frame.provenance:
            self.frame_of[passage_id] = frame.id

    def _put_fact(self, fact: StoredFact) -> None:
        self._drop_fact(fact.id)
        self.facts[fact.id] = fact
        edges = [(fact.subject_id, fact.object_id, FACT_EDGE)]
        for passage_id in fact.provenance:
            self.facts_of[passage_id].add(fact.id)
            edges += [(fact.subject_id, passage_id, PASSAGE_EDGE), (fact.object_id, passage_id, PASSAGE_EDGE)]
        for a, b, weight in edges:
            self.graph.add_node(a)
            self.graph.add_node(b)
            if a != b:
                self.graph.add_edge(a, b, weight)
        self._edges[fact.id] = [e for e in edges if e[0] != e[1]]

    def _drop_fact(self, fact_id: str) -> None:
        old = self.facts.pop(fact_id, None)
        if old is None:
            return
        for passage_id in old.provenance:
            self.facts_of[passage_id].discard(fact_id)
        for a, b, weight in self._edges.pop(fact_id, ()):
            if a in self.graph and b in self.graph:
                left = self.graph.weight(a, b) - weight
                # All weights are whole, so a remainder is exact.
                self.graph.set_edge(a, b, max(0.0, left))

    def _remove(self, batch: WriteBatch) -> None:
        for fact_id in batch.remove_facts:
            self._drop_fact(fact_id)
        gone = set(batch.remove_passages)
        for passage_id in gone:
            for fact_id in list(self.facts_of.get(passage_id, ())):
                if set(self.facts[fact_id].provenance) <= gone:
                    self._drop_fact(fact_id)
                    self.vectors["fact"].remove([fact_id])
            self.facts_of.pop(passage_id, None)
            self.passages.pop(passage_id, None)
            if passage_id in self.graph:
                self.graph.remove_node(passage_id)
        self.bonds.forget(gone)
        for passage_id in [*gone, *batch.remove_extractions]:
            self.extractions.pop(passage_id, None)
            self.frame_of.pop(passage_id, None)
        for frame_id in batch.remove_frames:
            self.frames.pop(frame_id, None)
        for entity_id in batch.remove_entities:
            self.entities.pop(entity_id, None)
            if entity_id in self.graph:
                self.graph.remove_node(entity_id)
        emptied = [*gone, *batch.remove_extractions]
        self.words["passage"].remove(gone)
        self.words["extraction"].remove(emptied)
        removals: tuple[tuple[Kind, Iterable[str]], ...] = (
            ("passage", gone),
            ("extraction", emptied),
            ("frame", batch.remove_frames),
            ("fact", batch.remove_facts),
            ("entity", batch.remove_entities),
        )
        for kind, ids in removals:
            self.vectors[kind].remove(list(ids))

    def _put_vectors(self, vectors: Iterable[tuple[Kind, str, Vector]]) -> None:
        by_kind: dict[Kind, list[tuple[str, Vector]]] = defaultdict(list)
        for kind, item, vector in vectors:
            by_kind[kind].append((item, vector))
        for kind, rows in by_kind.items():
            self.vectors[kind].add([item for item, _ in rows], np.stack([v for _, v in rows]))

    def provenance(self, passage_id: str) -> Iterator[str]:
        """Give the passages of the frame that a passage belongs to, itself included."""
        frame_id = self.frame_of.get(passage_id)
        yield from self.frames[frame_id].provenance if frame_id else (passage_id,)


def passage_text(passage: Passage) -> str:
    """Give the text by which a passage is found: who said it, the words, the caption of a shared picture."""
    image = f" [image: {passage.image}]" if passage.image else ""
    return f"{passage.speaker}: {passage.text}{image}" if passage.speaker else passage.text + image
