"""How the judge and its frames fare on labelled conversations, with the teacher's or any student's extractions.

Takes conversations, extractions by conversation and passage id, a judge and an encoder; gives plain numbers. A pair is
right where both turns lie in one occurrence. Knows nothing about training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seem.models.protocols import Encoder, Judge, JudgeInput
from seem.types import Extraction
from seem.write.consolidate import judge_pairs, partition
from training.corpus import Conversation
from training.judge.metrics import b_cubed, false_merges, report, trap_kind
from training.judge.pairs import Extractions, positives, proposed


@dataclass(frozen=True, slots=True)
class Proposed:
    """The pairs that retrieval proposes in one conversation, with their truth."""

    conversation: Conversation
    sides: Mapping[str, JudgeInput]
    pairs: tuple[tuple[str, str], ...]
    same: tuple[bool, ...]
    positives: int

    def inputs(self) -> list[tuple[JudgeInput, JudgeInput]]:
        """Give the pairs as the judge takes them."""
        return [(self.sides[a], self.sides[b]) for a, b in self.pairs]


def propose(conversations: Sequence[Conversation], extractions: Extractions, encoder: Encoder) -> list[Proposed]:
    """Give each conversation's candidates."""
    out = []
    for c in conversations:
        said: Mapping[str, Extraction] = extractions[c.id]
        same = positives(c)
        pairs = proposed(c, said, encoder)
        sides = {t.passage.id: (t.passage, said[t.passage.id]) for t in c.turns}
        out.append(Proposed(c, sides, tuple(pairs), tuple(frozenset(p) in same for p in pairs), len(same)))
    return out


def judge_report(
    conversations: Sequence[Conversation], extractions: Extractions, judge: Judge, encoder: Encoder
) -> dict[str, Any]:
    """Give precision and recall on proposed pairs, candidate recall, false merges by trap, B-cubed of the frames."""
    found = propose(conversations, extractions, encoder)
    verdicts = [judge_pairs(p.pairs, p.sides, judge) for p in found]
    scores = np.array(
        [v.scores[pair] for p, v in zip(found, verdicts, strict=True) for pair in p.pairs], dtype=np.float64
    )
    same = np.array([s for p in found for s in p.same], dtype=np.bool_)
    total = sum(p.positives for p in found)
    told = report(scores, same, judge.threshold)
    gold, predicted = _partitions(found, [v.scores for v in verdicts], judge.threshold)
    all_, grouped = b_cubed(gold, predicted), b_cubed(gold, predicted, singletons=False)
    alone = b_cubed(gold, {item: item for item in gold}, singletons=False)
    return {
        "judge_precision": _number(told.precision.value),
        "judge_precision_low": told.precision.low,
        "judge_recall": _number(told.recall.value),
        "judge_average_precision": _number(told.average_precision),
        "judge_threshold": judge.threshold,
        "judge_pairs": len(scores),
        "judge_positives": int(same.sum()),
        "judge_unreadable": sum(len(v.odd) for v in verdicts),
        "candidate_recall": int(same.sum()) / total if total else None,
        "b_cubed": all_.f1,
        "b_cubed_grouped": grouped.f1,
        "b_cubed_grouped_precision": grouped.precision,
        "b_cubed_grouped_recall": grouped.recall,
        "b_cubed_grouped_never_merge": alone.f1,
        "false_merges": _traps(found, judge),
    }


def _partitions(
    found: Sequence[Proposed], scores: Sequence[Mapping[tuple[str, str], float]], threshold: float
) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    """Give gold and made frames of every turn that has events in the labels or in the extractions."""
    gold: dict[tuple[str, str], str] = {}
    predicted: dict[tuple[str, str], str] = {}
    for p, given in zip(found, scores, strict=True):
        c = p.conversation
        told = [t.passage.id for t in c.turns if p.sides[t.passage.id][1].events]
        framed = dict.fromkeys([*told, *(t.passage.id for t in c.turns if t.extraction.events)])
        home = {id_: id_ for id_ in framed}
        for occurrence in c.occurrences:
            for id_ in occurrence.turns:
                # A turn of two occurrences counts for the first.
                if home[id_] == id_:
                    home[id_] = "occurrence " + occurrence.turns[0]
        made = {id_: members[0] for members in partition(told, given, {}, threshold=threshold).born for id_ in members}
        for id_ in framed:
            gold[c.id, id_] = f"{c.id} {home[id_]}"
            predicted[c.id, id_] = f"{c.id} {made.get(id_, id_)}"
    return gold, predicted


def _traps(found: Sequence[Proposed], judge: Judge) -> dict[str, Any]:
    pairs: list[tuple[JudgeInput, JudgeInput]] = []
    kinds: list[str] = []
    for p in found:
        for d in p.conversation.distinct:
            pairs.append((p.sides[d.a], p.sides[d.b]))
            kinds.append(trap_kind(d.why))
    scores = judge.score(pairs) if pairs else np.zeros(0)
    told = false_merges(scores, kinds, judge.threshold)
    return {kind: {"share": p.value, "high": p.high, "count": p.count} for kind, p in told.items()}


def _number(value: float) -> float | None:
    """JSON knows no nan: nothing merged has no precision."""
    return None if np.isnan(value) else value
