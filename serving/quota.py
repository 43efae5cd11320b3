"""How often a tenant may ask: a bucket that fills steadily, so that a burst of a few seconds passes and a flood does not.

Takes a tenant and its limit; raises a 429 that says when to come back. Knows nothing about keys.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from serving.errors import ApiError

BURST_SECONDS = 10.0


class Rates:
    """The buckets of all tenants. Used by the event loop alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock in seconds."""
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, tenant: str, per_minute: int) -> None:
        """Count one request; raise ApiError 429 where the tenant is over its rate."""
        rate = per_minute / 60
        room = max(1.0, rate * BURST_SECONDS)
        at = self._clock()
        level, before = self._buckets.get(tenant, (room, at))
        level = min(room, level + (at - before) * rate)
        if level < 1:
            seconds = max(1, math.ceil((1 - level) / rate))
            raise ApiError(
                429,
                "rate_limited",
                f"this tenant may send {per_minute} requests a minute; try again in {seconds} s",
                retry_after=seconds,
                limit=per_minute,
            )
        self._buckets[tenant] = (level - 1, at)
