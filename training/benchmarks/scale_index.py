"""Vector indexes of one size, side by side: ours, a plain exact one, half precision, inverted lists.

Takes a size; gives for each index the time to build, the memory, the latency of single and of batched searches, and the
recall against the exact one, all on the same vectors and queries. Inverted lists look at as few as reach the recall that
is asked for on other queries. Knows nothing about graphs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from seem.store.vectors import VectorIndex
from training.benchmarks.averages import spread
from training.benchmarks.meter import built, milliseconds, timed
from training.benchmarks.scale_data import DIMENSION, Floats, near, vectors

K = 20
BATCH = 16
RECALL = 0.98
PROBED = 200
# Rows that inverted lists are trained on, for each list: what FAISS asks for.
TRAINING = 39

Search = Callable[[Floats], npt.NDArray[np.int64]]


def indexes(size: int, queries: int, seed: int) -> dict[str, Any]:
    """Measure our index, a plain exact one, half precision, and inverted lists, on the same vectors and queries."""
    rows = vectors(size, seed)
    asked = near(rows, queries, seed + 1)
    plain, cost = built(lambda: _plain(rows))
    exact: npt.NDArray[np.int64] = plain.search(asked, K)[1]
    found = {"dense": _index(_faiss(plain), asked, exact, cost)}
    ours, cost = built(lambda: _ours(rows))
    found["seem"] = _index(_names(ours), asked, exact, cost)
    del ours
    half, cost = built(lambda: _half(rows))
    found["fp16"] = _index(_faiss(half), asked, exact, cost)
    del half
    lists, cost = built(lambda: _inverted(rows))
    probes = _probes(lists, near(rows, PROBED, seed + 2), plain)
    found["ivf"] = {**_index(_faiss(lists), asked, exact, cost), "lists": lists.nlist, "probes": probes}
    for told in found.values():
        told["over_dense"] = told["ms"]["median"] / found["dense"]["ms"]["median"]
    return {"index": found}


def _plain(rows: Floats) -> Any:
    index: Any = faiss.IndexFlatIP(DIMENSION)
    index.add(rows)
    return index


def _half(rows: Floats) -> Any:
    index: Any = faiss.IndexScalarQuantizer(DIMENSION, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    index.train(rows)
    index.add(rows)
    return index


def _lists(size: int) -> int:
    return max(1, min(int(4 * size**0.5), size // TRAINING))


def _inverted(rows: Floats) -> Any:
    lists = _lists(len(rows))
    index: Any = faiss.IndexIVFFlat(faiss.IndexFlatIP(DIMENSION), DIMENSION, lists, faiss.METRIC_INNER_PRODUCT)
    sample = np.random.default_rng(0).permutation(len(rows))[: TRAINING * lists]
    index.train(rows[sample])
    index.add(rows)
    return index


def _probes(index: Any, asked: Floats, plain: Any) -> int:
    """Set and give the fewest probes, doubling, that reach the recall that is asked for on other queries."""
    exact = plain.search(asked, K)[1]
    index.nprobe = 1
    while index.nprobe < index.nlist and _recall(index.search(asked, K)[1], exact) < RECALL:
        index.nprobe = min(index.nlist, index.nprobe * 2)
    return int(index.nprobe)


def _ours(rows: Floats) -> VectorIndex:
    index = VectorIndex(DIMENSION)
    index.add([str(number) for number in range(len(rows))], rows)
    return index


def _names(index: VectorIndex) -> Search:
    def search(asked: Floats) -> npt.NDArray[np.int64]:
        found = index.search(asked, K)
        return np.array([[int(name) for name, _ in row] for row in found], dtype=np.int64)

    return search


def _faiss(index: Any) -> Search:
    def search(asked: Floats) -> npt.NDArray[np.int64]:
        numbers: npt.NDArray[np.int64] = index.search(asked, K)[1]
        return numbers

    return search


def _index(search: Search, asked: Floats, exact: npt.NDArray[np.int64], cost: Mapping[str, float]) -> dict[str, Any]:
    found = [timed(partial(search, asked[n : n + 1])) for n in range(len(asked))]
    starts = range(0, len(asked) - BATCH + 1, BATCH) if len(asked) >= BATCH else [0]
    batches = [timed(partial(search, asked[s : s + BATCH]))[1] / min(BATCH, len(asked)) for s in starts]
    return {
        **cost,
        "ms": milliseconds(found),
        "batch_ms_per_query": spread([1000 * seconds for seconds in batches]),
        "recall": _recall(np.concatenate([numbers for numbers, _ in found]), exact),
    }


def _recall(found: npt.NDArray[np.int64], exact: npt.NDArray[np.int64]) -> float:
    pairs = zip(found.tolist(), exact.tolist(), strict=True)
    return statistics.mean(len(set(a) & set(b)) / len(b) for a, b in pairs)
