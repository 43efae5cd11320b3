"""PageRank on CUDA gives the CPU's scores, masked ones too."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from seem.graph.build import Graph
from seem.graph.ppr import personalized_pagerank

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device"),
]


def test_same_scores_and_ranks() -> None:
    rng = np.random.default_rng(5)
    nodes = 2_000
    edges = {(int(min(e)), int(max(e))): float(rng.uniform(0.1, 3)) for e in rng.integers(0, nodes, (10_000, 2))}
    graphs = [Graph(device=device) for device in ("cuda", "cpu")]
    for graph in graphs:
        for number in range(nodes):
            graph.add_node(str(number))
        for (a, b), weight in edges.items():
            graph.set_edge(str(a), str(b), weight)
    restart = torch.zeros(8, nodes)
    for row in restart:
        row[torch.from_numpy(rng.choice(nodes, 5, replace=False))] = 1.0
    mask = torch.from_numpy(rng.random(nodes) > 0.2)
    for chosen in (None, mask):
        there, here = (personalized_pagerank(graph, restart, mask=chosen).cpu() for graph in graphs)
        assert (there - here).abs().sum(1).max() < 1e-5
        assert torch.equal(there.topk(5).indices, here.topk(5).indices)
