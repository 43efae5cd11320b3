"""A walk by node ids: weights to restart from in, the best nodes out; tensors stay inside.

Takes a graph and weights by node id; gives nodes with their PageRank, best first. Knows nothing about what a node means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from seem.graph.build import Graph
from seem.graph.ppr import personalized_pagerank


def walk(
    graph: Graph,
    restart: Mapping[str, float],
    *,
    damping: float,
    iterations: int,
    wanted: Callable[[str], bool],
    readable: Callable[[str], bool] | None = None,
    limit: int = 200,
) -> list[tuple[str, float]]:
    """Give up to ``limit`` nodes for which ``wanted`` holds, best first, ties by id. Nodes that are not ``readable`` neither score nor conduct."""
    if not len(graph) or not restart:
        return []
    seeds = torch.zeros(graph.size)
    for node, weight in restart.items():
        seeds[graph.index(node)] += weight
    ids = graph.ids
    mask = None if readable is None else torch.tensor([node is not None and readable(node) for node in ids])
    scores = personalized_pagerank(graph, seeds, damping=damping, iterations=iterations, mask=mask).tolist()
    # Rounded, so that CPU and GPU, which add in different orders, agree on ties.
    found = [
        (node, round(score, 7))
        for node, score in zip(ids, scores, strict=True)
        if node is not None and score > 0 and wanted(node)
    ]
    return sorted(found, key=lambda item: (-item[1], item[0]))[:limit]
