"""PageRank on a graph of one size: ours, one walk and a batch at a time, beside igraph's exact solver.

Takes a number of nodes; gives the time to build, the memory, latencies, and how far the results are apart, all on the
same graph and restarts. Knows nothing about vectors.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import igraph
import numpy as np
import numpy.typing as npt
import torch

from seem.graph.build import Graph
from seem.graph.ppr import personalized_pagerank
from seem.graph.walk import walk
from training.benchmarks.averages import spread
from training.benchmarks.meter import built, milliseconds, timed
from training.benchmarks.scale_data import Floats, Links, links, seeds

TOP = 20
BATCH = 16
DAMPING = 0.5
ITERATIONS = 12


def graphs(size: int, repeats: int, seed: int) -> dict[str, Any]:
    """Measure our PageRank, one walk and a batch at a time, beside igraph's exact solver on the same graph."""
    told = links(size, seed)
    graph, cost = built(lambda: _graph(told))
    _, folded = timed(graph.csr)
    restarts = seeds(told, max(repeats, BATCH), seed + 3)
    tensor = torch.from_numpy(restarts)
    single = [timed(partial(personalized_pagerank, graph, tensor[n], damping=DAMPING)) for n in range(repeats)]
    batch = [timed(lambda: personalized_pagerank(graph, tensor[:BATCH], damping=DAMPING))[1] for _ in range(repeats)]
    walked = [timed(partial(_walked, graph, restarts[n]))[1] for n in range(repeats)]
    other, other_built = timed(lambda: _other(told))
    lists = [restarts[n].tolist() for n in range(repeats)]
    exact = [timed(partial(_prpack, other, reset)) for reset in lists]
    pairs = [(ours.numpy(), np.array(theirs)) for (ours, _), (theirs, _) in zip(single, exact, strict=True)]
    ours_ms, theirs_ms = milliseconds(single), milliseconds(exact)
    per_query = spread([1000 * seconds / BATCH for seconds in batch])
    return {
        "graph": {
            "nodes": told.nodes,
            "edges": len(told.ends),
            **cost,
            "matrix_seconds": folded,
            "ms": ours_ms,
            "batch_ms_per_query": per_query,
            "walk_ms": spread([1000 * seconds for seconds in walked]),
            "igraph_build_seconds": other_built,
            "igraph_ms": theirs_ms,
            "igraph_over_ours": theirs_ms["median"] / ours_ms["median"],
            "igraph_over_batch": theirs_ms["median"] / per_query["median"],
            "same_top": statistics.mean(_overlap(a, b) for a, b in pairs),
            "l1": max(float(np.abs(a - b).sum()) for a, b in pairs),
        }
    }


def _graph(told: Links) -> Graph:
    graph = Graph()
    names = [str(number) for number in range(told.nodes)]
    for name in names:
        graph.add_node(name)
    for (a, b), weight in zip(told.ends.tolist(), told.weights.tolist(), strict=True):
        graph.set_edge(names[a], names[b], weight)
    return graph


def _walked(graph: Graph, restart: Floats) -> list[tuple[str, float]]:
    weights = {str(node): float(restart[node]) for node in np.flatnonzero(restart)}
    return walk(graph, weights, damping=DAMPING, iterations=ITERATIONS, wanted=lambda node: True)


def _other(told: Links) -> Any:
    graph = igraph.Graph(n=told.nodes, edges=told.ends.tolist())
    graph.es["weight"] = told.weights.tolist()
    return graph


def _prpack(graph: Any, reset: list[float]) -> list[float]:
    scores: list[float] = graph.personalized_pagerank(
        reset=reset, damping=DAMPING, weights="weight", directed=False, implementation="prpack"
    )
    return scores


def _overlap(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    first, second = (set(np.argsort(-scores, kind="stable")[:TOP].tolist()) for scores in (a, b))
    return len(first & second) / len(second)
