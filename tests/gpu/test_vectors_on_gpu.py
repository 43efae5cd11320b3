"""The index on a GPU finds what it finds on a CPU, after removals too."""

from __future__ import annotations

import faiss
import numpy as np
import pytest

from seem.store.vectors import VectorIndex

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not getattr(faiss, "get_num_gpus", lambda: 0)(), reason="FAISS sees no GPU; install faiss-gpu"),
]


def test_same_nearest_before_and_after_removals() -> None:
    rows = np.random.default_rng(3).standard_normal((20_000, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    ids = [f"p_{n}" for n in range(len(rows))]
    indexes = [VectorIndex(384, gpu=gpu) for gpu in (True, False)]
    for index in indexes:
        index.add(ids, rows)
    there, here = (index.search(rows[:64], 20) for index in indexes)
    assert [[i for i, _ in found[:10]] for found in there] == [[i for i, _ in found[:10]] for found in here]
    assert np.allclose([s for f in there for _, s in f], [s for f in here for _, s in f], atol=1e-4)
    for index in indexes:
        index.remove(ids[:32])
    there, here = (index.search(rows[:64], 10) for index in indexes)
    assert [found[0][0] for found in there] == [found[0][0] for found in here]
    assert not {i for found in there for i, _ in found} & set(ids[:32])
