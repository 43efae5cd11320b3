"""The teacher: asked concurrently within a bound, each answer cached and paid for once, stopped by budget, signal or a useless endpoint.

Takes messages and a schema, gives a Reply. Retries with back-off are the openai client's (429, 5xx, lost connections;
Retry-After is heeded). Knows nothing about tasks.
"""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Self

import openai

from seem.errors import ModelError, StoreError
from seem.models.chat import Dialect, Reply, read_reply
from seem.prompts.schemas import Schema
from seem.prompts.texts import Messages
from training.teacher.cache import Cache, answer_key
from training.teacher.ledger import Ledger, Stopped, estimate
from training.teacher.settings import Endpoint

FAILURES_IN_A_ROW = 5
_HOPELESS = (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError)
_REFUSALS = (openai.BadRequestError, openai.UnprocessableEntityError)


class Teacher:
    """Use as an asynchronous context manager, inside one event loop."""

    def __init__(self, endpoint: Endpoint, cache: Cache, ledger: Ledger) -> None:
        """Take the endpoint's settings, an open cache and the run's ledger."""
        self.model = endpoint.model
        self.ledger = ledger
        self._cache = cache
        self._endpoint = endpoint
        self._dialect = Dialect()
        self._room = asyncio.Semaphore(endpoint.concurrency)
        self._failures = 0
        self._stopped = ""

    async def __aenter__(self) -> Self:
        """Open the client."""
        e = self._endpoint
        key = os.environ.get(e.api_key_env) or "none"
        self._client = openai.AsyncOpenAI(base_url=e.base_url, api_key=key, timeout=e.timeout, max_retries=e.retries)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client."""
        await self._client.close()

    def stop(self, why: str) -> None:
        """Admit no further request; those under way are finished and kept."""
        self._stopped = self._stopped or why

    async def ask(
        self, messages: Messages, schema: Schema | None, *, task: str, max_tokens: int, temperature: float
    ) -> Reply:
        """Ask, or give the answer that was paid for before.

        Raises Stopped where the run ends, ModelError where this request failed.
        """
        key = answer_key(messages, schema, model=self.model, temperature=temperature, max_tokens=max_tokens)
        if known := self._cache.get(key):
            self.ledger.cached += 1
            return known
        async with self._room:
            if self._stopped:
                raise Stopped(self._stopped)
            try:
                reserved = await self.ledger.reserve(estimate(messages, max_tokens))
            except Stopped as error:
                self.stop(str(error))
                raise
            try:
                if self._stopped:
                    raise Stopped(self._stopped)
                reply = await self._request(messages, schema, task, max_tokens, temperature)
                self._cache.put(key, reply, task=task, model=self.model, paid=self.ledger.pay(reply, messages))
            except StoreError as error:
                self.stop(str(error))
                raise Stopped(self._stopped) from error
            finally:
                await self.ledger.release(reserved)
        return reply

    async def _request(
        self, messages: Messages, schema: Schema | None, task: str, max_tokens: int, temperature: float
    ) -> Reply:
        dialect = self._dialect
        while True:
            arguments = dialect.arguments(
                self.model, messages, schema, name=task, max_tokens=max_tokens, temperature=temperature
            )
            try:
                reply = read_reply(await self._client.chat.completions.create(**arguments))
            except _HOPELESS as error:
                self.stop(f"the endpoint {self._endpoint.base_url} refuses model {self.model!r}: {error}")
                raise Stopped(self._stopped) from error
            except _REFUSALS as error:
                simpler = dialect.without(str(error))
                if simpler is None:
                    raise ModelError(f"refused: {error}") from error
                self._dialect = dialect = simpler
                continue
            except (openai.OpenAIError, ValueError) as error:
                self._failures += 1
                if self._failures >= FAILURES_IN_A_ROW:
                    self.stop(f"{self._failures} requests in a row failed, the last with: {error}")
                raise ModelError(f"failed: {error}") from error
            self._failures = 0
            return reply
