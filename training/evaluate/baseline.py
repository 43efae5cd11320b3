"""The untuned base under the same grammar, shown what to do by instruction and examples, beside the student on the same turns.

Takes a decoder and turns; gives stand-ins for the decoder that take the adapter or the grammar away, and a bounded sample of turns. Knows
nothing about figures.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from seem.models.adapters import Manifest
from seem.models.decoder import Decoder
from seem.models.greedy import Generated, Request

Turns = TypeVar("Turns")

PROMPT = """Take notes of the last message. One line for each event: E people| what they did|when time|where place|why reason|how manner
One line for each lasting fact: F subject| relation| object|when time
Copy the words of the message. Leave out what it does not tell. Write none for a greeting, thanks or small talk.

names: Priya, Tom
Priya: My brother Sanjay moved to Leeds in April because of his new job.
=>
E Sanjay| moved to Leeds|when in April|why his new job
F Sanjay| lives in| Leeds|when in April

names: Tom, Priya
before: Priya: My brother Sanjay moved to Leeds in April because of his new job.
Tom: Oh nice, thanks for telling me!
=>
none

names: Tom, Priya
Tom: I repaired the old radio with my neighbour Ida in the garage yesterday.
=>
E Tom; Ida| repaired the old radio|when yesterday|where in the garage

"""
UNTUNED = f"untuned-{hashlib.sha256(PROMPT.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Untuned:
    """A decoder that answers for the bare base: no adapter, but ``PROMPT`` before every request."""

    decoder: Decoder

    @property
    def base(self) -> object:
        """The base model."""
        return self.decoder.base

    @property
    def batch_size(self) -> int:
        """Rows at a time."""
        return self.decoder.batch_size

    def load(self, adapter: str, *, task: str) -> Manifest:
        """Load nothing; say whose outputs these are."""
        base = self.decoder.base
        return Manifest(task, base.name, base.fingerprint, "", UNTUNED)

    def generate(self, requests: Sequence[Request], *, task: str | None, max_tokens: int) -> list[Generated]:
        """Decode with the bare base."""
        shown = [replace(request, prompt=PROMPT + request.prompt) for request in requests]
        return self.decoder.generate(shown, task=None, max_tokens=max_tokens)


@dataclass(frozen=True, slots=True)
class Unbound:
    """A decoder without grammars: how well formed its outputs are is then the model's own merit."""

    decoder: Decoder

    @property
    def base(self) -> object:
        """The base model."""
        return self.decoder.base

    @property
    def batch_size(self) -> int:
        """Rows at a time."""
        return self.decoder.batch_size

    def load(self, adapter: str, *, task: str) -> Manifest:
        """Load an adapter on the real decoder."""
        return self.decoder.load(adapter, task=task)

    def generate(self, requests: Sequence[Request], *, task: str | None, max_tokens: int) -> list[Generated]:
        """Decode freely."""
        free = [replace(request, grammar=None) for request in requests]
        return self.decoder.generate(free, task=task, max_tokens=max_tokens)


def untuned(decoder: Decoder) -> Decoder:
    """Give the stand-in for the bare base."""
    return cast(Decoder, Untuned(decoder))


def unbound(decoder: Decoder) -> Decoder:
    """Give the stand-in without grammars."""
    return cast(Decoder, Unbound(decoder))


def sample(turns: Sequence[Turns], count: int) -> list[Turns]:
    """Give ``count`` turns, evenly spread over all of them, in order."""
    if count >= len(turns):
        return list(turns)
    return [turns[n * len(turns) // count] for n in range(count)]
