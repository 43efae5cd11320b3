"""Graph-only or with expansion: the trained router. Logistic regression, a linear machine over words, neighbours, or LoRA.

Takes a question, its vector and the signals of its seeds; gives the arm: expansion where the score is above 0. Weights
lie in safetensors, all other numbers in the adapter's manifest. Knows nothing about the memory or how signals are made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from seem.errors import ModelError
from seem.models.adapters import WEIGHTS, Manifest, find_adapter, read_manifest
from seem.models.encoder import Backbone, SentenceEncoder
from seem.models.protocols import Encoder, Route, Vectors

TASK = "router"
HEAD = "head.safetensors"
Kind = Literal["logistic", "svm", "knn", "lora"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_WORD = re.compile(r"\w\w+")

Floats = npt.NDArray[np.float64]
Scaling = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions as a scorer takes them: scaled signals (n, signals), unit vectors (n, width), and their words."""

    signals: Floats
    vectors: Floats
    questions: tuple[str, ...]


class Scorer(Protocol):
    """What expansion is thought to gain; above 0 it is chosen."""

    def scores(self, asked: Asked) -> Floats:
        """Give a score a question, shape (n,)."""

    def arrays(self) -> dict[str, npt.NDArray[np.float32]]:
        """Give the weights to be saved."""


@dataclass(frozen=True, slots=True)
class Linear:
    """``signals · a + vector · b + words · c + bias``, words as TF-IDF; a part that is not used weighs nothing."""

    signals: Floats
    vector: Floats
    bias: float
    words: Floats = field(default_factory=lambda: np.zeros(0))
    idf: Floats = field(default_factory=lambda: np.zeros(0))
    vocabulary: tuple[str, ...] = ()

    def scores(self, asked: Asked) -> Floats:
        """Give the weighted sums."""
        total = asked.signals @ self.signals + asked.vectors @ self.vector + self.bias
        if self.vocabulary:
            total = total + tfidf(asked.questions, self.vocabulary, self.idf) @ self.words
        return np.asarray(total, dtype=np.float64)

    def arrays(self) -> dict[str, npt.NDArray[np.float32]]:
        """Give the weights by name."""
        named = {"signals": self.signals, "vector": self.vector, "words": self.words, "idf": self.idf}
        return {name: values.astype(np.float32) for name, values in {**named, "bias": np.array([self.bias])}.items()}


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The mean gain of the ``count`` nearest known questions, by vector and signals, each part of like weight."""

    rows: Floats
    gains: Floats
    count: int

    def scores(self, asked: Asked) -> Floats:
        """Give the mean gains; of equally near questions those that were known first count."""
        points = beside(asked)
        # The rounded distance: of equals the order must not hang on last bits.
        far = np.round((points**2).sum(1)[:, None] + (self.rows**2).sum(1) - 2 * points @ self.rows.T, 6)
        near = np.argsort(far, axis=1, kind="stable")[:, : self.count]
        return np.asarray(self.gains[near].mean(axis=1), dtype=np.float64)

    def arrays(self) -> dict[str, npt.NDArray[np.float32]]:
        """Give the known questions and their gains."""
        return {"rows": self.rows.astype(np.float32), "gains": self.gains.astype(np.float32)}


class TunedRouter:
    """The trained router. The LoRA kind reads the question on the network that it shares with the encoder."""

    def __init__(self, encoder: Encoder, adapter: str = "router", *, signals: Sequence[str]) -> None:
        """Load it; raise ModelError where it does not fit the encoder, or the ``signals`` that will be given."""
        folder = find_adapter(adapter)
        manifest = read_manifest(folder)
        self._kind, self._scaling = _fitting(manifest, folder, encoder, signals)
        self._backbone: Backbone | None = None
        if self._kind == "lora":
            if not isinstance(encoder, SentenceEncoder):
                raise ModelError(f"a LoRA router works on a SentenceEncoder's network, not on {type(encoder).__name__}")
            encoder.backbone.attach(folder, task=TASK)
            self._backbone = encoder.backbone
        self._scorer = read_scorer(folder, manifest, signals=len(signals), width=encoder.dimension)
        self.name = f"{manifest.base}+{TASK}:{self._kind}@{manifest.version}"

    def choose(self, question: str, vector: Vectors, signals: Mapping[str, float]) -> Route:
        """Choose the arm; the cheaper one where the score is 0."""
        if self._backbone is not None:
            vector = self._backbone.embed([question], task=TASK)[0]
        asked = Asked(scaled([signals], self._scaling), np.asarray(vector, dtype=np.float64)[None], (question,))
        return "expand" if chosen(self._scorer.scores(asked))[0] else "graph"


def chosen(scores: Floats) -> npt.NDArray[np.bool_]:
    """Tell where expansion is chosen; rounded, as batches differ in the last bits."""
    return np.asarray(np.round(scores, 6) > 0)


def scaled(signals: Sequence[Mapping[str, float]], scaling: Scaling) -> Floats:
    """Give the signals, shape (n, signals), in the order of ``scaling``, with its mean and scale taken out."""
    values = np.array([[row[name] for name in scaling] for row in signals], dtype=np.float64)
    mean, scale = np.array(list(scaling.values()), dtype=np.float64).T
    return np.asarray((values.reshape(-1, len(scaling)) - mean) / scale, dtype=np.float64)


def beside(asked: Asked) -> Floats:
    """Give vectors and signals side by side, shape (n, width + signals), as ``Neighbours`` compares them."""
    return np.hstack([asked.vectors, asked.signals / np.sqrt(2 * max(1, asked.signals.shape[1]))])


def terms(question: str) -> Counter[str]:
    """Count a question's words and pairs of neighbouring words."""
    words = _WORD.findall(question.lower())
    return Counter(words + [f"{a} {b}" for a, b in zip(words, words[1:], strict=False)])


