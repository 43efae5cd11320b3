"""Seeds to passages over the graph: personalised PageRank from the seed facts' entities and the seed passages (P_ret of the paper).

Takes seeds and a loaded memory; gives a ranking of passages. Nodes that the caller may not read neither score nor conduct.
Source: HippoRAG 2 (arXiv 2502.14802) for the restart vector: a fact's score, divided by how many passages its entity stands in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from seem.graph.walk import walk
from seem.read.seed import Seeds
from seem.state import State

SEED_FACTS = 10
SEED_PASSAGES = 30
# Small beside the facts' entities, else the walk only repeats the ranking that it started from.
PASSAGE_WEIGHT = 0.03


def spread(
    seeds: Seeds,
    base: Sequence[str],
    state: State,
    *,
    damping: float,
    iterations: int,
    allowed: Collection[str] | None = None,
) -> list[str]:
    """Rank the passages that the walk reaches, best first. ``base`` are the passages already found, best first."""
    restart: defaultdict[str, float] = defaultdict(float)
    for fact_id, score in seeds.facts[:SEED_FACTS]:
        fact = state.facts[fact_id]
        for entity in (fact.subject_id, fact.object_id):
            restart[entity] += max(0.0, score) / max(1, len(state.graph.neighbours(entity)))
    total = sum(restart.values()) or 1.0
    weights = {entity: weight / total for entity, weight in restart.items() if weight}
    for rank, passage_id in enumerate(base[:SEED_PASSAGES], 1):
        weights[passage_id] = weights.get(passage_id, 0.0) + PASSAGE_WEIGHT / rank
    readable = (
        None
        if allowed is None
        else lambda node: node in allowed or (node not in state.passages and node in state.entities)
    )
    found = walk(
        state.graph,
        weights,
        damping=damping,
        iterations=iterations,
        wanted=lambda node: node in state.passages,
        readable=readable,
    )
    return [node for node, _ in found]
