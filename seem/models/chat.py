"""One request to an OpenAI-compatible chat endpoint: what is asked of it, what it does not know, and what came back.

Servers differ in which response formats and parameters they take; a ``Dialect`` says what to send and, after a refusal,
what to leave out. Shared by the prompted twins and by the teacher's asynchronous client. Retries with back-off are the
openai client's. Knows nothing about tasks.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import Any

import openai
from openai.types.chat import ChatCompletion

from seem.errors import ModelError
from seem.prompts.schemas import Schema
from seem.prompts.texts import Messages

RETRIES = 3
_SIMPLER = {"json_schema": "json_object", "json_object": "text"}
_FORMAT = re.compile(r"response_format|json|schema|guided|structured|grammar", re.IGNORECASE)
_REFUSALS = (openai.BadRequestError, openai.UnprocessableEntityError)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said; ``finished`` is false where it ran into its limit. Tokens are ``None`` where nobody counts."""

    text: str
    finished: bool
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server understands."""

    format: str = "json_schema"
    limit: str = "max_tokens"
    temperature: bool = True

    def arguments(
        self, model: str, messages: Messages, schema: Schema | None, *, name: str, max_tokens: int, temperature: float
    ) -> dict[str, Any]:
        """Give the request; ``schema`` ``None`` asks for plain text."""
        out: dict[str, Any] = {"model": model, "messages": messages, self.limit: max_tokens}
        if self.temperature:
            out["temperature"] = temperature
        if schema is not None and self.format == "json_schema":
            out["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": name, "schema": schema, "strict": True},
            }
        elif schema is not None and self.format == "json_object":
            out["response_format"] = {"type": "json_object"}
        return out

    def without(self, refusal: str) -> Dialect | None:
        """Give the dialect to try after a refusal, ``None`` where nothing is left to leave out."""
        if self.limit == "max_tokens" and "max_completion_tokens" in refusal:
            return replace(self, limit="max_completion_tokens")
        if self.temperature and "temperature" in refusal:
            return replace(self, temperature=False)
        if self.format in _SIMPLER and _FORMAT.search(refusal):
            return replace(self, format=_SIMPLER[self.format])
        return None


class ChatEndpoint:
    """A chat model over HTTP, blocking; safe to use from several threads."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        timeout: float = 120.0,
        section: str = "extract",
    ) -> None:
        """Name the endpoint; the key is read from the environment variable; errors point to ``section``."""
        self.model = model
        self._url = base_url
        self._section = section
        self._dialect = Dialect()
        # Local servers want no key, but the client insists on one.
        self._client = openai.OpenAI(
            base_url=base_url, api_key=os.environ.get(api_key_env) or "none", timeout=timeout, max_retries=RETRIES
        )

    def ask(self, messages: Messages, schema: Schema | None, *, name: str, max_tokens: int) -> Reply:
        """Ask once; raise ModelError where the endpoint cannot be reached or refuses."""
        dialect = self._dialect
        while True:
            arguments = dialect.arguments(
                self.model, messages, schema, name=name, max_tokens=max_tokens, temperature=0.0
            )
            try:
                completion = self._client.chat.completions.create(**arguments)
            except _REFUSALS as error:
                simpler = dialect.without(str(error))
                if simpler is None:
                    raise self._failed(error) from error
                self._dialect = dialect = simpler
                continue
            except (openai.OpenAIError, ValueError) as error:
                raise self._failed(error) from error
            return read_reply(completion)

    def _failed(self, error: Exception) -> ModelError:
        s = self._section
        return ModelError(
            f"the endpoint {self._url} gave no answer for model {self.model!r}: {error}; "
            f"check {s}.base_url, {s}.model and the key"
        )


def read_reply(completion: Any) -> Reply:
    """Read a completion; one without choices or words is an empty reply."""
    if not isinstance(completion, ChatCompletion) or not completion.choices:
        return Reply("", True)
    choice, usage = completion.choices[0], completion.usage
    text = (choice.message.content if choice.message else "") or ""
    finished = choice.finish_reason != "length"
    return Reply(text, finished, usage.prompt_tokens if usage else None, usage.completion_tokens if usage else None)
