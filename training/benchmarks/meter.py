"""What a run costs: seconds, memory of the process, tokens through the generating model.

Encoders and judges generate nothing, so their tokens are not counted; nor does an endpoint that extracts pass on its
count. Knows nothing about what is generated.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seem.wiring import Parts
from training.benchmarks.averages import spread

if TYPE_CHECKING:
    from seem.models.greedy import Generated

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
# macOS tells ru_maxrss in bytes, others in kilobytes.
_UNIT = 1 if sys.platform == "darwin" else 1024


class Tokens:
    """Counts the tokens that a decoder reads and writes."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.read = 0
        self.written = 0

    def __call__(self, outputs: Sequence[Generated]) -> None:
        """Take what came out of one call."""
        self.read += sum(output.prompt_tokens for output in outputs)
        self.written += sum(output.tokens for output in outputs)


def meter(parts: Parts) -> None:
    """Count the tokens of these parts' decoder, which is loaded for it."""
    parts.decoder.observe = Tokens()


def tokens(parts: Parts) -> tuple[int, int] | None:
    """Give the tokens read and written so far; None where nobody counts."""
    decoder = vars(parts).get("decoder")
    count = None if decoder is None else decoder.observe
    return (count.read, count.written) if isinstance(count, Tokens) else None


def reset_peak() -> None:
    """Count the peak from here on; without effect where the system does not let a process do that."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return


def resident_bytes() -> int:
    """Give the memory that the process holds now; 0 where the system does not say."""
    return _status("VmRSS")


def peak_bytes() -> int:
    """Give the most memory that the process held since ``reset_peak``, else since its start."""
    return _status("VmHWM") or _UNIT * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def built(make: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Make something; give it, the seconds, and the bytes by which the process grew."""
    gc.collect()
    before = resident_bytes()
    made, seconds = timed(make)
    return made, {"build_seconds": seconds, "bytes": max(0, resident_bytes() - before)}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Call; give the result and the seconds."""
    begun = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begun


def milliseconds(timings: Sequence[tuple[Any, float]]) -> dict[str, float]:
    """Give mean, median and 95th percentile of what ``timed`` gave, in milliseconds."""
    return spread([1000 * seconds for _, seconds in timings])


def _status(name: str) -> int:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)
