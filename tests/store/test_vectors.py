"""The vector index against a plain matrix product, and the bug of shifting ids (O-28)."""

from __future__ import annotations

from pathlib import Path

import faiss
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seem.errors import ConfigError, InputError, NotFoundError
from seem.store.batch import WriteBatch
from seem.store.store import Store
from seem.store.vectors import VectorIndex
from tests.store.samples import draft

Matrix = npt.NDArray[np.float32]


def units(count: int, dimension: int = 16, seed: int = 0) -> Matrix:
    values = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    rows: Matrix = (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)
    return rows


def test_empty_and_short_indexes() -> None:
    index = VectorIndex(16)
    assert index.search(units(2), 10) == [[], []]
    assert len(index) == 0
    index.add(["a", "b", "c"], units(3))
    [found] = index.search(units(1), 10)
    assert sorted(item_id for item_id, _ in found) == ["a", "b", "c"]
    assert found[0][0] == "a"
    assert found[0][1] == pytest.approx(1.0, abs=1e-5)
    assert index.search(units(1), 0) == [[]]
    assert index.search(np.empty((0, 16), np.float32), 3) == []
    assert index.search(units(1), 3, allowed=[]) == [[]]
    assert index.search(units(1), 3, allowed={"nowhere"}) == [[]]


def test_forgetting_from_the_middle_shifts_no_id(tmp_path: Path) -> None:
    matrix = units(105)
    with Store(tmp_path / "a.db") as store:
        texts = {p.id: p.text for p, _ in store.add_passages("oak", [draft(str(n)) for n in range(100)])}
        ids = list(texts)
        index = VectorIndex(16)
        index.add(ids, matrix[:100])
        store.apply(
            "oak", WriteBatch(encoder="e", vectors=[("passage", i, v) for i, v in zip(ids, matrix, strict=False)])
        )
        store.apply("oak", WriteBatch(remove_passages=ids[40:45]))
        index.remove([*ids[40:45], "nowhere"])
        late = {p.id: p.text for p, _ in store.add_passages("oak", [draft(str(n)) for n in range(100, 105)])}
        store.apply("oak", WriteBatch(encoder="e", vectors=[("passage", i, matrix[int(late[i])]) for i in late]))
        index.add(list(late), matrix[100:])
    with Store(tmp_path / "a.db") as store:
        vectors = {item_id: vector for (_, item_id), vector in store.load("oak").vectors.items()}
    reloaded = VectorIndex(16)
    reloaded.add(list(vectors), np.array(list(vectors.values())))
    texts |= late
    assert len(set(texts)) == 105
    for each in (index, reloaded):
        assert len(each) == 100
        for number, [hit] in enumerate(each.search(matrix, 1)):
            assert hit[0] not in ids[40:45]
            assert (texts[hit[0]] == str(number)) == (number not in range(40, 45))


def test_adding_again_replaces() -> None:
    index = VectorIndex(16)
    matrix = units(3)
    index.add(["a", "b"], matrix[:2])
    index.add(["a", "a"], matrix[1:])
    assert len(index) == 2
    assert np.allclose(index.vector("a"), matrix[2])
    assert [item_id for item_id, _ in index.search(matrix[:1], 5)[0]].count("a") == 1
    index.remove(["a"])
    assert "a" not in index
    with pytest.raises(NotFoundError, match="'a'"):
        index.vector("a")


def test_ties_are_settled_by_id() -> None:
    index = VectorIndex(16)
    same, other = units(1), units(1, seed=1)
    index.add([f"i{number:02}" for number in reversed(range(60))], np.repeat(same, 60, axis=0))
    index.add(["other"], other)
    for k in (1, 3, 40):
        assert [item_id for item_id, _ in index.search(same, k)[0]] == [f"i{number:02}" for number in range(k)]
    allowed = [f"i{number:02}" for number in range(59, 20, -1)]
    assert [item_id for item_id, _ in index.search(same, 2, allowed)[0]] == ["i21", "i22"]


def test_what_does_not_fit_is_refused() -> None:
    index = VectorIndex(16)
    with pytest.raises(InputError, match="dimension 16"):
        index.add(["a"], units(1, 8))
    with pytest.raises(InputError, match="dimension 16"):
        index.search(units(1)[0], 1)
    with pytest.raises(InputError, match="2 ids came with 1"):
        index.add(["a", "b"], units(1))
    with pytest.raises(InputError, match="finite"):
        index.add(["a"], np.full((1, 16), np.nan, np.float32))
    with pytest.raises(ConfigError):
        VectorIndex(0)
    assert len(index) == 0
    if not faiss.get_num_gpus():
        with pytest.raises(ConfigError, match="GPU"):
            VectorIndex(16, gpu=True)


