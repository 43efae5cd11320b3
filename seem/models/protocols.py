"""The seams behind which models can be swapped: real, prompted, or scripted for tests of the machinery.

Knows nothing about torch. Every implementation is deterministic for the same input (greedy decoding).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from seem.types import Extraction, Fact, Passage

Vectors = npt.NDArray[np.float32]
Route = Literal["graph", "expand"]


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


class Fuser(Protocol):
    """The passages of one occurrence with their extractions to its summary (F_fuse)."""

    @property
    def name(self) -> str:
        """Name and version."""

    def fuse(self, groups: Sequence[Sequence[JudgeInput]]) -> list[str]:
        """Give one summary a group, never an empty one for members that have events; the same group gives the same one.

        The members of a group come in the order in which they were said. Raises ModelError where the model cannot be run.
        """


class QueryParser(Protocol):
    """Question to patterns of the facts that would answer it."""

    @property
    def name(self) -> str:
        """Name and version."""

    def parse(self, question: str) -> list[Fact]:
        """Give up to three facts with ``?`` for every part that is asked for; of subject and object one at least is known."""


class Router(Protocol):
    """Which arm reads a question: graph-only retrieval, or with provenance expansion."""

    @property
    def name(self) -> str:
        """Name and version."""

    def choose(self, question: str, vector: Vectors, signals: Mapping[str, float]) -> Route:
        """Choose the arm. ``vector`` is the question's, shape ``(dimension,)``; ``signals`` are what its seeds tell."""


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
