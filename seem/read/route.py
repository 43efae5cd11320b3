"""Which questions need the whole story, and which one fact answers: graph-only retrieval, or provenance expansion.

A rule on the question's words; the trained router and the prompted one stand behind the same interface. Knows nothing
about the memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from seem.models.protocols import Route, Vectors

# Questions of reason, manner and course need several turns of one event; «would X…» asks for knowledge of the world beside the evidence.
_STORY = re.compile(
    r"\b(?:why|how did|how was|how does|what happened|describe|tell me|story|reason|what led|what did|what does|in what ways?)\b",
    re.IGNORECASE,
)
_WORLD = re.compile(r"^(?:would|could|might|is it likely|what might|what would)\b", re.IGNORECASE)


class RuleRouter:
    """The rule behind the router's interface."""

    name = "rule"

    def choose(self, question: str, vector: Vectors, signals: Mapping[str, float]) -> Route:
        """Choose the arm by the question's words alone."""
        return route(question)


def route(question: str) -> Route:
    """Choose the arm for a question."""
    if _WORLD.search(question.strip()):
        return "graph"
    return "expand" if _STORY.search(question) else "graph"
