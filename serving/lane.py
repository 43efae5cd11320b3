"""A queue in front of one network: rows of all requests and tenants go through it in common batches.

Takes rows of a task, gives each its result, the same as alone: a batch that fails is run again request by request, so
that a bad row spoils no other. Urgent rows go first, tenants take turns. A lone request does not wait for others; where
more are about, a batch is cut when it is full or its oldest row has waited long enough. Knows nothing about what rows
mean.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from seem.errors import ModelError
from serving.metrics import Metrics
from serving.usage import Usage, current

Run = Callable[[list[Any]], Sequence[Any]]
_LONG = 3600.0


@dataclass(eq=False, slots=True)
class _Call:
    """One request's rows: those that wait, and the results so far."""

    task: str
    rows: Sequence[Any]
    usage: Usage
    at: float
    results: list[Any] = field(default_factory=list)
    taken: int = 0
    error: BaseException | None = None
    changed: threading.Event = field(default_factory=threading.Event)

    @property
    def ended(self) -> bool:
        return self.error is not None or len(self.results) == len(self.rows)


class Lane:
    """One worker thread and its queue."""

    def __init__(self, name: str, *, rows: int, wait: float, metrics: Metrics) -> None:
        """Name the lane; a batch has at most ``rows``, and waits ``wait`` seconds for more of them."""
        self.name = name
        self.others: Callable[[], int] = lambda: 0
        self._rows = rows
        self._wait = wait
        self._metrics = metrics
        self._tasks: dict[str, Run] = {}
        self._queue: deque[_Call] = deque()
        self._ready = threading.Condition()
        self._closed = False
        self._tokens = (0, 0)
        self._thread = threading.Thread(target=self._work, name=f"lane-{name}", daemon=True)
        self._thread.start()

    def task(self, name: str, run: Run) -> None:
        """Say how rows of a task are run; ``run`` is only ever called by the lane's own thread."""
        self._tasks[name] = run

    def submit(self, task: str, rows: Sequence[Any], progress: Callable[[int], None] | None = None) -> list[Any]:
        """Give the results of the rows, in order; raise what their batch raised."""
        if not rows:
            return []
        with self._metrics.telemetry.stage(task):
            return self._submit(_Call(task, rows, current(), time.monotonic()), progress)

    def _submit(self, call: _Call, progress: Callable[[int], None] | None) -> list[Any]:
        with self._ready:
            if self._closed:
                raise ModelError("the server is shutting down; ask again when it is back")
            self._queue.append(call)
            self._metrics.queue.labels(self.name).inc(len(call.rows))
            self._ready.notify()
        while not call.ended:
            call.changed.wait(_LONG)
            call.changed.clear()
            if progress and call.error is None:
                progress(len(call.results))
        if call.error is not None:
            raise call.error
        return call.results

    def count(self, read: int, written: int) -> None:
        """Take note of tokens: of the running batch in the lane's own thread, of the caller in any other."""
        if threading.current_thread() is self._thread:
            self._tokens = (self._tokens[0] + read, self._tokens[1] + written)
            return
        spent = current()
        spent.prompt_tokens += read
        spent.completion_tokens += written

    def close(self) -> None:
        """Finish what is queued, then stop."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._ready:
                while not self._queue and not self._closed:
                    self._ready.wait()
                if not self._queue:
                    return
                self._gather()
                batch = self._pick()
            self._execute(batch)

    def _gather(self) -> None:
        """Wait for more rows while there are requests that may bring them and the oldest row can wait."""
        until = self._queue[0].at + self._wait
        while not self._closed:
            waiting = sum(len(call.rows) - call.taken for call in self._queue)
            left = until - time.monotonic()
            if waiting >= self._rows or left <= 0 or self.others() <= len(self._queue):
                return
            self._ready.wait(left)

    def _pick(self) -> list[tuple[_Call, int, int]]:
        """Take rows of one task: of urgent calls before others, a row of each tenant in turn; give (call, from, to)."""
        first = min(self._queue, key=lambda call: (call.usage.background, call.at))
        same = [call for call in self._queue if call.task == first.task]
        same.sort(key=lambda call: (call.usage.background, call.at))
        by_tenant: dict[tuple[bool, str], deque[_Call]] = {}
        for call in same:
            by_tenant.setdefault((call.usage.background, call.usage.tenant), deque()).append(call)
        taken: dict[_Call, int] = {}
        room = self._rows
        for background in (False, True):
            turns = deque(calls for (kind, _), calls in by_tenant.items() if kind == background)
            while room and turns:
                calls = turns.popleft()
                call = calls[0]
                taken[call] = taken.get(call, 0) + 1
                room -= 1
                if call.taken + taken[call] == len(call.rows):
                    calls.popleft()
                if calls:
                    turns.append(calls)
        batch = []
        for call, count in taken.items():
            batch.append((call, call.taken, call.taken + count))
            call.taken += count
        # A call stays in the queue while rows of it wait, in its old place.
        self._queue = deque(call for call in self._queue if call.taken < len(call.rows))
        self._metrics.queue.labels(self.name).dec(sum(taken.values()))
        return batch

    def _execute(self, batch: list[tuple[_Call, int, int]]) -> None:
        try:
            self._run(batch)
        except Exception as error:
            if len(batch) == 1:
                self._fail(batch[0][0], error)
                return
            for part in batch:
                try:
                    self._run([part])
                except Exception as own:
                    self._fail(part[0], own)

    def _run(self, batch: list[tuple[_Call, int, int]]) -> None:
        task = batch[0][0].task
        rows = [row for call, start, end in batch for row in call.rows[start:end]]
        self._tokens = (0, 0)
        begun = time.monotonic()
        results = list(self._tasks[task](rows))
        m = self._metrics
        m.model_seconds.labels(task).observe(time.monotonic() - begun)
        m.batch.labels(task).observe(len(rows))
        m.batch_calls.labels(task).observe(len(batch))
        m.tokens.labels(task, "read").inc(self._tokens[0])
        m.tokens.labels(task, "written").inc(self._tokens[1])
        at = 0
        for call, start, end in batch:
            share = (end - start) / len(rows)
            call.usage.prompt_tokens += round(self._tokens[0] * share)
            call.usage.completion_tokens += round(self._tokens[1] * share)
            call.results += results[at : at + end - start]
            at += end - start
            call.changed.set()

    def _fail(self, call: _Call, error: Exception) -> None:
        with self._ready:
            if call in self._queue:
                self._queue.remove(call)
                self._metrics.queue.labels(self.name).dec(len(call.rows) - call.taken)
        call.error = error
        call.changed.set()
