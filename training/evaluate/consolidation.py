"""Does a memory end in the same frames however it was filled, and in the right ones? At once, in four parts, turn by turn.

``python -m training.evaluate.consolidation [--split test] [--only ID,…] [--extractor labels|local] [--judge truth|local|none]
[--json FILE]``: B-cubed between the ways of filling and against the corpus's occurrences, passages per frame, share of
fused frames, mean cosine of facts and frames of one passage. Each memory is filled by the product's own path. Knows
nothing about training.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seem.config import Config
from seem.models.protocols import Encoder, ExtractItem, Extractor, Judge, JudgeInput
from seem.pipeline import Pipeline
from seem.state import State
from seem.store.batch import Draft
from seem.types import Extraction
from seem.wiring import Parts
from training.corpus import Conversation, split
from training.judge.metrics import b_cubed

TURN = "turn"
WAYS: Mapping[str, Callable[[int], int]] = {
    "at once": lambda turns: turns,
    "in four parts": lambda turns: -(-turns // 4),
    "turn by turn": lambda turns: 1,
}


@dataclass(frozen=True, slots=True)
class Figures:
    """What one filled memory amounts to; ``cosine`` is the mean over facts and the frames of their passages."""

    passages: int
    framed: int
    frames: int
    fused: int
    cosine: float | None

    @property
    def compression(self) -> float | None:
        """Framed passages per frame."""
        return self.framed / self.frames if self.frames else None

    @property
    def fused_share(self) -> float | None:
        """Share of frames that tell of several passages."""
        return self.fused / self.frames if self.frames else None


class Labels:
    """The corpus's labels as an extractor."""

    name = "labels"

    def __init__(self, conversation: Conversation) -> None:
        """Take a conversation, whose drafts carry the ids of their turns."""
        self._labels = {turn.passage.id: turn.extraction for turn in conversation.turns}

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        """Give what the label of each passage's turn says."""
        return [replace(self._labels[passage.metadata[TURN]], passage_id=passage.id) for passage, _, _ in items]


class Truth:
    """The corpus's occurrences as a judge."""

    name = "truth"
    threshold = 0.5

    def __init__(self, conversation: Conversation) -> None:
        """Take a conversation, whose drafts carry the ids of their turns."""
        self._same = {frozenset(pair) for o in conversation.occurrences for pair in combinations(o.turns, 2)}

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> npt.NDArray[np.float64]:
        """Give 1 for turns of one occurrence, 0 for others."""
        turns = (frozenset({a[0].metadata[TURN], b[0].metadata[TURN]}) for a, b in pairs)
        return np.array([float(pair in self._same) for pair in turns])


def figures(state: State) -> Figures:
    """Count what a loaded memory holds."""
    frame, fact = state.vectors["frame"], state.vectors["fact"]
    cosines = [
        float(fact.vector(f.id) @ frame.vector(state.frame_of[p]))
        for f in state.facts.values()
        for p in f.provenance
        if p in state.frame_of
    ]
    fused = sum(len(f.provenance) > 1 for f in state.frames.values())
    mean = sum(cosines) / len(cosines) if cosines else None
    return Figures(len(state.passages), len(state.frame_of), len(state.frames), fused, mean)


def filled(
    conversation: Conversation, size: int, *, encoder: Encoder, extractor: Extractor, judge: Judge | None
) -> tuple[dict[str, str], Figures]:
    """Fill a memory ``size`` turns at a time; give the frame of each framed turn, and the figures."""
    with tempfile.TemporaryDirectory() as folder:
        config = Config.from_dict(
            {
                "data_dir": folder,
                "store": {"url": "sqlite:///:memory:"},
                "judge": {"engine": "none"},
                "router": {"engine": "rule"},
            }
        )
        pipeline = Pipeline(Parts(config, encoder=encoder, extractor=extractor, judge=judge))
        drafts = [
            Draft(t.text, t.id, t.speaker, t.session, t.time, t.image, metadata={TURN: t.id})
            for t in (turn.passage for turn in conversation.turns)
        ]
        for start in range(0, len(drafts), size):
            pipeline.remember(conversation.id, drafts[start : start + size])
        with pipeline.states.state(conversation.id) as state:
            home = {str(state.passages[p].metadata[TURN]): frame for p, frame in state.frame_of.items()}
            told = figures(state)
        pipeline.parts.store.close()
        return home, told


