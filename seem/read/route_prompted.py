"""The prompted twin of the router: any OpenAI-compatible model says whether a question needs the course of an event.

Takes the question alone, gives the arm. A reply that cannot be read means the cheaper arm and is counted, its words
kept. Knows nothing about the memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from seem.models.chat import ChatEndpoint
from seem.models.protocols import Route, Vectors
from seem.prompts.reading import read_object
from seem.prompts.schemas import ROUTE
from seem.prompts.texts import question_messages

TASK = "route"
_KEPT = 100


class PromptedRouter:
    """A prompted model behind the router's interface. ``unreadable`` counts what was no choice, ``odd`` keeps it."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        max_tokens: int = 128,
        timeout: float = 30.0,
    ) -> None:
        """Name the endpoint."""
        self._chat = ChatEndpoint(base_url, model, api_key_env=api_key_env, timeout=timeout, section="router")
        self._max_tokens = max_tokens
        self.unreadable = 0
        self.odd: deque[str] = deque(maxlen=_KEPT)
        self.name = f"{model}+prompt"

    def choose(self, question: str, vector: Vectors, signals: Mapping[str, float]) -> Route:
        """Choose the arm; raise ModelError where the endpoint cannot be asked."""
        reply = self._chat.ask(question_messages("route", question), ROUTE, name=TASK, max_tokens=self._max_tokens)
        narrative = (read_object(reply.text).value or {}).get("narrative")
        if isinstance(narrative, bool):
            return "expand" if narrative else "graph"
        self.unreadable += 1
        self.odd.append(reply.text)
        return "graph"
