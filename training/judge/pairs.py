"""Pairs of labelled turns for the judge: positives, traps and mined neighbours of a split, each epoch disguised anew.

Takes conversations and an encoder; gives pairs of (passage, extraction) with a label. Half of the sides wear what a
copying student would have written (``training.examples.projection`` through the serving path's grounding). The same seed gives
the same pairs. Knows nothing about networks or losses.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from seem.models.protocols import Encoder, JudgeInput
from seem.prompts.lines import Parsed
from seem.prompts.window import clean_name, windows
from seem.types import Event, Extraction
from seem.write.consolidate import BEFORE, NEAREST, Item, candidates
from seem.write.ground import ground
from seem.write.summary import compose
from training.corpus import Conversation
from training.examples.augment import Labelled, renamed
from training.examples.projection import project
from training.judge.metrics import trap_kind

DROP_SLOT = 0.15
DROP_EVENT = 0.15
MASK = "…"
RANDOM = "neighbour"
SAME = "same"

Extractions = Mapping[str, Mapping[str, Extraction]]


@dataclass(frozen=True, slots=True)
class Tale:
    """A turn with the teacher's extraction, and its student-like twin (``None`` where nothing survived)."""

    turn: Labelled
    twin: Extraction | None


@dataclass(frozen=True, slots=True)
class TalePair:
    """Two turns of one conversation; ``kind`` is ``same``, a kind of trap, or ``neighbour``."""

    left: Tale
    right: Tale
    kind: str

    @property
    def same(self) -> bool:
        """Tell whether both tell of one occurrence."""
        return self.kind == SAME


@dataclass(frozen=True, slots=True)
class Sample:
    """What the network sees once."""

    left: JudgeInput
    right: JudgeInput
    same: bool


def tales(conversation: Conversation, *, twins: bool = True) -> dict[str, Tale]:
    """Give the turns that have events, by id."""
    turns = [
        Labelled(t.passage, t.context, conversation.speakers, t.extraction)
        for t in conversation.turns
        if t.extraction.events
    ]
    return {t.passage.id: Tale(t, student_like(t) if twins else None) for t in turns}


def student_like(turn: Labelled) -> Extraction | None:
    """Give what a perfect copying student would extract, after grounding; ``None`` where no event survives."""
    events: list[Event] = []
    for window in windows(turn.passage, turn.context, turn.names):
        target, _ = project(window, turn.label)
        events += ground(window, turn.passage, Parsed(target.events, (), 0), turn.context).events
    unique = tuple(dict.fromkeys(events))
    return (
        replace(turn.label, events=unique, facts=(), summary=compose(unique, clean_name(turn.passage.speaker)))
        if unique
        else None
    )


def composed(speaker: str, extraction: Extraction) -> Extraction:
    """Give the extraction with its summary as serving composes it: candidates are found by that text."""
    return replace(extraction, summary=compose(extraction.events, clean_name(speaker)))


def teacher_extractions(conversations: Sequence[Conversation]) -> dict[str, dict[str, Extraction]]:
    """Give the labels as extractions, by conversation and passage id."""
    return {c.id: {t.passage.id: composed(t.passage.speaker, t.extraction) for t in c.turns} for c in conversations}


def student_like_extractions(conversations: Sequence[Conversation]) -> dict[str, dict[str, Extraction]]:
    """Give the twins as extractions; a turn without one is empty."""
    out: dict[str, dict[str, Extraction]] = {}
    for c in conversations:
        found = tales(c)
        empty = {t.passage.id: Extraction(t.passage.id) for t in c.turns}
        out[c.id] = empty | {id_: tale.twin for id_, tale in found.items() if tale.twin}
    return out


def positives(conversation: Conversation) -> set[frozenset[str]]:
    """Give the pairs of turns that share an occurrence."""
    return {frozenset(pair) for o in conversation.occurrences for pair in combinations(o.turns, 2)}


def proposed(
    conversation: Conversation, extractions: Mapping[str, Extraction], encoder: Encoder
) -> list[tuple[str, str]]:
    """Give the pairs (later, earlier) that retrieval proposes in a conversation."""
    sides = [(t.passage, extractions[t.passage.id]) for t in conversation.turns if extractions[t.passage.id].events]
    vectors = encoder.encode([x.summary for _, x in sides])
    items = [Item(side, vector) for side, vector in zip(sides, vectors, strict=True)]
    return candidates(items, nearest=lambda _vector, _k: [], recent={}, k=NEAREST, before=BEFORE)


