"""The word index: BM25 in memory, derived from the store, updated in place.

Takes ids and texts, gives ranked ids. A search among ``allowed`` documents scores as if no others existed: their
number, their lengths and their words leave no trace in a score. Safe for several threads. Knows nothing about
passages or vectors.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from seem.store.words import STOP_WORDS, tokens

_K1 = 1.2
_B = 0.75

Slots = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class _Postings:
    """The documents of one term and how often each has it, in arrays that grow by doubling."""

    __slots__ = ("counts", "size", "slots")

    def __init__(self) -> None:
        self.slots: npt.NDArray[np.int32] = np.empty(2, np.int32)
        self.counts: npt.NDArray[np.int32] = np.empty(2, np.int32)
        self.size = 0

    def append(self, slot: int, count: int) -> None:
        if self.size == len(self.slots):
            self.slots = np.resize(self.slots, 2 * self.size)
            self.counts = np.resize(self.counts, 2 * self.size)
        self.slots[self.size], self.counts[self.size] = slot, count
        self.size += 1

    def drop(self, slots: npt.NDArray[np.int32]) -> None:
        keep = ~np.isin(self.slots[: self.size], slots)
        self.slots, self.counts = self.slots[: self.size][keep], self.counts[: self.size][keep]
        self.size = len(self.slots)


class LexicalIndex:
    """Okapi BM25 with the idf that is never negative, ln(1 + (N - df + 0.5) / (df + 0.5))."""

    def __init__(self) -> None:
        """Make an empty index."""
        self._postings: dict[str, _Postings] = {}
        self._slots: dict[str, int] = {}
        self._names: list[str] = []
        self._terms: list[tuple[str, ...]] = []
        self._lengths: npt.NDArray[np.int64] = np.zeros(16, np.int64)
        self._free: list[int] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._slots

    def add(self, item_id: str, text: str) -> None:
        """Add a document; one that is present gets its new text."""
        counts = Counter(tokens(text))
        with self._lock:
            self._drop([item_id])
            slot = self._take_slot(item_id, tuple(counts), counts.total())
            for term, count in counts.items():
                postings = self._postings.get(term)
                if postings is None:
                    postings = self._postings[term] = _Postings()
                postings.append(slot, count)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove those documents that are present."""
        with self._lock:
            self._drop(ids)

    def search(self, query: str, k: int, allowed: Collection[str] | None = None) -> list[tuple[str, float]]:
        """Give up to ``k`` (id, score) that share a word with the query, best first, ties by id.

        Stop words count only where the query holds nothing else. The query is words, never syntax.
        """
        words = list(dict.fromkeys(tokens(query)))
        terms = [word for word in words if word not in STOP_WORDS] or words
        with self._lock:
            if k < 1 or not terms:
                return []
            return self._top(self._scores(terms, allowed), k)

    def _scores(self, terms: list[str], allowed: Collection[str] | None) -> Floats:
        scores = np.zeros(len(self._names))
        among = None
        if allowed is None:
            number, total = len(self._slots), int(self._lengths.sum())
        else:
            among = np.zeros(len(self._names), dtype=bool)
            among[[self._slots[item_id] for item_id in allowed if item_id in self._slots]] = True
            number, total = int(among.sum()), int(self._lengths[: len(among)][among].sum())
        if not total:
            return scores
        average = total / number
        for term in terms:
            postings = self._postings.get(term)
            if postings is None:
                continue
            slots, counts = postings.slots[: postings.size], postings.counts[: postings.size]
            if among is not None:
                inside = among[slots]
                slots, counts = slots[inside], counts[inside]
            idf = math.log1p((number - len(slots) + 0.5) / (len(slots) + 0.5))
            weight = _K1 * (1 - _B + _B * self._lengths[slots] / average)
            scores[slots] += idf * (_K1 + 1) * counts / (counts + weight)
        return scores

    def _top(self, scores: Floats, k: int) -> list[tuple[str, float]]:
        hits: Slots = np.flatnonzero(scores)
        if len(hits) > k:
            # All that reach the k-th score, so that a tie at the edge is decided by id.
            edge = np.partition(scores[hits], -k)[-k]
            hits = hits[scores[hits] >= edge]
        pairs = zip((self._names[slot] for slot in hits.tolist()), scores[hits].tolist(), strict=True)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]

    def _take_slot(self, item_id: str, terms: tuple[str, ...], length: int) -> int:
        if self._free:
            slot = self._free.pop()
            self._names[slot], self._terms[slot] = item_id, terms
        else:
            slot = len(self._names)
            self._names.append(item_id)
            self._terms.append(terms)
            if slot == len(self._lengths):
                self._lengths = np.concatenate([self._lengths, np.zeros_like(self._lengths)])
        self._lengths[slot] = length
        self._slots[item_id] = slot
        return slot

    def _drop(self, ids: Iterable[str]) -> None:
        slots = [self._slots.pop(item_id) for item_id in dict.fromkeys(ids) if item_id in self._slots]
        gone = np.array(slots, dtype=np.int32)
        for term in {term for slot in slots for term in self._terms[slot]}:
            postings = self._postings[term]
            postings.drop(gone)
            if not postings.size:
                del self._postings[term]
        for slot in slots:
            self._names[slot], self._terms[slot] = "", ()
            self._lengths[slot] = 0
        self._free.extend(slots)
