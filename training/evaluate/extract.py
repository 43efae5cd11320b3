"""One extractor on labelled turns: run once, its outputs kept, and everything that they say of it.

Takes a decoder and conversations; gives extractions and figures. The untuned base and the student without a grammar are the same extractor on
another stand-in for the decoder. Knows nothing about judges or reports.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from seem.models.decoder import Decoder
from seem.models.protocols import ExtractItem
from seem.types import Extraction
from seem.write.extract import TunedExtractor
from training.corpus import Conversation, Turn
from training.evaluate.baseline import UNTUNED, sample, unbound, untuned
from training.evaluate.figures import extraction_figures, output_figures
from training.evaluate.replay import Replay

Pair = tuple[ExtractItem, Extraction]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The adapter's name, and how it is decoded with."""

    adapter: str
    max_tokens: int
    null_bias: float | None


def labelled(conversations: Sequence[Conversation]) -> list[Pair]:
    """Give every turn as the extractor takes it (the passage, the turns before it, the people in play), with its label."""
    return [((t.passage, t.context, c.speakers), t.extraction) for c in conversations for t in c.turns]


def items(conversations: Sequence[Conversation]) -> list[ExtractItem]:
    """Give every turn as the extractor takes it."""
    return [item for item, _ in labelled(conversations)]


def turns_of(conversations: Sequence[Conversation]) -> list[Turn]:
    """Give all turns in order."""
    return [turn for c in conversations for turn in c.turns]


def measure(
    pairs: Sequence[Pair],
    decoder: Decoder,
    recipe: Recipe,
    outputs: Path | None = None,
    *,
    grammar: bool = True,
    progress: Callable[[int], None] | None = None,
) -> tuple[dict[str, Any], list[Extraction]]:
    """Run an extractor on every turn, once, and measure what it said; ``outputs`` keeps what was decoded."""
    replay = Replay(decoder, outputs)
    # They stand in for a decoder; what is kept is known by its grammar, so that goes first.
    shown_to = cast(Decoder, replay) if grammar else unbound(cast(Decoder, replay))
    extractor = TunedExtractor(shown_to, recipe.adapter, max_tokens=recipe.max_tokens, null_bias=recipe.null_bias)
    shown = [item for item, _ in pairs]
    pieces = extractor.pieces(shown, progress=progress)
    # From the outputs that are now known, as the memory joins them.
    said = extractor.extract(shown)
    windows_per_second = replay.fresh / replay.seconds if replay.fresh and replay.seconds else None
    read = [piece.output.prompt_tokens for piece in pieces]
    return {
        **output_figures(pieces, len(shown)),
        **extraction_figures([label for _, label in pairs], said),
        "extractor": extractor.name,
        "decoded": replay.fresh,
        "decoding_seconds": replay.seconds,
        # Outputs that were kept by an older version do not say how long their prompts were.
        "tokens_in_per_passage": sum(read) / len(shown) if read and all(read) else None,
        "passages_per_second": windows_per_second and windows_per_second * len(shown) / len(pieces),
    }, said


def baseline(
    pairs: Sequence[Pair], decoder: Decoder, recipe: Recipe, count: int, outputs: Path | None = None
) -> dict[str, Any]:
    """Measure the untuned base and the student on the same few turns, with the grammar and without."""
    some = sample(pairs, count)
    bare = Recipe(UNTUNED, recipe.max_tokens, 0.0)
    told: dict[str, Any] = {"turns": len(some)}
    for name, able, how in (("base", untuned(decoder), bare), ("student", decoder, recipe)):
        progress = Progress(len(some), name)
        figures, _ = measure(some, able, how, outputs, progress=progress)
        free, _ = measure(some, able, how, outputs, grammar=False, progress=progress)
        told[name] = {**figures, "valid_without_grammar": free["valid"]}
    return told


class Progress:
    """Tells on stderr how far the extraction is, and how long it will take."""

    def __init__(self, total: int, what: str = "student") -> None:
        self._total = total
        self._what = what
        self._begun = time.monotonic()

    def __call__(self, done: int) -> None:
        seconds = time.monotonic() - self._begun
        left = seconds / max(1, done) * (self._total - done)
        print(
            f"{self._what}: {done}/{self._total} turns, {seconds:.0f} s, {left:.0f} s left", file=sys.stderr, flush=True
        )
