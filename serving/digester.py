"""Extraction after the acknowledgement: what is stored and waits is digested in the background, also after a crash.

Takes tenants' names; runs the models over what waits, as background rows that give way to requests. Knows nothing about
requests.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict

from seem.audit import acting
from seem.errors import SeemError
from serving.errors import ApiError
from serving.metrics import Metrics
from serving.tenants import Tenants
from serving.usage import Usage, usage

_log = logging.getLogger("seem.serving")
_PAUSE_SECONDS = 30.0
_PIECE = 16


class Digester:
    """One background thread a worker, and the tenants that have something waiting."""

    def __init__(self, tenants: Tenants, metrics: Metrics, *, most: int, workers: int = 2) -> None:
        """Digest for all tenants; more than ``most`` waiting passages are refused."""
        self._tenants = tenants
        self._metrics = metrics
        self._most = most
        self._waiting: OrderedDict[str, int] = OrderedDict()
        self._busy: dict[str, int] = {}
        self._ready = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=f"digest-{n}", daemon=True) for n in range(workers)]
        for thread in self._threads:
            thread.start()

    @property
    def backlog(self) -> int:
        """Count the passages that wait, as far as is known."""
        return sum(self._waiting.values()) + sum(self._busy.values())

    def check_room(self, adding: int) -> None:
        """Raise ApiError 503 where the backlog is full."""
        if self.backlog + adding > self._most:
            raise ApiError(
                503,
                "backlog_full",
                f"{self.backlog} passages wait for their extraction already, at most {self._most} may; try again later",
                retry_after=30,
            )

    def wake(self, tenant: str, count: int) -> None:
        """Say that ``count`` more passages of a tenant wait."""
        with self._ready:
            self._waiting[tenant] = self._waiting.get(tenant, 0) + count
            self._metrics.backlog.set(self.backlog)
            self._ready.notify()

    def close(self) -> None:
        """Stop after the piece that is being digested; the rest waits in its store."""
        with self._ready:
            self._closed = True
            self._ready.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._ready:
                while not self._closed and not self._next():
                    self._ready.wait(_PAUSE_SECONDS)
                if self._closed:
                    return
                tenant = self._next()
                self._busy[tenant] = self._waiting.pop(tenant)
            left = self._digest(tenant)
            with self._ready:
                self._busy.pop(tenant)
                if left:
                    # At the end of the line: tenants take turns.
                    self._waiting[tenant] = self._waiting.pop(tenant, 0) + left
                    self._ready.notify()
                self._metrics.backlog.set(self.backlog)

    def _next(self) -> str:
        return next((tenant for tenant in self._waiting if tenant not in self._busy), "")

    def _digest(self, tenant: str) -> int:
        """Digest one piece; give how many still wait, 0 where trying again now is of no use."""
        usage.set(Usage(tenant=tenant, background=True))
        try:
            with self._tenants.memory(tenant) as memory, acting("server"):
                before = memory.parts.store.stats(None)["pending"]
                errors = memory.pipeline.retry(limit=_PIECE)
                if errors:
                    _log.warning("extraction failed", extra={"tenant": tenant, "count": len(errors)})
                    self._metrics.failures.labels("extraction").inc(len(errors))
                waiting = memory.parts.store.stats(None)["pending"]
                return waiting if waiting < before else 0
        except SeemError as error:
            _log.error("digesting failed", extra={"tenant": tenant, "kind": type(error).__name__})
            self._metrics.failures.labels("digest").inc()
            return 0
