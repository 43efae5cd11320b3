"""Every tenant's memory, in a store of its own: what one tenant's key cannot name, it cannot reach.

Opens stores on demand and closes those that nobody uses once too many are open; lets go of loaded memories, the least
recently used first, under a cap over all tenants. Knows nothing about requests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from seem.errors import ModelError
from seem.memory import Memory
from serving.config import ServeConfig, tenant_settings
from serving.errors import ApiError
from serving.metrics import Metrics
from serving.models import Models
from serving.telemetry import TracedMemory

_TRIM_SECONDS = 1.0


@dataclass(slots=True)
class _Open:
    """An opened store, how many use it, and how many passages it held when they were last counted."""

    memory: Memory
    users: int = 0
    used: float = 0.0
    passages: int | None = None
    opening: threading.Lock = field(default_factory=threading.Lock)


class Tenants:
    """The opened stores. Safe to use from several threads."""

    def __init__(self, config: ServeConfig, models: Models, metrics: Metrics) -> None:
        """Take the configuration and the shared models; nothing is opened yet."""
        self._config = config
        self._models = models
        self._metrics = metrics
        self._open: dict[str, _Open] = {}
        self._lock = threading.Lock()
        self._reloading = threading.Lock()
        self._trimmed = 0.0

    @contextmanager
    def memory(self, tenant: str) -> Iterator[Memory]:
        """Give a tenant's memory for as long as it is used."""
        with self._lock:
            opened = self._open.get(tenant)
            if opened is None:
                parts = self._models.parts(tenant_settings(self._config.settings, tenant))
                opened = self._open[tenant] = _Open(TracedMemory(parts, self._metrics.telemetry, tenant))
            opened.users += 1
        try:
            with opened.opening:
                # The store opens on first use; two openings at once would make two of it.
                _ = opened.memory.parts.store
                opened.memory.pipeline.watch = self._watch
            yield opened.memory
        finally:
            with self._lock:
                opened.users -= 1
                opened.used = time.monotonic()
            self._trim()

    def check_room(self, tenant: str, memory: Memory, adding: int, most: int | None) -> None:
        """Raise ApiError 429 where ``adding`` passages would be more than the tenant may keep."""
        allowed = self._config.tenant.passages if most is None else most
        opened = self._open[tenant]
        if opened.passages is None:
            opened.passages = memory.parts.store.stats(None)["passages"]
        if opened.passages + adding > allowed:
            raise ApiError(
                429,
                "quota_exceeded",
                f"this tenant may keep {allowed} passages and has {opened.passages}; {adding} more do not fit: delete "
                "some, or ask the operator for more",
                retry_after=3600,
                limit=allowed,
            )

    def changed(self, tenant: str, added: int | None) -> None:
        """Take note that so many passages came; ``None``: that they must be counted again."""
        with self._lock:
            opened = self._open.get(tenant)
            if opened is not None and opened.passages is not None:
                opened.passages = None if added is None else opened.passages + added

    def reload(self) -> dict[str, str]:
        """Take up new adapters in every memory, the open ones too; give what serves. Raise ModelError where none does."""
        if not self._models.loaded:
            raise ModelError("the models are still being loaded; try again when /readyz says 200")
        with self._reloading:
            told = self._models.reload()
            with self._lock:
                for opened in self._open.values():
                    opened.memory.parts.take(**self._models.generating)
        return told

    def close(self) -> None:
        """Close every store."""
        with self._lock:
            for opened in self._open.values():
                opened.memory.close()
            self._open.clear()

    def _watch(self, stage: str, seconds: float) -> None:
        self._metrics.stage_seconds.labels(stage).observe(seconds)
        self._metrics.telemetry.lap(stage, seconds)

    def _trim(self) -> None:
        """Let go of what is too much, at most once a second."""
        with self._lock:
            at = time.monotonic()
            if at - self._trimmed < _TRIM_SECONDS:
                return
            self._trimmed = at
            idle = sorted((o.used, name) for name, o in self._open.items() if o.users == 0)
            for _, name in idle[: max(0, len(self._open) - self._config.tenant.open)]:
                self._open.pop(name).memory.close()
            opened = list(self._open.values())
        self.evict(opened)

    def evict(self, opened: list[_Open] | None = None) -> None:
        """Let go of loaded memories, the least recently used first, until they fit under the cap."""
        if opened is None:
            with self._lock:
                opened = list(self._open.values())
        states = [o.memory.pipeline.states for o in opened]
        loaded = sorted(
            ((used, key, size, owner) for owner in states for used, key, size in owner.residents()),
            key=lambda resident: resident[:2],
        )
        total, count = sum(size for _, _, size, _ in loaded), len(loaded)
        for _, key, size, owner in loaded:
            if total <= self._config.load.memory_mb << 20:
                break
            if owner.evict(key):
                total, count = total - size, count - 1
                self._metrics.evicted.inc()
        self._metrics.loaded.set(count)
        self._metrics.loaded_bytes.set(total)
