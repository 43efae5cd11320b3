"""The ways of finding passages that the benchmark compares: plain baselines, our read path, and it with a stage off.

Takes a method's name, an imported conversation and a question; gives at most k passages, best first, as the turns' ids.
All methods search the same passages by the same text (``seem.state.passage_text``: speaker, words, caption; no date).
Knows nothing about evidence or scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from seem.errors import InputError
from seem.models.protocols import Encoder, Vectors
from seem.pipeline import Options, Pipeline
from seem.read.fusion import fuse_ranks, ranked
from seem.state import State
from seem.types import Context

Switch = Callable[[Options], Options]

SWITCHES: Mapping[str, Switch] = MappingProxyType(
    {
        "seem": lambda options: options,
        "seem-no-facts": lambda options: replace(options, facts=False),
        "seem-no-frames": lambda options: replace(options, frames=False),
        "seem-no-walk": lambda options: replace(options, walk=False),
        "seem-no-expand": lambda options: replace(options, expand="never"),
    }
)
BASELINES = ("dense", "bm25", "rrf")


@dataclass(frozen=True, slots=True)
class Found:
    """The turns that a reader would be given, best first, by k; and the seconds that finding them took, by k."""

    turns: Mapping[int, tuple[str, ...]]
    seconds: Mapping[int, float]


class KnownQuestions:
    """An encoder that encodes each question once, alone, and remembers how long that took.

    Methods share the vector, and each is charged its cost.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors: dict[str, Vectors] = {}
        self.seconds: dict[str, float] = {}
        self.fingerprint = encoder.fingerprint
        self.dimension = encoder.dimension

    def learn(self, question: str) -> None:
        """Encode a question, once."""
        if question not in self._vectors:
            begun = time.perf_counter()
            self._vectors[question] = self._encoder.encode([question])
            self.seconds[question] = time.perf_counter() - begun

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode; a question that is known alone is not encoded again."""
        known = self._vectors.get(texts[0]) if len(texts) == 1 else None
        return self._encoder.encode(texts) if known is None else known


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation in its memory. ``seconds`` is the time of its import, in earlier runs where it was kept."""

    pipeline: Pipeline
    encoder: KnownQuestions
    memory: str
    seconds: float
    problems: tuple[str, ...]
    counts: Mapping[str, int]


def check_methods(names: Sequence[str]) -> None:
    """Refuse a name that is no method."""
    known = (*BASELINES, *SWITCHES)
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"there is no method {unknown[0]!r}; choose among {', '.join(known)}")


def needs_models(names: Sequence[str]) -> bool:
    """Tell whether a method reads frames or facts, so that the conversations must be extracted."""
    return any(name in SWITCHES for name in names)


def find(method: str, imported: Imported, question: str, ks: Sequence[int]) -> Found:
    """Find passages for a question with one method, for every k."""
    pipeline, encoder, memory = imported.pipeline, imported.encoder, imported.memory
    encoder.learn(question)
    encoding = encoder.seconds[question]
    if method in SWITCHES:
        turns: dict[int, tuple[str, ...]] = {}
        seconds: dict[int, float] = {}
        for k in ks:
            begun = time.perf_counter()
            context = pipeline.recall(memory, question, options(method, pipeline, k))
            seconds[k] = time.perf_counter() - begun + encoding
            turns[k] = shown(context)
        return Found(turns, seconds)
    with pipeline.states.state(memory) as state:
        begun = time.perf_counter()
        order = _plain(method, state, encoder, question)
        took = time.perf_counter() - begun + (0.0 if method == "bm25" else encoding)
        return Found({k: tuple(_turn(state, p) for p in order[:k]) for k in ks}, dict.fromkeys(ks, took))


def options(method: str, pipeline: Pipeline, k: int) -> Options:
    """Give the options of one of our own methods: the configured search, k passages, one stage off."""
    search = pipeline.parts.config.search
    return SWITCHES[method](Options(top_k=k, context_tokens=search.context_tokens, expand=search.expand))


def shown(context: Context) -> tuple[str, ...]:
    """Give the turns whose line stands in the context: a passage that the token budget left out was not handed over."""
    lines = "\n" + context.text
    return tuple(str(hit.passage.metadata["dia_id"]) for n, hit in enumerate(context.hits, 1) if f"\n[{n}] " in lines)


def _plain(method: str, state: State, encoder: KnownQuestions, question: str) -> list[str]:
    # Whole rankings: a baseline that is cut off before it is fused would be a weaker one.
    everything = len(state.passages)
    lists: dict[str, list[str]] = {}
    if method in ("dense", "rrf"):
        vector = encoder.encode([question])
        lists["dense"] = [i for i, _ in state.vectors["passage"].search(vector, everything)[0]]
    if method in ("bm25", "rrf"):
        lists["bm25"] = [i for i, _ in state.words["passage"].search(question, everything)]
    # The constant of the published method: the baseline keeps it, whatever our own search uses.
    return ranked(fuse_ranks(lists, dict.fromkeys(lists, 1.0), constant=60.0))


def _turn(state: State, passage_id: str) -> str:
    return str(state.passages[passage_id].metadata["dia_id"])
