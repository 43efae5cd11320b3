"""Scripted models for tests of the machinery: same interfaces, no weights, the same output for the same input.

Never a default: the demo and the tests of quality run on the real models. Knows nothing about torch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from seem.errors import ModelError
from seem.models.protocols import ExtractItem, JudgeInput, Vectors
from seem.types import Event, Extraction, Fact, Passage


class HashingEncoder:
    """Words hashed into a unit vector: texts that share words are near."""

    def __init__(self, dimension: int = 64, name: str = "hashing") -> None:
        """Choose the length of a vector; another ``name`` is another encoder."""
        self.dimension = dimension
        self.fingerprint = f"{name}-{dimension}"
        self.encoded = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Give one unit vector a text."""
        self.encoded += len(texts)
        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for n, text in enumerate(texts):
            for word in text.casefold().split() or [""]:
                digest = hashlib.sha256(word.strip(".,!?:;").encode("utf-8", "replace")).digest()
                out[n, int.from_bytes(digest[:4], "big") % self.dimension] += 1.0 if digest[4] & 1 else -1.0
            if not out[n].any():
                out[n, 0] = 1.0
        vectors: Vectors = out / np.linalg.norm(out, axis=1, keepdims=True)
        return vectors


class ScriptedExtractor:
    """Gives what the script says for a passage's text; for other texts one event that repeats the words."""

    name = "scripted"

    def __init__(
        self,
        script: Mapping[str, Extraction | Exception] | None = None,
        before: Callable[[Passage], None] | None = None,
    ) -> None:
        """``script`` maps texts to extractions or errors; ``before`` is called with every passage first."""
        self.script = dict(script or {})
        self.before = before
        self.calls: list[str] = []

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        """Extract by the script; an error in the script is raised as a ModelError."""
        out = []
        for passage, _, _ in items:
            self.calls.append(passage.text)
            if self.before:
                self.before(passage)
            said = self.script.get(passage.text)
            if isinstance(said, Exception):
                raise ModelError(str(said)) from said
            out.append(scripted(passage) if said is None else _told(passage, said))
        return out


class ScriptedJudge:
    """Gives what the script says for a pair of texts, in either order; 0 for other pairs."""

    name = "scripted"
    threshold = 0.5

    def __init__(self, script: Mapping[frozenset[str], float] | None = None) -> None:
        """``script`` maps pairs of texts to scores."""
        self.script = dict(script or {})

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> npt.NDArray[np.float64]:
        """Score by the script."""
        return np.array([self.script.get(frozenset({a[0].text, b[0].text}), 0.0) for a, b in pairs])


class ScriptedReader:
    """Answers with the first passage of the context."""

    name = "scripted"

    def answer(self, question: str, context: str) -> str:
        """Give the first cited line."""
        return next((line for line in context.splitlines() if line.startswith("[1]")), "Not mentioned")


def scripted(passage: Passage) -> Extraction:
    """Give one event whose action is the passage's words."""
    return extraction(passage, (Event((passage.speaker or "Someone",), passage.text),), ())


def extraction(passage: Passage, events: Sequence[Event], facts: Sequence[Fact]) -> Extraction:
    """Give an extraction of a passage with a plain summary."""
    summary = " ".join(f"{', '.join(e.participants)} {e.action}." for e in events)
    return Extraction(passage.id, tuple(events), tuple(facts), summary, "scripted")


def _told(passage: Passage, said: Extraction) -> Extraction:
    made = extraction(passage, said.events, said.facts)
    return replace(made, summary=said.summary or made.summary, truncated=said.truncated)
