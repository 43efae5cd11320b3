"""Which questions need the whole story, and which one fact answers: graph-only retrieval, or provenance expansion.

A rule on the question's words, behind the interface that a trained router will take. Knows nothing about the memory.
"""

from __future__ import annotations

import re
from typing import Literal

Route = Literal["graph", "expand"]
# Questions of reason, manner and course need several turns of one event; «would X…» asks for knowledge of the world beside the evidence.
_STORY = re.compile(
    r"\b(?:why|how did|how was|how does|what happened|describe|tell me|story|reason|what led|what did|what does|in what ways?)\b",
    re.IGNORECASE,
)
_WORLD = re.compile(r"^(?:would|could|might|is it likely|what might|what would)\b", re.IGNORECASE)


def route(question: str) -> Route:
    """Choose the arm for a question."""
    if _WORLD.search(question.strip()):
        return "graph"
    return "expand" if _STORY.search(question) else "graph"
