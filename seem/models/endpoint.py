"""A reader behind any OpenAI-compatible endpoint: vLLM, Ollama, a llama.cpp server, a hosted model.

Takes question and context, gives the endpoint's words. Retries what may pass, says clearly what does not. Knows nothing about retrieval.
"""

from __future__ import annotations

import os

import openai

from seem.errors import ModelError
from seem.prompts.answer import NOT_MENTIONED, chat_messages


class EndpointReader:
    """A chat model over HTTP."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        max_tokens: int = 256,
        timeout: float = 60.0,
    ) -> None:
        """Name the endpoint; the key is read from the environment variable, never from a file."""
        self.name = model
        self._url = base_url
        self._max_tokens = max_tokens
        # Local servers want no key, but the client insists on one.
        self._client = openai.OpenAI(
            base_url=base_url, api_key=os.environ.get(api_key_env) or "none", timeout=timeout, max_retries=3
        )

    def answer(self, question: str, context: str) -> str:
        """Ask the endpoint; raise ModelError where it cannot be reached or refuses."""
        try:
            reply = self._client.chat.completions.create(
                model=self.name,
                messages=chat_messages(question, context),  # type: ignore[arg-type]
                temperature=0,
                max_tokens=self._max_tokens,
            )
        except openai.OpenAIError as error:
            raise ModelError(
                f"the endpoint {self._url} did not answer for model {self.name!r}: {error}; check answer.base_url, answer.model and the key"
            ) from error
        return (reply.choices[0].message.content or "").strip() or NOT_MENTIONED
