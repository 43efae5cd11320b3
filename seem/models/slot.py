"""A place of its own for one adapter on a shared decoder, beside the adapter that is in use for the same task.

Takes a decoder and stands in for it. Whoever holds the slot decodes with its adapter to the end, whatever was loaded meanwhile; when nobody does,
the adapter is let go. Knows nothing about tasks.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from typing import cast

from seem.models.adapters import Manifest
from seem.models.decoder import Decoder
from seem.models.greedy import Generated, Request

_numbers = itertools.count(1)


class Slot:
    """A decoder with one adapter for every task that it is asked for."""

    def __init__(self, decoder: Decoder) -> None:
        """Take the decoder; nothing is loaded yet."""
        self._decoder = decoder
        self._name = f"slot{next(_numbers)}"
        self.base = decoder.base
        self.batch_size = decoder.batch_size

    def load(self, adapter: str, *, task: str) -> Manifest:
        """Load an adapter into this place; raise ModelError where it does not fit."""
        manifest = self._decoder.load(adapter, task=task, slot=self._name)
        weakref.finalize(self, self._decoder.release, self._name)
        return manifest

    def generate(self, requests: Sequence[Request], *, task: str | None, max_tokens: int) -> list[Generated]:
        """Decode with the adapter of this place; with the bare base where ``task`` is ``None``."""
        return self._decoder.generate(requests, task=task and self._name, max_tokens=max_tokens)


def slot(decoder: Decoder) -> Decoder:
    """Give a new place on a decoder."""
    return cast(Decoder, Slot(decoder))