operation = st.tuples(st.sampled_from(["add", "remove"]), st.sets(st.integers(0, 30), min_size=1, max_size=8))


@settings(max_examples=40, deadline=None)
@given(st.lists(operation, max_size=8), st.sets(st.integers(0, 30)), st.integers(1, 12))
def test_equals_a_plain_product(operations: list[tuple[str, set[int]]], allowed: set[int], k: int) -> None:
    # Few distinct vectors, so that ties are common.
    matrix = units(5, 4)
    index = VectorIndex(4)
    held: dict[str, Matrix] = {}
    for turn, (verb, numbers) in enumerate(operations):
        ids = [f"i{number:02}" for number in sorted(numbers)]
        if verb == "add":
            rows = np.array([matrix[(number + turn) % 5] for number in sorted(numbers)])
            index.add(ids, rows)
            held |= dict(zip(ids, rows, strict=True))
        else:
            index.remove(ids)
            held = {item_id: row for item_id, row in held.items() if item_id not in ids}
    assert len(index) == len(held)
    query = units(2, 4, seed=9)
    readable = {f"i{number:02}" for number in allowed}
    for among in (None, readable):
        for row, found in zip(query, index.search(query, k, among), strict=True):
            scores = {i: float(v @ row) for i, v in held.items() if among is None or i in among}
            right = sorted(scores, key=lambda item_id: (-round(scores[item_id], 5), item_id))[:k]
            assert [item_id for item_id, _ in found] == right
            assert [score for _, score in found] == pytest.approx([scores[i] for i in right], abs=1e-5)


def clusters(count: int, seed: int = 0) -> Matrix:
    rng = np.random.default_rng(seed)
    rows = units(count // 40, 24, seed)[rng.integers(count // 40, size=count)]
    rows += 0.05 * rng.standard_normal(rows.shape).astype(np.float32)
    spread: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return spread


def test_beyond_a_size_rows_lie_in_lists_and_stay_right() -> None:
    matrix = clusters(3000)
    names = [f"i{number:04}" for number in range(3000)]
    index, exact = VectorIndex(24, exact_up_to=1000), VectorIndex(24, exact_up_to=10**9)
    for each in (index, exact):
        each.add(names[:900], matrix[:900])
        each.add(names[900:], matrix[900:])
        # In place: some go, some get another's vector, one comes back.
        each.remove(names[100:200])
        each.add(names[200:300], matrix[700:800])
        each.add(names[150:151], matrix[150:151])
    assert index._in_lists and not exact._in_lists and len(index) == len(exact) == 2901
    queries = clusters(3000)[::30]
    found, right = index.search(queries, 20), exact.search(queries, 20)
    shared = [len({i for i, _ in a} & {i for i, _ in b}) / 20 for a, b in zip(found, right, strict=True)]
    assert np.mean(shared) > 0.95
    assert not {i for row in found for i, _ in row} & ({*names[100:200]} - {names[150]})
    assert np.allclose(index.vector(names[250]), matrix[750])
    with pytest.raises(NotFoundError):
        index.vector(names[120])
    # Who may read little, and who wants much, gets what an exact search gives.
    allowed = names[50:400:3]
    assert index.search(queries, 15, allowed) == exact.search(queries, 15, allowed)
    assert index.search(queries[:3], 2901) == exact.search(queries[:3], 2901)


def test_lists_are_made_anew_when_there_are_twice_as_many() -> None:
    matrix = clusters(2000)
    index = VectorIndex(24, exact_up_to=500)
    lists = []
    for start in range(0, 2000, 250):
        index.add([f"i{number:04}" for number in range(start, start + 250)], matrix[start : start + 250])
        lists.append(index._index.nlist if index._in_lists else 0)
    assert lists[:2] == [0, 0] and len(set(lists[2:])) == 2
    assert all(hit[0] == f"i{number:04}" for number, [hit] in enumerate(index.search(matrix, 1)))


def test_where_lists_would_find_too_little_searches_stay_exact(caplog: pytest.LogCaptureFixture) -> None:
    matrix = units(1500, 64)
    index = VectorIndex(64, exact_up_to=1000)
    index.add([str(number) for number in range(1500)], matrix)
    assert not index._in_lists and "stay exact" in caplog.text
    [found] = index.search(matrix[:1], 50)
    scores = matrix @ matrix[0]
    assert {int(i) for i, _ in found} == set(np.argsort(-scores)[:50].tolist())
