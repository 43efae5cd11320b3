"""SEEM: long-term memory on small local models. ``from seem import Memory``.

Importing this loads no torch: ``Memory`` and ``AsyncMemory`` are found on first use, models when they are needed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from seem.errors import ConfigError, InputError, ModelError, NotFoundError, SeemError, StoreError
from seem.types import Answer, Context, Entity, Event, Extraction, Fact, Frame, Passage, StoredFact, TimeSpan

if TYPE_CHECKING:
    from seem.async_memory import AsyncMemory
    from seem.memory import Memory

# Spinning OpenMP threads cost a factor of forty beside a busy neighbour; this must be set before torch or faiss load.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__all__ = [
    "Answer",
    "AsyncMemory",
    "ConfigError",
    "Context",
    "Entity",
    "Event",
    "Extraction",
    "Fact",
    "Frame",
    "InputError",
    "Memory",
    "ModelError",
    "NotFoundError",
    "Passage",
    "SeemError",
    "StoreError",
    "StoredFact",
    "TimeSpan",
]


def __getattr__(name: str) -> Any:
    if name == "Memory":
        from seem.memory import Memory

        return Memory
    if name == "AsyncMemory":
        from seem.async_memory import AsyncMemory

        return AsyncMemory
    raise AttributeError(f"module 'seem' has no attribute {name!r}")
