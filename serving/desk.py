"""Admission: a bounded number of requests runs in threads, a bounded number waits, the rest is refused at once.

Takes blocking work, gives its result to asyncio. What was admitted is finished even where its client has gone. Knows
nothing about what the work is.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from serving.errors import ApiError
from serving.metrics import Metrics

Result = TypeVar("Result")
_SMOOTH = 0.1


class Desk:
    """One kind of work, with threads of its own, so that slow work does not hold up fast work."""

    def __init__(self, name: str, *, threads: int, waiting: int, metrics: Metrics) -> None:
        """Run ``threads`` at a time and let ``waiting`` more queue."""
        self.name = name
        self.inside = 0
        self._threads = threads
        self._most = threads + waiting
        self._seconds = 0.05
        self._metrics = metrics
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"desk-{name}")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Give the work's result; raise ApiError 503 where too many wait already."""
        self._enter()
        try:
            context = contextvars.copy_context()
            done = asyncio.get_running_loop().run_in_executor(self._pool, context.run, self._timed, work)
        except BaseException:
            self._leave()
            raise
        # Shielded: what runs in a thread cannot be stopped, and its place is free only when it has ended.
        return await asyncio.shield(done)

    def close(self) -> None:
        """Wait for what runs and waits."""
        self._pool.shutdown()

    def _timed(self, work: Callable[[], Result]) -> Result:
        begun = time.monotonic()
        try:
            return work()
        finally:
            self._seconds += _SMOOTH * (time.monotonic() - begun - self._seconds)
            self._leave()

    def _enter(self) -> None:
        with self._lock:
            if self.inside >= self._most:
                seconds = max(1, math.ceil(self.inside * self._seconds / self._threads))
                raise ApiError(
                    503,
                    "overloaded",
                    f"{self.inside} requests are being served or wait already; try again in {seconds} s",
                    retry_after=seconds,
                )
            self.inside += 1
        self._metrics.inside.labels(self.name).inc()

    def _leave(self) -> None:
        with self._lock:
            self.inside -= 1
        self._metrics.inside.labels(self.name).dec()
