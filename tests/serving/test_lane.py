"""Rows of many callers in common batches: each gets what it would get alone, and nobody spoils or starves another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from seem.errors import ModelError
from seem.models.fakes import HashingEncoder
from serving.lane import Lane
from serving.metrics import Metrics
from serving.models import LanedEncoder
from serving.usage import Usage, usage

Opened = Callable[..., Lane]


@pytest.fixture
def lane() -> Iterator[Opened]:
    opened: list[Lane] = []

    def make(rows: int = 8, wait: float = 0.0) -> Lane:
        opened.append(Lane("test", rows=rows, wait=wait, metrics=Metrics()))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


class Recorder:
    """A task that doubles rows, keeps its batches, and can be held."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.go = threading.Event()
        self.go.set()

    def __call__(self, rows: list[Any]) -> Sequence[Any]:
        self.batches.append(rows)
        self.go.wait(10)
        if "bad" in rows:
            raise ModelError("a bad row")
        return [row * 2 for row in rows]


def submit(lane: Lane, rows: list[Any], tenant: str = "", background: bool = False, task: str = "double") -> list[Any]:
    usage.set(Usage(tenant=tenant, background=background))
    return lane.submit(task, rows)


def test_rows_that_come_while_the_model_works_share_a_batch(lane: Opened) -> None:
    one, told = lane(), Recorder()
    one.task("double", told)
    told.go.clear()
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(submit, one, [1])
        while not told.batches:
            time.sleep(0.001)
        others = [pool.submit(submit, one, [n, n + 10]) for n in range(2, 5)]
        while len(one._queue) < 3:
            time.sleep(0.001)
        told.go.set()
        assert first.result() == [2]
        assert [other.result() for other in others] == [[2 * n, 2 * n + 20] for n in range(2, 5)]
    assert [len(batch) for batch in told.batches] == [1, 6]


def test_a_bad_row_fails_its_own_call_only(lane: Opened) -> None:
    one, told = lane(), Recorder()
    one.task("double", told)
    told.go.clear()
    with ThreadPoolExecutor(8) as pool:
        pool.submit(submit, one, [0])
        while not told.batches:
            time.sleep(0.001)
        good = pool.submit(submit, one, [1])
        bad = pool.submit(submit, one, ["bad", 5])
        while len(one._queue) < 2:
            time.sleep(0.001)
        told.go.set()
        assert good.result() == [2]
        with pytest.raises(ModelError, match="a bad row"):
            bad.result()
    assert submit(one, [7]) == [14]


def test_urgent_rows_pass_a_long_background_call(lane: Opened) -> None:
    one, told = lane(rows=4), Recorder()
    one.task("double", told)
    told.go.clear()
    with ThreadPoolExecutor(8) as pool:
        long = pool.submit(submit, one, list(range(100, 112)), "a", True)
        while not told.batches:
            time.sleep(0.001)
        urgent = pool.submit(submit, one, [1, 2], "b")
        while len(one._queue) < 2:
            time.sleep(0.001)
        told.go.set()
        assert urgent.result() == [2, 4]
        assert long.result() == [2 * n for n in range(100, 112)]
    assert told.batches[1][:2] == [1, 2]


def test_tenants_take_turns(lane: Opened) -> None:
    one, told = lane(rows=4), Recorder()
    one.task("double", told)
    told.go.clear()
    with ThreadPoolExecutor(8) as pool:
        pool.submit(submit, one, [0])
        while not told.batches:
            time.sleep(0.001)
        greedy = pool.submit(submit, one, [10] * 20, "greedy")
        while len(one._queue) < 1:
            time.sleep(0.001)
        modest = pool.submit(submit, one, [1, 2], "modest")
        while len(one._queue) < 2:
            time.sleep(0.001)
        told.go.set()
        assert (modest.result(), greedy.result()) == ([2, 4], [20] * 20)
    assert sorted(told.batches[1]) == [1, 2, 10, 10]


def test_a_batch_waits_for_others_only_where_others_are_about(lane: Opened) -> None:
    one, told = lane(wait=0.5), Recorder()
    one.task("double", told)
    begun = time.monotonic()
    one.others = lambda: 1
    assert submit(one, [1]) == [2]
    assert time.monotonic() - begun < 0.4
    one.others = lambda: 2
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda n: submit(one, [n]), (3, 4)))
    assert both == [[6], [8]]
    assert [sorted(batch) for batch in told.batches] == [[1], [3, 4]]


def test_tokens_are_shared_by_rows(lane: Opened) -> None:
    one = lane()

    def run(rows: list[Any]) -> Sequence[Any]:
        one.count(30 * len(rows), 4 * len(rows))
        return rows

    one.task("double", run)
    spent = Usage()
    usage.set(spent)
    one.submit("double", [1, 2, 3])
    assert (spent.prompt_tokens, spent.completion_tokens) == (90, 12)


def test_vectors_are_those_of_each_text_alone(lane: Opened) -> None:
    plain = HashingEncoder()
    laned = LanedEncoder(plain, lane(rows=3, wait=0.01))
    laned._lane.task("encode", lambda rows: list(plain.encode(rows)))
    texts = [[f"text {n}", f"other {n}"] for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(laned.encode, texts))
    for vectors, some in zip(made, texts, strict=True):
        assert np.array_equal(vectors, np.concatenate([plain.encode([text]) for text in some]))
    assert laned.encode([]).shape == (0, 64)


def test_a_closed_lane_finishes_what_is_queued_and_takes_no_more(lane: Opened) -> None:
    one, told = lane(), Recorder()
    one.task("double", told)
    told.go.clear()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(submit, one, [1])
        while not told.batches:
            time.sleep(0.001)
        second = pool.submit(submit, one, [2])
        while len(one._queue) < 1:
            time.sleep(0.001)
        closing = pool.submit(one.close)
        told.go.set()
        assert (first.result(), second.result()) == ([2], [4])
        closing.result()
    with pytest.raises(ModelError, match="shutting down"):
        submit(one, [3])
