"""What is known before the arm is chosen: the question's form, and how firmly its seeds point to one place or story.

Takes the question, its seeds and a loaded memory; gives plain numbers by name, counted over passages that the caller may
read. Costs no model and no search of its own. Knows nothing about routers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

from seem.read.fusion import fuse_ranks, ranked
from seem.read.route import route
from seem.read.seed import Seeds
from seem.state import State

FIRST = 10
HELD = 5
MATCHED = 50
# The lists that every configuration has, of equal weight: a parser of questions must not change what a router was trained on.
_LISTS = dict.fromkeys(("dense", "bm25", "told", "told_bm25", "facts"), 1.0)
_FORMS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in (
        ("why", r"\b(?:why|reasons?|what (?:led|made|caused))\b"),
        ("how", r"\bhow (?!many|much|long|often|old|far|big|tall)"),
        ("measure", r"\bhow (?:many|much|long|often|old|far|big|tall)\b"),
        ("when", r"\b(?:when|what (?:date|day|month|year|time))\b"),
        ("where", r"\bwhere\b"),
        ("who", r"\b(?:who|whom|whose)\b"),
        ("yes_no", r"^(?:did|do|does|is|are|was|were|has|have|had|can|could|would|will|should|might)\b"),
        ("told", r"\b(?:what happened|describe|tell me|story|become of|became of|what did|in what ways?)\b"),
        ("now", r"\b(?:now|currently|still|these days|latest|at present)\b"),
    )
}
NAMES = (
    "rule",
    *_FORMS,
    "words",
    "dense_top",
    "dense_gap",
    "dense_spread",
    "fact_top",
    "fact_gap",
    "fact_spread",
    "matched",
    "agreement",
    "told_agreement",
    "fused",
    "silent",
    "sessions",
    "facts_met",
)


def signals(question: str, seeds: Seeds, state: State, *, allowed: Collection[str] | None = None) -> dict[str, float]:
    """Give every number of ``NAMES``; of short or empty lists what is missing counts as 0."""
    asked = question.strip()
    dense = [score for _, score in seeds.passages[:FIRST]]
    facts = [score for _, score in seeds.facts[:FIRST]]
    first = ranked(fuse_ranks(seeds.lists, _LISTS))[:FIRST]
    stories = {p: _others(state, p, allowed) for p in first}
    lists = {name: set(seeds.lists.get(name, ())[:FIRST]) for name in ("dense", "bm25", "told")}
    return {
        "rule": float(route(question) == "expand"),
        **{name: float(bool(pattern.search(asked))) for name, pattern in _FORMS.items()},
        "words": math.log1p(len(asked.split())),
        "dense_top": _at(dense, 0),
        "dense_gap": _at(dense, 0) - _at(dense, 1),
        "dense_spread": _at(dense, 0) - _at(dense, -1),
        "fact_top": _at(facts, 0),
        "fact_gap": _at(facts, 0) - _at(facts, 1),
        "fact_spread": _at(facts, 0) - _at(facts, -1),
        "matched": math.log1p(len(seeds.lists.get("bm25", ())[:MATCHED])),
        "agreement": len(lists["dense"] & lists["bm25"]) / FIRST,
        "told_agreement": len(lists["dense"] & lists["told"]) / FIRST,
        "fused": sum(bool(others) for others in stories.values()) / FIRST,
        "silent": len({p for hit in first[:HELD] for p in stories[hit]} - set(first)) / FIRST,
        "sessions": len({state.passages[p].session for p in first}) / FIRST,
        "facts_met": sum(_has_fact(state, p, allowed) for p in first) / FIRST,
    }


def _others(state: State, passage_id: str, allowed: Collection[str] | None) -> list[str]:
    """Give the other passages of a passage's frame, of those that may be read."""
    return [p for p in state.provenance(passage_id) if p != passage_id and (allowed is None or p in allowed)]


def _has_fact(state: State, passage_id: str, allowed: Collection[str] | None) -> bool:
    sources = (state.facts[i].provenance for i in state.facts_of.get(passage_id, ()))
    return any(allowed is None or set(provenance) <= set(allowed) for provenance in sources)


def _at(scores: Sequence[float], place: int) -> float:
    return float(scores[place]) if -len(scores) <= place < len(scores) else 0.0
