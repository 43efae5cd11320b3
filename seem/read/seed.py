"""Question to seeds: the facts, frames and passages that its words and its vector meet (K_top of the paper).

Takes the question with its vector and a loaded memory; gives one ranking of passages per way of finding them, and the facts that met it. Only
passages that the caller may read are searched, before ranking. No generation is needed. Knows nothing about the graph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seem.state import State
from seem.store.batch import Vector


@dataclass(frozen=True, slots=True)
class Seeds:
    """Rankings of passage ids, best first, by the way they were found; ``facts`` and ``passages`` with their cosines."""

    lists: Mapping[str, Sequence[str]]
    facts: Sequence[tuple[str, float]]
    passages: Sequence[tuple[str, float]]


def seed(question: str, vector: Vector, state: State, *, depth: int, allowed: Collection[str] | None = None) -> Seeds:
    """Find up to ``depth`` passages each way. ``vector`` is the question's, shape ``(dimension,)``."""
    query = np.asarray(vector, dtype=np.float32).reshape(1, -1)
    dense = state.vectors["passage"].search(query, depth, allowed)[0]
    told = state.vectors["extraction"].search(query, depth, allowed)[0]
    facts = _readable(state, state.vectors["fact"].search(query, depth, _facts_of(state, allowed))[0], allowed)
    lists = {
        "dense": [i for i, _ in dense],
        "bm25": [i for i, _ in state.words["passage"].search(question, depth, allowed)],
        "told": [i for i, _ in told],
        "told_bm25": [i for i, _ in state.words["extraction"].search(question, depth, allowed)],
        "facts": _sources(state, facts, allowed),
    }
    return Seeds(lists, facts, dense)


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
