"""How long each stage of one search took, told to whoever watches. Knows nothing about stages."""

from __future__ import annotations

import time
from collections.abc import Callable

Watch = Callable[[str, float], None]


def laps(watch: Watch | None) -> Callable[[str], None]:
    """Give a function that is called with a stage's name when it ends, and tells ``watch`` its seconds."""
    before = time.perf_counter()

    def lap(stage: str) -> None:
        nonlocal before
        now = time.perf_counter()
        if watch is not None:
            watch(stage, now - before)
        before = now

    return lap
