"""Several threads, several processes, one killed in the middle: nothing doubled, halved or in the wrong place."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from seem.store.batch import WriteBatch
from seem.store.store import StaleError, Store
from seem.store.verify import verify
from tests.store.conftest import Place
from tests.store.samples import draft, extraction

ROOT = Path(__file__).parents[2]


def write_as(address: Path | str, memory: str, worker: int) -> int:
    """Add 12 passages of the worker and the same shared 10; give how many were new."""
    new = 0
    with Store(address) as store:
        for number in range(12):
            batch = [draft(f"{memory} of {worker} number {number}"), draft(f"{memory} shared {number % 10}")]
            new += sum(fresh for _, fresh in store.add_passages(memory, batch))
    return new


def test_threads_share_one_store(place: Place) -> None:
    threads_share(place.address)


def test_threads_share_one_store_in_memory() -> None:
    threads_share(":memory:")


def threads_share(address: Path | str) -> None:
    with Store(address) as store:
        wrong: list[str] = []
        stop = threading.Event()

        def read() -> None:
            while not stop.wait(0.005):
                snapshot = store.load("oak")
                wrong.extend(p.text for p in snapshot.passages.values() if not p.text.startswith("oak"))
                wrong.extend(set(snapshot.extractions) - set(snapshot.passages))

        def write(worker: int) -> list[str]:
            memory = ("oak", "elm")[worker % 2]
            ids = []
            for number in range(10):
                [(passage, _)] = store.add_passages(memory, [draft(f"{memory} {number}")])
                store.apply(memory, WriteBatch(extractions=[extraction(passage.id)]))
                ids.append(passage.id)
            return ids

        with ThreadPoolExecutor(9) as pool:
            reader = pool.submit(read)
            written = list(pool.map(write, range(8)))
            stop.set()
            reader.result()
        assert not wrong
        for memory, mine in (("oak", written[::2]), ("elm", written[1::2])):
            assert [passage.position for passage in store.passages(memory)] == list(range(10))
            assert {tuple(ids) for ids in mine} == {tuple(passage.id for passage in store.passages(memory))}


def test_processes_share_one_store(place: Place) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        jobs = [(place.address, ("oak", "elm")[worker % 2], worker) for worker in range(4)]
        new = pool.starmap(write_as, jobs, chunksize=1)
    with Store(place.address) as store:
        assert sum(new) == store.stats(None)["passages"] == 2 * (2 * 12 + 10)
        for memory in ("oak", "elm"):
            passages = store.passages(memory)
            assert [passage.position for passage in passages] == list(range(34))
            assert all(passage.text.startswith(memory) for passage in passages)
        assert verify(store, None) == []


def test_of_racing_batches_one_wins(place: Place) -> None:
    with Store(place.address) as store:
        [(passage, _)] = store.add_passages("oak", [draft("a")])
        generation = store.generation("oak")

        def race(worker: int) -> bool:
            batch = WriteBatch(extractions=[extraction(passage.id, f"by {worker}")])
            try:
                store.apply("oak", batch, expected=generation)
            except StaleError:
                return False
            return True

        with ThreadPoolExecutor(6) as pool:
            outcomes = list(pool.map(race, range(6)))
        assert outcomes.count(True) == 1
        winner = outcomes.index(True)
        assert store.load("oak").extractions[passage.id].events[0].action == f"by {winner}"
        assert store.generation("oak") == generation + 1


# Stops where everything of both writes but the commit has been done, and waits to be killed.
KILLED = """
import sys
sys.path.insert(0, {root!r})
from seem.store import store as module
from seem.store.batch import WriteBatch
from tests.store.samples import draft, extraction
store = module.Store({address!r})
[(passage, _)] = store.add_passages("oak", [draft("first")])
real = module.note
def slow(*arguments, **rest):
    real(*arguments, **rest)
    print("ready", flush=True)
    sys.stdin.read()
module.note = slow
if {verb!r} == "apply":
    store.apply("oak", WriteBatch(extractions=[extraction(passage.id)], done=[passage.id]))
else:
    store.add_passages("oak", [draft(f"more {{number}} " + "x" * 50_000) for number in range(200)])
"""


@pytest.mark.parametrize("verb", ["apply", "add"])
def test_a_killed_writer_leaves_no_half_write(place: Place, verb: str) -> None:
    script = KILLED.format(root=str(ROOT), address=str(place.address), verb=verb)
    arguments = [sys.executable, "-c", script]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with Store(place.address) as store:
        snapshot = store.load("oak")
        assert [passage.text for passage in snapshot.passages.values()] == ["first"]
        assert snapshot.extractions == {}
        assert snapshot.generation == 1
        assert [passage.status for passage in store.pending("oak", 5)] == ["pending"]
        assert verify(store, None) == []
        [(passage, new)] = store.add_passages("oak", [draft("second")])
        assert new
        assert passage.position == 1
