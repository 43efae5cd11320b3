"""The seams behind which models can be swapped: real, prompted, or scripted for tests of the machinery.

Knows nothing about torch. Every implementation is deterministic for the same input (greedy decoding).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from seem.types import Extraction, Passage

Vectors = npt.NDArray[np.float32]


class Encoder(Protocol):
    """Text to vectors."""

    @property
    def fingerprint(self) -> str:
        """Name and content hash of model, adapter and pooling: vectors of two fingerprints must never be compared."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Give float32 vectors of shape ``(len(texts), dimension)``, each of length 1. Long texts are read whole."""


class Extractor(Protocol):
    """Passage to extraction (F_ext)."""

    @property
    def name(self) -> str:
        """Name and version, stored with every extraction."""

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        """Extract a batch; one extraction each, in order. ``progress`` is told how many are done.

        Raises ModelError where the model cannot be run; the caller then keeps the passages queued.
        """


class Judge(Protocol):
    """Do two extractions tell of the same occurrence (F_judge)?"""

    @property
    def name(self) -> str:
        """Name and version."""

    @property
    def threshold(self) -> float:
        """Probability from which a pair counts as the same occurrence (set on dev for precision)."""

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> npt.NDArray[np.float64]:
        """Give the calibrated probability, shape ``(len(pairs),)``, symmetric in each pair."""


class Reader(Protocol):
    """Question and context to answer."""

    @property
    def name(self) -> str:
        """Name and version."""

    def answer(self, question: str, context: str) -> str:
        """Answer from the context alone; ``Not mentioned`` where nothing supports one."""


# A passage, the turns before it (nearest last), and the names of the people in play.
ExtractItem = tuple[Passage, Sequence[Passage], Sequence[str]]
JudgeInput = tuple[Passage, Extraction]
