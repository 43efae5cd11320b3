"""Tokens and money: what was paid, what is under way, and whether one more request still fits the budget.

A request is admitted only if it fits at its worst (its prompt, and an answer of full length), so that the budget is
never passed; while others are under way a request waits, since they mostly cost less than their worst. Knows nothing
about endpoints.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from seem.errors import SeemError
from seem.models.chat import Reply
from seem.prompts.texts import Messages
from training.teacher.cache import Spent
from training.teacher.settings import Price

# English has about four letters a token, other scripts fewer; the worst is what counts here.
_LETTERS_A_TOKEN = 2.5


class Stopped(SeemError):
    """The run ends early: out of budget, interrupted, or the endpoint is of no use. What was answered is kept."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A request's tokens at their worst."""

    tokens_in: int
    tokens_out: int


class Ledger:
    """The money of one run."""

    def __init__(self, price: Price, before: Spent) -> None:
        """``before`` is what earlier runs of the same job have cost."""
        self.price = price
        self.before = before
        self.now = Spent()
        self.cached = 0
        self.estimated = False
        self._reserved = 0.0
        self._changed = asyncio.Condition()

    @property
    def total(self) -> float:
        """Give the cost of all runs so far."""
        return self.before.cost + self.now.cost

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Give the price of tokens."""
        return (tokens_in * self.price.input + tokens_out * self.price.output) / 1e6

    async def reserve(self, estimate: Estimate) -> float:
        """Set money aside, waiting for requests under way to free some; raise Stopped where it does not fit."""
        worst = self.cost(estimate.tokens_in, estimate.tokens_out)
        budget = self.price.budget
        async with self._changed:
            while budget is not None and self.total + self._reserved + worst > budget:
                if self._reserved <= 0:
                    raise Stopped(
                        f"the budget of {budget:g} {self.price.currency} is spent "
                        f"({self.total:.4f} so far, the next request may cost {worst:.4f})"
                    )
                await self._changed.wait()
            self._reserved += worst
        return worst

    async def release(self, reserved: float) -> None:
        """Give back what was set aside."""
        async with self._changed:
            self._reserved -= reserved
            # Sums of floats: what is nearly nothing is nothing.
            self._reserved = 0.0 if self._reserved < 1e-12 else self._reserved
            self._changed.notify_all()

    def pay(self, reply: Reply, messages: Messages) -> Spent:
        """Book an answer; tokens that the server did not count are estimated."""
        guess = estimate(messages, 0)
        known = reply.tokens_in is not None and reply.tokens_out is not None
        self.estimated = self.estimated or not known
        tokens_in = reply.tokens_in if reply.tokens_in is not None else guess.tokens_in
        tokens_out = reply.tokens_out if reply.tokens_out is not None else _tokens(reply.text)
        paid = Spent(1, tokens_in, tokens_out, self.cost(tokens_in, tokens_out))
        n = self.now
        self.now = Spent(n.requests + 1, n.tokens_in + tokens_in, n.tokens_out + tokens_out, n.cost + paid.cost)
        return paid


def estimate(messages: Messages, max_tokens: int) -> Estimate:
    """Give a request's tokens at their worst."""
    return Estimate(sum(_tokens(m["content"]) + 8 for m in messages), max_tokens)


def _tokens(text: str) -> int:
    return int(len(text) / _LETTERS_A_TOKEN) + 1
