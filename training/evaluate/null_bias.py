"""The bias on «nothing worth remembering», chosen on labelled turns and written into the extractor's manifest.

One decoding serves the whole sweep: the decision is the first token, and what follows it does not depend on the bias.
Takes conversations and a decoder; gives the sweep and the best bias. Knows nothing about the other figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from seem.models.adapters import find_adapter, read_manifest
from seem.models.decoder import Decoder
from seem.models.protocols import ExtractItem
from seem.types import Extraction
from seem.write.extract import TunedExtractor
from training.evaluate.replay import Forced, Replay
from training.evaluate.slots import report

BIASES = tuple(step / 2 for step in range(-6, 7))
NOISE = 0.02


@dataclass(frozen=True, slots=True)
class Trial:
    """One bias and how it did."""

    null_bias: float
    null_f1: float
    slot_f1: float
    fact_f1: float


def sweep(
    items: Sequence[ExtractItem],
    gold: Sequence[Extraction],
    replay: Replay,
    adapter: str,
    *,
    max_tokens: int,
    biases: Sequence[float] = BIASES,
) -> list[Trial]:
    """Measure every bias on the turns."""
    forced = cast(Decoder, Forced(replay))  # it stands in for one
    trials = []
    for bias in biases:
        said = TunedExtractor(forced, adapter, max_tokens=max_tokens, null_bias=bias).extract(items)
        told = report(gold, said)
        trials.append(Trial(bias, told.null.f1, told.slots.f1, told.facts.f1))
    return trials


def best(trials: Sequence[Trial]) -> Trial:
    """Choose the highest F1 of the slots among the biases whose null decision is about as good as the best; of equals the smallest.

    What is forgotten here is lost to the graph and to every frame, so within the noise of some hundred turns the slots decide.
    """
    level = max(trial.null_f1 for trial in trials) - NOISE
    able = [trial for trial in trials if trial.null_f1 >= level]
    return max(able, key=lambda trial: (round(trial.slot_f1, 4), -abs(trial.null_bias)))


def write(adapter: str, bias: float) -> None:
    """Put the bias into the adapter's manifest."""
    folder = find_adapter(adapter)
    manifest = read_manifest(folder)
    replace(manifest, settings={**manifest.settings, "null_bias": bias}).write(folder)
