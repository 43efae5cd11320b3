"""Identifiers: ``p_`` and 26 characters that sort by time of birth and are never handed out twice.

The ULID scheme (48 bits of milliseconds, 80 random bits, Crockford's base 32); within one process each id is greater
than the one before. Knows nothing about what it names.
"""

from __future__ import annotations

import secrets
import threading
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 26
_RANDOM_BITS = 80


class _Clock:
    """The last number given, so that ids of one millisecond still rise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        with self._lock:
            fresh = (time.time_ns() // 1_000_000 << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
            # Also where the system clock was set back.
            self._last = fresh if fresh > self._last else self._last + 1 + secrets.randbits(32)
            return self._last


_clock = _Clock()


def new_id(prefix: str) -> str:
    """Give a new id ``<prefix>_<26 characters>``; later ids of one process sort after earlier ones."""
    number = _clock.next()
    digits = [_ALPHABET[(number >> 5 * place) & 31] for place in reversed(range(_LENGTH))]
    return f"{prefix}_{''.join(digits)}"
