"""What one request cost, and in whose name and how urgently its rows go to the models.

Set around a request, read by the lanes in the same thread. Knows nothing about models.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Usage:
    """Counts of one request. ``tenant`` shares the lanes fairly; ``background`` rows give way to others."""

    tenant: str = ""
    background: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedded_texts: int = 0

    def told(self) -> dict[str, int]:
        """Give the counts as a reply tells them."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "embedded_texts": self.embedded_texts,
        }


usage: ContextVar[Usage] = ContextVar("usage")


def current() -> Usage:
    """Give the usage of the running request; one that nobody reads where there is none."""
    return usage.get(Usage())