def tfidf(questions: Sequence[str], vocabulary: Sequence[str], idf: Floats) -> Floats:
    """Give TF-IDF rows of length 1, shape (n, vocabulary): ``(1 + ln count) · idf``; a row without a known term is 0."""
    column = {term: n for n, term in enumerate(vocabulary)}
    rows = np.zeros((len(questions), len(vocabulary)))
    for n, question in enumerate(questions):
        for term, count in terms(question).items():
            if term in column:
                rows[n, column[term]] = (1 + np.log(count)) * idf[column[term]]
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def manifest_settings(kind: Kind, scorer: Scorer, scaling: Scaling, encoder: str) -> dict[str, Any]:
    """Give the manifest's settings of a scorer; ``encoder`` is the fingerprint of the one whose vectors it read."""
    told: dict[str, Any] = {
        "kind": kind,
        "encoder": encoder,
        "signals": [[n, *map(float, s)] for n, s in scaling.items()],
    }
    if isinstance(scorer, Linear) and scorer.vocabulary:
        told["vocabulary"] = list(scorer.vocabulary)
    if isinstance(scorer, Neighbours):
        told["neighbours"] = scorer.count
    return told


def arrays_file(folder: Path, kind: str) -> Path:
    """Name the file of a scorer's weights: a LoRA router's own weights have the adapter's name already."""
    return folder / (HEAD if kind == "lora" else WEIGHTS)


def write_scorer(folder: Path, kind: Kind, scorer: Scorer) -> None:
    """Save a scorer's weights."""
    save_file(scorer.arrays(), arrays_file(folder, kind))


def read_scorer(folder: Path, manifest: Manifest, *, signals: int, width: int) -> Scorer:
    """Load a scorer; raise ModelError where its weights are not those that its manifest tells of."""
    told = manifest.settings
    path = arrays_file(folder, told["kind"])
    try:
        arrays = {name: values.astype(np.float64) for name, values in load_file(path).items()}
        if told["kind"] == "knn":
            found: Scorer = Neighbours(arrays["rows"], arrays["gains"], int(told["neighbours"]))
            whole = arrays["rows"].shape == (len(arrays["gains"]), width + signals) and told["neighbours"] > 0
        else:
            words = tuple(str(term) for term in told.get("vocabulary", ()))
            a = arrays
            found = Linear(a["signals"], a["vector"], float(a["bias"][0]), a["words"], a["idf"], words)
            sizes = [a[name].shape for name in ("signals", "vector", "words", "idf")]
            whole = sizes == [(signals,), (width,), (len(words),), (len(words),)]
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path} cannot be used ({error!r}); copy the whole folder or train it again") from error
    if not whole:
        raise ModelError(f"{path} has weights of other sizes than its manifest and encoder ask for; train it again")
    return found


def _fitting(manifest: Manifest, folder: Path, encoder: Encoder, signals: Sequence[str]) -> tuple[Kind, Scaling]:
    """Read kind and scaling; refuse a router of another task, encoder or set of signals."""
    if manifest.task != TASK:
        raise ModelError(f"adapter {folder} was trained for {manifest.task!r}, not for {TASK!r}; name another adapter")
    told = manifest.settings
    try:
        kind, made_for = told["kind"], told["encoder"]
        scaling = {str(name): (float(mean), float(scale)) for name, mean, scale in told["signals"]}
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"the router's manifest in {folder} is not whole ({error!r}); train the router again"
        ) from error
    if kind not in KINDS or not all(scale > 0 for _, scale in scaling.values()):
        raise ModelError(f"the router in {folder} is of no kind known here ({', '.join(KINDS)}); train it again")
    if made_for != encoder.fingerprint:
        raise ModelError(
            f"the router in {folder} was trained on vectors of {made_for}, but {encoder.fingerprint} is configured; "
            "configure that encoder and its adapter, or train the router again"
        )
    if list(scaling) != list(signals):
        odd = sorted(set(scaling) ^ set(signals)) or ["their order"]
        raise ModelError(
            f"the router in {folder} reads other signals than this version gives ({odd[0]}); train it again"
        )
    return kind, scaling
