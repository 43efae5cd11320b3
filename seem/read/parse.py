"""Question to fact patterns by a model: the tuned small one, or a prompted large one. An optional stage before the seeds.

Takes a question; gives facts with ``?`` for what it asks. What cannot be read gives no pattern and is counted: the search then has its other seeds.
Knows nothing about the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seem.models.chat import ChatEndpoint
from seem.models.decoder import Decoder
from seem.models.greedy import Request
from seem.prompts.parse import OPEN, parse_grammar, parse_prompt, read_patterns, usable
from seem.prompts.reading import read_object
from seem.prompts.schemas import PARSE
from seem.prompts.texts import question_messages
from seem.store.words import tokens
from seem.types import Fact

TASK = "parse"


class TunedQueryParser:
    """The tuned parser."""

    def __init__(self, decoder: Decoder, adapter: str = "parse", *, max_tokens: int = 96) -> None:
        """Load the adapter."""
        self._decoder = decoder
        manifest = decoder.load(adapter, task=TASK)
        self._max_tokens = max_tokens
        self.name = f"{decoder.base.name}+{TASK}@{manifest.version}"

    def parse(self, question: str) -> list[Fact]:
        """Give the patterns."""
        request = Request(parse_prompt(question), parse_grammar(question))
        output = self._decoder.generate([request], task=TASK, max_tokens=self._max_tokens)[0]
        return read_patterns(output.text, whole=output.finished)


class PromptedQueryParser:
    """A prompted model behind the parser's interface. ``unreadable`` counts the answers that were no patterns."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        max_tokens: int = 256,
        timeout: float = 60.0,
    ) -> None:
        """Name the endpoint."""
        self._chat = ChatEndpoint(base_url, model, api_key_env=api_key_env, timeout=timeout, section=TASK)
        self._max_tokens = max_tokens
        self.name = f"{model}+prompt"
        self.unreadable = 0

    def parse(self, question: str) -> list[Fact]:
        """Give the patterns whose known ends stand in the question; raise ModelError where the endpoint cannot be reached."""
        messages = question_messages("parse", question)
        answer = read_object(self._chat.ask(messages, PARSE, name=TASK, max_tokens=self._max_tokens).text).value
        told = (answer or {}).get("facts")
        if not isinstance(told, list):
            self.unreadable += 1
            return []
        shown = set(tokens(question))
        found = [fact for item in told if isinstance(item, Mapping) and (fact := _fact(item))]
        return usable(f for f in found if all(e == OPEN or shown.issuperset(tokens(e)) for e in (f.subject, f.object)))


def _fact(told: Mapping[str, Any]) -> Fact | None:
    parts = [" ".join(value.split()) if isinstance(value := told.get(key), str) else "" for key in "sro"]
    return Fact(parts[0], parts[1], parts[2]) if all(parts) else None
