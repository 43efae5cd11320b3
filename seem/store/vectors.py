"""The vector index: inner products over unit vectors, in FAISS, derived from the store.

Takes string ids and float32 rows, gives the nearest ids with their scores. Exact up to a size where scanning everything
is fast enough; beyond it rows lie in lists of which a search reads some, as many as find nearly all that an exact one
finds on rows of this very index, else it stays exact. Searches among few rows, or for many, are exact at any size.
Internal numbers are never handed out twice, so that a removed item cannot reappear under another's name. Safe for several
threads. Knows nothing about texts or encoders.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Sequence
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from seem.errors import ConfigError, InputError, NotFoundError
from seem.store.batch import Vector

# Below this many queries FAISS scans without BLAS: no sgemm threads that wait for each other on small machines, and a
# score does not depend on how many were asked together.
faiss.cvar.distance_compute_blas_threshold = 800
# Scores are compared at this many decimals: the same vector may differ in its last bits by its place in the index.
_DECIMALS = 6
_GPU_MAX_K = 2048
# Seen with training.benchmarks.scale: up to here one thread scans everything in some milliseconds.
EXACT_UP_TO = 50_000
# The share of the exact top that lists must find, and on how many stored rows that is tried.
_RECALL, _TOP, _TRIED = 0.98, 20, 200
# Rows that the lists are trained on, for each list: what FAISS asks for.
_TRAINING = 39
# Who wants more than this share of all rows, or must read more than this share of the lists, scans everything.
_SHARE = 8

Ranking = list[tuple[str, float]]
_log = logging.getLogger(__name__)


class VectorIndex:
    """String ids and their vectors of one dimension."""

    def __init__(self, dimension: int, *, gpu: bool = False, exact_up_to: int = EXACT_UP_TO) -> None:
        """Make an empty index; with ``gpu``, unrestricted searches run on the first GPU, exact at any size."""
        if dimension < 1:
            raise ConfigError(f"a vector index needs a dimension of at least 1, not {dimension}")
        if gpu and not faiss.get_num_gpus():
            raise ConfigError("a GPU was asked for, but FAISS sees none; install faiss-gpu or set gpu: false")
        self.dimension = dimension
        # Any: the stubs of FAISS describe its C++ signatures, not what its Python wrappers accept.
        self._index: Any = faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))
        self._in_lists = False
        self._exact_up_to = exact_up_to
        self._arranged = 0
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._next = 0
        self._lock = threading.Lock()
        self._gpu = faiss.StandardGpuResources() if gpu else None
        self._on_gpu: Any = None

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._numbers

    def add(self, ids: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        """Add rows of shape ``(len(ids), dimension)``; an id that is present gets its new vector."""
        matrix = self._matrix(vectors)
        if len(matrix) != len(ids):
            raise InputError(f"{len(ids)} ids came with {len(matrix)} vectors; give one vector for each id")
        # The last row of an id that comes twice counts.
        rows = {item_id: row for row, item_id in enumerate(ids)}
        if not rows:
            return
        with self._lock:
            self._drop(rows)
            numbers = np.arange(self._next, self._next + len(rows), dtype=np.int64)
            self._index.add_with_ids(np.ascontiguousarray(matrix[list(rows.values())]), numbers)
            self._next += len(rows)
            for item_id, number in zip(rows, numbers.tolist(), strict=True):
                self._numbers[item_id] = number
                self._names[number] = item_id
            self._on_gpu = None
            self._arrange()

    def remove(self, ids: Collection[str]) -> None:
        """Remove those ids that are present."""
        with self._lock:
            self._drop(ids)

    def search(self, queries: npt.NDArray[np.float32], k: int, allowed: Collection[str] | None = None) -> list[Ranking]:
        """Give for each query, shape ``(n, dimension)``, up to ``k`` (id, inner product), best first, ties by id.

        With ``allowed``, only those ids take part.
        """
        matrix = self._matrix(queries)
        with self._lock:
            numbers = self._allowed(allowed)
            available = len(self._numbers) if numbers is None else len(numbers)
            k = min(k, available)
            if k < 1 or not len(matrix):
                return [[] for _ in matrix]
            return self._ranked(matrix, k, available, numbers)

    def vector(self, item_id: str) -> Vector:
        """Give the stored vector of an id; raise NotFoundError where there is none."""
        with self._lock:
            if item_id not in self._numbers:
                raise NotFoundError(f"the vector index has no {item_id!r}; run `seem reindex` if the store has it")
            vector: Vector = self._index.reconstruct(self._numbers[item_id])
            return vector

    def _matrix(self, vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        matrix = np.ascontiguousarray(vectors, dtype=np.float32)
        if matrix.ndim != 2 or matrix.shape[1] != self.dimension:
            raise InputError(f"the index holds vectors of dimension {self.dimension}, not of shape {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise InputError("a vector holds a value that is not finite; encode the text again")
        return matrix

    def _drop(self, ids: Collection[str]) -> None:
        numbers = [self._numbers.pop(item_id) for item_id in dict.fromkeys(ids) if item_id in self._numbers]
        for number in numbers:
            del self._names[number]
        if numbers:
            gone = np.array(numbers, dtype=np.int64)
            # Lists find their rows by number and take no other selector.
            self._index.remove_ids(faiss.IDSelectorArray(gone) if self._in_lists else gone)
            self._on_gpu = None

    def _arrange(self) -> None:
        """Put the rows into lists once there are too many to scan, and anew whenever their number has doubled."""
        if self._gpu is not None or len(self._numbers) <= max(self._exact_up_to, 2 * self._arranged):
            return
        self._arranged = len(self._numbers)
        if self._in_lists:
            numbers = np.fromiter(self._names, dtype=np.int64, count=len(self._names))
            rows = self._index.reconstruct_batch(numbers)
        else:
            numbers = faiss.vector_to_array(self._index.id_map)
            rows = self._index.index.reconstruct_n(0, len(numbers))
        arranged = _lists(rows, numbers)
        self._in_lists = arranged is not None
        if arranged is None:
            _log.warning("lists find too little of %d vectors: searches stay exact, and slower", len(numbers))
            arranged = faiss.IndexIDMap2(faiss.IndexFlatIP(self.dimension))
            arranged.add_with_ids(rows, numbers)
        self._index = arranged

    def _allowed(self, allowed: Collection[str] | None) -> npt.NDArray[np.int64] | None:
        if allowed is None:
            return None
        numbers = {self._numbers[item_id] for item_id in allowed if item_id in self._numbers}
        return np.array(sorted(numbers), dtype=np.int64)

    def _ranked(
        self, queries: npt.NDArray[np.float32], k: int, available: int, numbers: npt.NDArray[np.int64] | None
    ) -> list[Ranking]:
        # Fetch more until no tie runs over the edge of what was fetched: which of the tied come is FAISS's whim.
        fetched = min(available, k + 8)
        rankings: list[Ranking] = [[] for _ in queries]
        open_rows = np.arange(len(queries))
        whole = not self._in_lists or numbers is not None or fetched * _SHARE > available
        while len(open_rows):
            scores, found = self._scan(queries[open_rows], fetched, numbers, whole)
            # Lists that hold fewer than were asked for leave places empty.
            scores = np.where(found < 0, -np.inf, scores).round(_DECIMALS)
            settled = (scores[:, k - 1] > scores[:, -1]) | (fetched == available)
            for row, row_scores, row_found in zip(
                open_rows[settled].tolist(), scores[settled].tolist(), found[settled].tolist(), strict=True
            ):
                pairs = [(self._names[n], s) for n, s in zip(row_found, row_scores, strict=True) if n >= 0]
                rankings[row] = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]
            open_rows = open_rows[~settled]
            fetched = min(available, fetched * 4)
            whole = True
        return rankings

    def _scan(
        self, queries: npt.NDArray[np.float32], k: int, numbers: npt.NDArray[np.int64] | None, whole: bool
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        if numbers is not None or (self._in_lists and whole):
            chosen = {} if numbers is None else {"sel": faiss.IDSelectorBatch(numbers)}
            lists = {"nprobe": self._index.nlist} if self._in_lists else {}
            parameters: Any = faiss.SearchParametersIVF if self._in_lists else faiss.SearchParameters
            scores, found = self._index.search(queries, k, params=parameters(**chosen, **lists))
        elif self._gpu is not None and k <= _GPU_MAX_K:
            if self._on_gpu is None:
                self._on_gpu = faiss.index_cpu_to_gpu(self._gpu, 0, self._index.index)
            scores, places = self._on_gpu.search(queries, k)
            found = faiss.vector_to_array(self._index.id_map)[places]
        else:
            scores, found = self._index.search(queries, k)
        return scores, found


def _lists(rows: npt.NDArray[np.float32], numbers: npt.NDArray[np.int64]) -> Any:
    """Give the rows in lists, with as many of them read as find what an exact search finds; None where that is too many."""
    count, dimension = rows.shape
    number = max(1, min(int(4 * count**0.5), count // _TRAINING))
    order = np.random.default_rng(0).permutation(count)
    index: Any = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, number, faiss.METRIC_INNER_PRODUCT)
    index.train(rows[order[: _TRAINING * number]])
    index.set_direct_map_type(faiss.DirectMap.Hashtable)  # type: ignore[attr-defined]
    index.add_with_ids(rows, numbers)
    tried = rows[order[:_TRIED]]
    right = numbers[faiss.knn(tried, rows, min(_TOP, count), metric=faiss.METRIC_INNER_PRODUCT)[1]]
    index.nprobe = 1
    while _found(index.search(tried, right.shape[1])[1], right) < _RECALL:
        if index.nprobe * _SHARE >= number:
            return None
        index.nprobe *= 2
    return index


def _found(found: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> float:
    return float(np.mean([np.isin(b, a).mean() for a, b in zip(found, right, strict=True)]))
