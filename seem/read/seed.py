"""Question to seeds: the facts, frames and passages that its words and its vector meet (K_top of the paper).

Takes the question with its vector and a loaded memory; gives one ranking of passages per way of finding them, and the facts that met it. Only
passages that the caller may read are searched, before ranking. No generation is needed; patterns of facts, where a parser gave some, add a ranking.
Knows nothing about the graph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seem.prompts.parse import OPEN
from seem.state import State
from seem.store.batch import Vector
from seem.store.words import STOP_WORDS, tokens
from seem.types import Fact, StoredFact

# How much of a known end a fact's ends must hold, in either order: one teller's subject is another's object.
LEAST_SHARED = 0.5


@dataclass(frozen=True, slots=True)
class Seeds:
    """Rankings of passage ids, best first, by the way they were found; ``facts`` and ``passages`` with their cosines."""

    lists: Mapping[str, Sequence[str]]
    facts: Sequence[tuple[str, float]]
    passages: Sequence[tuple[str, float]]


def seed(
    question: str,
    vector: Vector,
    state: State,
    *,
    depth: int,
    allowed: Collection[str] | None = None,
    patterns: Sequence[tuple[Fact, Vector]] = (),
    facts_held: Collection[str] | None = None,
) -> Seeds:
    """Find up to ``depth`` passages each way. ``vector`` is the question's, shape ``(dimension,)``, those of ``patterns`` their known parts'.

    ``facts_held`` names the facts to be searched; none: those of which every source is allowed.
    """
    query = np.asarray(vector, dtype=np.float32).reshape(1, -1)
    dense = state.vectors["passage"].search(query, depth, allowed)[0]
    told = state.vectors["extraction"].search(query, depth, allowed)[0]
    within = _facts_of(state, allowed) if facts_held is None else set(facts_held)
    facts = _readable(state, state.vectors["fact"].search(query, depth, within)[0], allowed)
    lists = {
        "dense": [i for i, _ in dense],
        "bm25": [i for i, _ in state.words["passage"].search(question, depth, allowed)],
        "told": [i for i, _ in told],
        "told_bm25": [i for i, _ in state.words["extraction"].search(question, depth, allowed)],
        "facts": _sources(state, facts, allowed),
    }
    if patterns:
        met = _met(state, patterns, depth, within)
        lists["parsed"] = _sources(state, met, allowed)
        facts = _best([*facts, *met])
    return Seeds(lists, facts, dense)


def _met(
    state: State, patterns: Sequence[tuple[Fact, Vector]], depth: int, within: set[str] | None
) -> list[tuple[str, float]]:
    """Give the facts near a pattern that hold its known ends, best first."""
    queries = np.stack([np.asarray(vector, dtype=np.float32) for _, vector in patterns])
    found = state.vectors["fact"].search(queries, depth, within)
    near = [
        (i, score)
        for (pattern, _), hits in zip(patterns, found, strict=True)
        for i, score in hits
        if i in state.facts and _holds(state, state.facts[i], pattern)
    ]
    return _best(near)


def _holds(state: State, fact: StoredFact, pattern: Fact) -> bool:
    entities = [state.entities[e] for e in (fact.subject_id, fact.object_id) if e in state.entities]
    named = [fact.fact.subject, fact.fact.object, *(name for e in entities for name in (e.name, *e.aliases))]
    words = {token for name in named for token in tokens(name)}
    wanted = [set(tokens(end)) - STOP_WORDS for end in (pattern.subject, pattern.object) if end != OPEN]
    return all(len(end & words) >= LEAST_SHARED * len(end) for end in wanted)


def _best(facts: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    best: dict[str, float] = {}
    for i, score in facts:
        best[i] = max(score, best.get(i, score))
    return sorted(best.items(), key=lambda found: (-found[1], found[0]))


def _facts_of(state: State, allowed: Collection[str] | None) -> set[str] | None:
    if allowed is None:
        return None
    # A fact is shown to whom every one of its sources is shown: its words may come from any of them.
    readable = set(allowed)
    return {i for i, fact in state.facts.items() if set(fact.provenance) <= readable}


def _readable(
    state: State, facts: Sequence[tuple[str, float]], allowed: Collection[str] | None
) -> list[tuple[str, float]]:
    return [(i, score) for i, score in facts if i in state.facts]


def _sources(state: State, facts: Sequence[tuple[str, float]], allowed: Collection[str] | None) -> list[str]:
    found = (p for i, _ in facts for p in state.facts[i].provenance)
    return [p for p in dict.fromkeys(found) if allowed is None or p in allowed]