def labelled_pairs(conversations: Sequence[Conversation], encoder: Encoder) -> list[TalePair]:
    """Give every positive, every trap and every mined neighbour outside the occurrences, once each."""
    pairs: list[TalePair] = []
    for conversation in conversations:
        known = tales(conversation)
        same = positives(conversation)
        kinds = {frozenset((d.a, d.b)): trap_kind(d.why) for d in conversation.distinct}
        extractions = {t.passage.id: composed(t.passage.speaker, t.extraction) for t in conversation.turns}
        mined = dict.fromkeys(frozenset(pair) for pair in proposed(conversation, extractions, encoder))
        kinds = dict.fromkeys(mined, RANDOM) | kinds | dict.fromkeys(sorted(same, key=sorted), SAME)
        for pair, kind in kinds.items():
            a, b = sorted(pair)
            pairs.append(TalePair(known[a], known[b], kind))
    return pairs


def epoch(
    pairs: Sequence[TalePair],
    *,
    seed: int,
    positive_repeats: int,
    trap_repeats: int,
    neighbours: float,
    rename: float,
    mask: float,
) -> list[Sample]:
    """Give one epoch's samples: positives and traps repeated, ``neighbours`` mined ones a positive, disguised."""
    rng = random.Random(seed)
    chosen = [p for p in pairs if p.same for _ in range(positive_repeats)]
    mined = [p for p in pairs if p.kind == RANDOM]
    wanted = min(len(mined), round(neighbours * len(chosen)))
    chosen += [p for p in pairs if p.kind not in (SAME, RANDOM) for _ in range(trap_repeats)]
    chosen += rng.sample(mined, wanted)
    samples = [disguised(pair, rng, rename=rename, mask=mask) for pair in chosen]
    rng.shuffle(samples)
    return samples


def disguised(pair: TalePair, rng: random.Random, *, rename: float, mask: float) -> Sample:
    """Give a pair as the network sees it: twins or labels, thinned, other names on both sides alike, either order."""
    hidden = rng.random() < mask
    renaming = rng.random() < rename
    # One seed for both sides: the same people get the same new names.
    names = rng.getrandbits(32)
    sides = []
    for tale in (pair.left, pair.right):
        label = tale.twin if tale.twin is not None and rng.random() < 0.5 else tale.turn.label
        turn = replace(tale.turn, label=_thinned(label, rng))
        if renaming:
            turn = renamed(turn, random.Random(names))
        sides.append(_masked((turn.passage, turn.label)) if hidden else (turn.passage, turn.label))
    if rng.random() < 0.5:
        sides.reverse()
    return Sample(sides[0], sides[1], pair.same)


def _thinned(extraction: Extraction, rng: random.Random) -> Extraction:
    kept = [e for e in extraction.events if rng.random() >= DROP_EVENT] or [rng.choice(extraction.events)]

    def some(value: str | None) -> str | None:
        return None if rng.random() < DROP_SLOT else value

    events = tuple(
        replace(
            e,
            time=None if rng.random() < DROP_SLOT else e.time,
            location=some(e.location),
            causality=some(e.causality),
            manner=some(e.manner),
        )
        for e in kept
    )
    return replace(extraction, events=events)


def _masked(side: JudgeInput) -> JudgeInput:
    """Hide what was done, in the slots and in the words: people, times and places must then decide."""
    passage, extraction = side
    events = tuple(replace(e, action=MASK) for e in extraction.events)
    return replace(passage, text=""), replace(extraction, events=events)


def batches(lengths: Sequence[int], size: int, seed: int, bucket: int = 16) -> list[list[int]]:
    """Give batches of row numbers, alike in length within buckets of ``bucket`` batches, in random order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(lengths)).tolist()
    found: list[list[int]] = []
    step = size * bucket
    for start in range(0, len(order), step):
        rows = sorted(order[start : start + step], key=lambda i: lengths[i])
        found += [rows[i : i + size] for i in range(0, len(rows), size)]
    return [found[i] for i in rng.permutation(len(found)).tolist()]
