"""LongMemEval's scores: recall and NDCG of turns and sessions, the judge's question by type, accuracy by type.

Takes labels in the order in which they were found, or marks by type; gives numbers from 0 to 1. Knows nothing about
memories or endpoints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from training.benchmarks.averages import average
from training.benchmarks.cases import Query
from training.benchmarks.judging import Marking
from training.benchmarks.locomo_scores import exact_match, token_f1
from training.benchmarks.longmemeval_data import TYPES

KS = (1, 3, 5, 10, 30, 50)
# Beyond KS: budgets at which a ranking is looked at until it holds enough sessions.
DEEPER = (100, 200)
_PROMPTS = {
    "single-session-user": "longmemeval_answer",
    "single-session-assistant": "longmemeval_answer",
    "multi-session": "longmemeval_answer",
    "temporal-reasoning": "longmemeval_temporal",
    "knowledge-update": "longmemeval_update",
    "single-session-preference": "longmemeval_preference",
}


def first(found: Mapping[int, Sequence[str]], k: int, name: Callable[[str], str | None]) -> list[str]:
    """Give the first ``k`` distinct names of what was found, from the least budget that holds so many, else the largest.

    ``found`` maps budgets to labels; ``name`` gives a label's name, None for one that does not count.
    """
    names: list[str] = []
    for budget in sorted(each for each in found if each >= k):
        names = list(dict.fromkeys(told for label in found[budget] if (told := name(label)) is not None))
        if len(names) >= k:
            break
    return names[:k]


def retrieval_scores(ranking: Sequence[str], evidence: Collection[str], k: int) -> dict[str, float]:
    """Give ``recall_any``, ``recall_all`` and ``ndcg_any`` of the first ``k``."""
    top = ranking[:k]
    hits = set(top) & set(evidence)
    return {
        "recall_any": float(bool(hits)),
        "recall_all": float(hits == set(evidence)),
        "ndcg_any": ndcg(top, evidence, k),
    }


def ndcg(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Give the NDCG with binary gains, the first two places undiscounted: gain_1 + Σ gain_i / log2(i) from i = 2."""
    ideal = _gain([1] * min(k, len(set(evidence))))
    return _gain([int(each in evidence) for each in ranking[:k]]) / ideal if ideal else 0.0


def scores(query: Query, text: str) -> dict[str, float]:
    """Score a response without a judge."""
    return {"f1": token_f1(text, query.answer), "exact": exact_match(text, query.answer)}


def marking(query: Query, text: str, *, abstains: bool) -> Marking:
    """Give what the judge is asked about a response; whether it must abstain comes before its type."""
    if abstains:
        blocks = (("question", query.text), ("explanation", query.answer), ("response", text))
        return Marking("longmemeval_abstention", "yes", blocks)
    tag = "description" if query.kind == "single-session-preference" else "right_answer"
    blocks = (("question", query.text), (tag, query.answer), ("response", text))
    return Marking(_PROMPTS[query.kind], "yes", blocks)


def accuracy(marks: Sequence[tuple[str, bool, bool]]) -> dict[str, object]:
    """Give accuracy over (type, abstains, right): overall, by type, the types' mean, and of abstentions alone.

    An abstention counts inside its type.
    """
    told = average([(kind, float(right)) for kind, _, right in marks], TYPES)
    by_type = {kind: mean for kind, (mean, _) in told.by_kind.items()}
    abstentions = [float(right) for _, abstains, right in marks if abstains]
    return {
        "overall": told.mean,
        "count": told.count,
        "by_type": by_type,
        "task_averaged": sum(by_type.values()) / len(by_type) if by_type else 0.0,
        "abstention": sum(abstentions) / len(abstentions) if abstentions else None,
    }


def _gain(gains: Sequence[int]) -> float:
    return sum(gain if place < 2 else gain / math.log2(place) for place, gain in enumerate(gains, 1))
