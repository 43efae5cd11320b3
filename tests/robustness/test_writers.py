"""Writers of two tenants in threads and processes, with readers beside them: every word arrives where it belongs."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.flows.people import memory
from tests.robustness.scan import sound

TENANTS = ("oak", "elm")
BATCHES, SIZE = 5, 10


def write(folder: Path, tenant: str, writer: int) -> None:
    with memory(folder) as opened:
        for batch in range(BATCHES):
            numbers = range(batch * SIZE, batch * SIZE + SIZE)
            opened.add([f"{tenant} writer {writer} says {n}" for n in numbers], user_id=tenant)


def test_eight_writers_and_two_readers_lose_and_mix_nothing(tmp_path: Path) -> None:
    """O-23: 400 passages, no lock error, no row and no reader that sees the other tenant."""
    errors: list[BaseException] = []
    stop = threading.Event()

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                errors.append(error)

        return run

    with memory(tmp_path) as shared:

        def write_here(tenant: str, writer: int) -> None:
            for batch in range(BATCHES):
                numbers = range(batch * SIZE, batch * SIZE + SIZE)
                shared.add([f"{tenant} writer {writer} says {n}" for n in numbers], user_id=tenant)

        def read(tenant: str) -> None:
            while not stop.is_set():
                found = shared.search(f"{tenant} says", user_id=tenant)["results"]
                assert all(item["memory"].startswith(tenant) for item in found)

        context = multiprocessing.get_context("spawn")
        apart = [context.Process(target=write, args=(tmp_path, tenant, 3)) for tenant in TENANTS]
        writers = [(tenant, n) for tenant in TENANTS for n in range(3)]
        threads = [threading.Thread(target=guarded(lambda t=t, n=n: write_here(t, n))) for t, n in writers]  # type: ignore[misc]
        readers = [threading.Thread(target=guarded(lambda t=t: read(t))) for t in TENANTS]  # type: ignore[misc]
        started: list[Any] = [*apart, *threads, *readers]
        for each in started:
            each.start()
        for each in started[: -len(readers)]:
            each.join()
        stop.set()
        for each in readers:
            each.join()
        assert errors == []
        assert [process.exitcode for process in apart] == [0, 0]
        for tenant in TENANTS:
            passages = list(shared.parts.store.load(f"user_id:{tenant}").passages.values())
            assert len(passages) == 4 * BATCHES * SIZE
            assert all(p.text.startswith(tenant) and p.status == "done" for p in passages)
        assert sound(shared)