def occurrences(conversation: Conversation) -> dict[str, str]:
    """Give the occurrence of each turn that tells of one; a turn of two counts for the first."""
    home: dict[str, str] = {}
    for occurrence in conversation.occurrences:
        for turn in occurrence.turns:
            home.setdefault(turn, occurrence.turns[0])
    return home


def agreement(one: Mapping[str, str], other: Mapping[str, str], *, singletons: bool = True) -> float:
    """Give the B-cubed F1 of two partitions of the items that either holds; what one lacks stands alone there."""
    items = sorted({*one, *other})
    gold, made = ({i: home.get(i, f"alone {i}") for i in items} for home in (one, other))
    return b_cubed(gold, made, singletons=singletons).f1


def compare(
    conversations: Sequence[Conversation],
    encoder: Encoder,
    extractor: Callable[[Conversation], Extractor],
    judge: Callable[[Conversation], Judge | None],
) -> dict[str, Any]:
    """Give the figures of each way of filling, pooled over conversations."""
    homes: dict[str, dict[str, str]] = {way: {} for way in WAYS}
    told: dict[str, list[Figures]] = {way: [] for way in WAYS}
    gold: dict[str, str] = {}
    for c in conversations:
        told_of = {t.passage.id for t in c.turns if t.extraction.events}
        truth = occurrences(c)
        gold |= {f"{c.id} {t}": f"{c.id} {truth.get(t, t)}" for t in {*told_of, *truth}}
        for way, size in WAYS.items():
            home, found = filled(c, size(len(c.turns)), encoder=encoder, extractor=extractor(c), judge=judge(c))
            homes[way] |= {f"{c.id} {turn}": frame for turn, frame in home.items()}
            told[way].append(found)
    return {
        way: {
            "b_cubed_with_at_once": agreement(homes["at once"], homes[way]),
            "b_cubed": agreement(gold, homes[way]),
            "b_cubed_grouped": agreement(gold, homes[way], singletons=False),
            **_pooled(told[way]),
        }
        for way in WAYS
    }


def _pooled(told: Sequence[Figures]) -> dict[str, Any]:
    cosines = [f.cosine for f in told if f.cosine is not None]
    mean = sum(cosines) / len(cosines) if cosines else None
    whole = Figures(
        passages=sum(f.passages for f in told),
        framed=sum(f.framed for f in told),
        frames=sum(f.frames for f in told),
        fused=sum(f.fused for f in told),
        cosine=mean,
    )
    return {**asdict(whole), "compression": whole.compression, "fused_share": whole.fused_share}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m training.evaluate.consolidation", description=__doc__)
    parser.add_argument("--split", default="test", choices=("train", "dev", "test"))
    parser.add_argument("--only", default="", help="ids of conversations, comma-separated")
    parser.add_argument("--extractor", default="labels", choices=("labels", "local"))
    parser.add_argument("--judge", default="local", choices=("truth", "local", "none"))
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args(arguments)
    only = {name for name in options.only.split(",") if name}
    chosen = [c for c in split(options.split) if not only or c.id in only]
    models = Parts(Config())
    local = models.extractor if options.extractor == "local" else None
    tuned = models.judge if options.judge == "local" else None
    told = compare(
        chosen,
        models.encoder,
        lambda c: local or Labels(c),
        lambda c: Truth(c) if options.judge == "truth" else tuned,
    )
    setting = {"split": options.split, "conversations": len(chosen), "extractor": options.extractor}
    setting["judge"] = options.judge
    for way, values in told.items():
        print(way)
        for name, value in values.items():
            print(f"  {name:22} {value:.4f}" if isinstance(value, float) else f"  {name:22} {value}")
    if options.json:
        options.json.write_text(json.dumps({**setting, "ways": told}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
