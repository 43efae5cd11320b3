"""Passage to extraction (F_ext and K_t of the paper): the first stage of the write path.

Takes passages with the turns before them; gives events, facts and a composed summary for each, or none where nothing is worth remembering. On a small
base the extraction is copied by construction (``seem.prompts.grammar``). Knows nothing about frames, storage or the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from seem.models.decoder import Decoder
from seem.models.greedy import Generated, Request
from seem.models.protocols import ExtractItem
from seem.prompts import lines
from seem.prompts.grammar import extraction_grammar
from seem.prompts.window import Window, clean_name, halves, windows
from seem.types import Extraction, Passage
from seem.write.ground import Grounded, ground
from seem.write.summary import compose
from seem.write.tidy import tidy

TASK = "extract"


@dataclass(frozen=True, slots=True)
class Piece:
    """One window of a passage with what the model made of it."""

    passage: int
    window: Window
    output: Generated
    grounded: Grounded


class TunedExtractor:
    """The tuned extractor: windows, grammar, decoder with the ``extract`` adapter, parser, grounding."""

    def __init__(
        self, decoder: Decoder, adapter: str = "extract", *, max_tokens: int = 260, null_bias: float | None = None
    ) -> None:
        """Load the adapter. ``null_bias`` moves the decision «nothing worth remembering»; by default the one chosen on dev."""
        self._decoder = decoder
        manifest = decoder.load(adapter, task=TASK)
        self._max_tokens = max_tokens
        self._null_bias = float(manifest.settings.get("null_bias", 0.0)) if null_bias is None else null_bias
        self.name = f"{decoder.base.name}+{TASK}@{manifest.version}"

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        """Extract a batch; one extraction each, in order."""
        pieces = self.pieces(items, progress=progress)
        return [self._join(items[n][0], [p for p in pieces if p.passage == n]) for n in range(len(items))]

    def pieces(self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None) -> list[Piece]:
        """Run every window; long passages have several, and so has one whose answer would be too long."""
        shown = [(n, w) for n, (passage, context, names) in enumerate(items) for w in windows(passage, context, names)]
        begun = self._run(shown, items, progress)
        # What ran out of its budget is asked again in halves, once: nothing is cut off in silence, and nothing runs on.
        smaller = {n: [(p.passage, w) for w in halves(p.window)] for n, p in enumerate(begun) if not p.output.finished}
        again = self._run([piece for cut in smaller.values() for piece in cut], items, None)
        pieces: list[Piece] = []
        for n, piece in enumerate(begun):
            cut = [again.pop(0) for _ in smaller.get(n, ())]
            pieces += cut if cut and sum(map(_lines, cut)) >= _lines(piece) else [piece]
        return pieces

    def _run(
        self,
        shown: Sequence[tuple[int, Window]],
        items: Sequence[ExtractItem],
        progress: Callable[[int], None] | None,
    ) -> list[Piece]:
        # "none" and "E" are the only two beginnings, so a bias on the first token is a threshold on the decision.
        bias = {lines.NONE: self._null_bias}
        requests = [Request(w.prompt(), extraction_grammar(w), bias) for _, w in shown]
        step = self._decoder.batch_size * 4
        outputs: list[Generated] = []
        for start in range(0, len(requests), step):
            outputs += self._decoder.generate(requests[start : start + step], task=TASK, max_tokens=self._max_tokens)
            if progress:
                progress(min(len(items), len(outputs)))
        pieces = []
        for (n, window), output in zip(shown, outputs, strict=True):
            parsed = lines.parse(output.text, whole=output.finished)
            passage, context, _ = items[n]
            pieces.append(Piece(n, window, output, ground(window, passage, parsed, context)))
        return pieces

    def _join(self, passage: Passage, pieces: Sequence[Piece]) -> Extraction:
        events = tuple(dict.fromkeys(tidy(e) for p in pieces for e in p.grounded.events))
        facts = tuple(dict.fromkeys(f for p in pieces for f in p.grounded.facts))
        logprob = sum(p.output.logprob for p in pieces) / max(1, len(pieces))
        return Extraction(
            passage.id,
            events,
            facts if events else (),
            compose(events, clean_name(passage.speaker)),
            self.name,
            math.exp(logprob),
            sum(p.grounded.dropped for p in pieces),
            any(not p.output.finished for p in pieces),
        )


def _lines(piece: Piece) -> int:
    return len(piece.grounded.events) + len(piece.grounded.facts)
