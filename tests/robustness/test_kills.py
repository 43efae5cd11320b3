"""Killed with -9 in the middle of writing, again and again: nothing acknowledged is lost, nothing half-written remains.

SEEM_KILLS says how often (25 by default; 200 took about ten minutes on two busy cores).
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from seem.store.verify import verify
from tests.flows.people import texts
from tests.robustness.writer import USER, open_memory, write, write_some

KILLS = int(os.environ.get("SEEM_KILLS", "25"))


@pytest.fixture(scope="module")
def nursery() -> ForkServerContext:
    """Give what starts processes in which everything is imported already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.robustness.writer", "seem.pipeline"])
    return context


class Told:
    """What a writer acknowledged before it was killed, and what it was about to do."""

    def __init__(self) -> None:
        self.live: list[str] = []
        self.gone: list[str] = []
        self.between: tuple[str, ...] = ()

    def hear(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        words = tuple(rest.split("\t"))
        if verb in ("updating", "forgetting"):
            self.between = words
            return
        self.between = ()
        if verb in ("update", "forget"):
            self.live.remove(words[0])
        if verb == "forget":
            self.gone.append(words[0])
        if verb in ("add", "update"):
            self.live.append(words[-1])


def run_and_kill(nursery: ForkServerContext, folder: Path, run: int, verbs: int, seconds: float) -> Told:
    heard, said = nursery.Pipe(duplex=False)
    process = nursery.Process(target=write, args=(folder, run, said))
    process.start()
    said.close()
    told = Told()
    assert heard.recv_bytes() == b"ready"
    for _ in range(verbs):
        told.hear(heard.recv_bytes().decode())
    time.sleep(seconds)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    while True:
        try:
            told.hear(heard.recv_bytes().decode())
        except EOFError:
            heard.close()
            return told


def check(folder: Path, every: list[Told]) -> None:
    with open_memory(folder) as opened:
        assert verify(opened.parts.store, None) == []
        stored = texts(opened.get_all(**USER))
        assert len(stored) == len(set(stored))
        between = {words for told in every for words in told.between}
        live = {words for told in every for words in told.live}
        gone = {words for told in every for words in told.gone}
        assert live - between <= set(stored)
        assert not gone & set(stored)
        # What nobody acknowledged is at most the last write of each run.
        assert len(set(stored) - live - between) <= len(every)
        for told in every:
            if len(told.between) == 2:
                assert sum(words in stored for words in told.between) == 1
        files = b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())
        assert [words for words in gone if words.encode() in files] == []
        assert opened.retry()["failed"] == {}
        assert {item["status"] for item in opened.get_all(**USER)["results"]} <= {"done"}
        found = opened.page("frames", 100_000, **USER)["results"]
        assert sorted(p for frame in found for p in frame["passages"]) == sorted(
            item["id"] for item in opened.get_all(**USER)["results"]
        )
        assert verify(opened.parts.store, None) == []


def killed_often(nursery: ForkServerContext, folder: Path, times: int) -> None:
    rng = random.Random(7)
    every: list[Told] = []
    for run in range(times):
        every.append(run_and_kill(nursery, folder, run, rng.randint(0, 6), rng.uniform(0.0, 0.3)))
        if run % 5 == 4 or run == times - 1:
            check(folder, every)
    assert sum(len(told.live) + len(told.gone) for told in every) > times
    assert any(told.between for told in every) or times < 25


def test_killed_at_random_points(tmp_path: Path, nursery: ForkServerContext) -> None:
    """O-24."""
    killed_often(nursery, tmp_path, min(KILLS, 25))


@pytest.mark.slow
def test_killed_two_hundred_times(tmp_path: Path, nursery: ForkServerContext) -> None:
    killed_often(nursery, tmp_path, max(KILLS, 200))


def test_two_processes_write_one_memory_at_once(tmp_path: Path, nursery: ForkServerContext) -> None:
    jobs = [nursery.Process(target=write_some, args=(tmp_path, worker, 12)) for worker in (1, 2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(300)
    assert [job.exitcode for job in jobs] == [0, 0]
    with open_memory(tmp_path) as opened:
        stored = texts(opened.get_all(**USER))
        assert sorted(stored) == sorted(f"worker {w} says {n}" for w in (1, 2) for n in range(12) if n % 4 != 3)
        assert {item["status"] for item in opened.get_all(**USER)["results"]} == {"done"}
        assert verify(opened.parts.store, None) == []
        generations = [line["generation"] for line in opened.audit(**USER)["results"]]
        assert generations == sorted(set(generations))
