"""PageRank against a dense solve and igraph's PRPACK, and the invariants that filters and batches rely on."""

from __future__ import annotations

import igraph
import numpy as np
import pytest
import torch

from seem.errors import InputError
from seem.graph.build import Graph
from seem.graph.ppr import personalized_pagerank

Edges = list[tuple[int, int, float]]


def random_graph(seed: int, nodes: int = 60, edges: int = 150, isolated: int = 4) -> tuple[Graph, Edges]:
    """Make a graph of ``nodes`` nodes whose last ``isolated`` ones have no edge."""
    rng = np.random.default_rng(seed)
    pairs = {
        (min(i, j), max(i, j)): float(rng.uniform(0.1, 3.0))
        for i, j in rng.integers(0, nodes - isolated, size=(edges, 2)).tolist()
        if i != j
    }
    listed = [(i, j, weight) for (i, j), weight in sorted(pairs.items())]
    return graph_of(nodes, listed), listed


def graph_of(nodes: int, edges: Edges) -> Graph:
    graph = Graph()
    for number in range(nodes):
        graph.add_node(f"p_{number}")
    for i, j, weight in edges:
        graph.add_edge(f"p_{i}", f"p_{j}", weight)
    return graph


def restarts(seed: int, batch: int, nodes: int) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    rows = np.zeros((batch, nodes), dtype=np.float32)
    for row in rows:
        row[rng.choice(nodes, size=5, replace=False)] = rng.uniform(0.05, 1.0, size=5)
    return torch.from_numpy(rows)


def exact(graph: Graph, restart: torch.Tensor, damping: float = 0.5) -> np.ndarray:
    """Solve (I - c·A·D⁻¹) x = (1 - c) r in double precision and scale to sum 1."""
    weights = graph.csr().to_dense().numpy().astype(np.float64)
    degrees = weights.sum(axis=0)
    step = weights * np.where(degrees > 0, 1 / np.where(degrees > 0, degrees, 1), 0)
    r = restart.numpy().astype(np.float64)
    x = np.linalg.solve(np.eye(len(r)) - damping * step, (1 - damping) * r / r.sum())
    return np.asarray(x / x.sum())


@pytest.mark.parametrize("seed", range(4))
def test_it_equals_the_dense_solve(seed: int) -> None:
    graph, _ = random_graph(seed)
    restart = restarts(seed, 1, graph.size)[0]
    got = personalized_pagerank(graph, restart)
    want = exact(graph, restart)
    assert np.abs(got.numpy() - want).sum() <= 2 * 0.5**13
    longer = personalized_pagerank(graph, restart, iterations=40)
    assert np.abs(longer.numpy() - want).sum() < 2e-6


def test_another_damping_equals_its_dense_solve() -> None:
    graph, _ = random_graph(9)
    restart = restarts(9, 1, graph.size)[0]
    got = personalized_pagerank(graph, restart, damping=0.85, iterations=90)
    assert np.abs(got.numpy() - exact(graph, restart, 0.85)).sum() < 5e-6


@pytest.mark.parametrize("seed", range(4))
def test_it_equals_igraph_isolated_seeds_included(seed: int) -> None:
    graph, edges = random_graph(seed)
    restart = restarts(seed, 1, graph.size)[0]
    restart[graph.size - 1] = 0.7
    want = igraph.Graph(n=graph.size, edges=[(i, j) for i, j, _ in edges]).personalized_pagerank(
        reset=restart.tolist(),
        weights=[weight for *_, weight in edges],
        damping=0.5,
        directed=False,
        implementation="prpack",
    )
    got = personalized_pagerank(graph, restart, iterations=25).numpy()
    assert np.abs(got - np.array(want)).sum() < 1e-5
    twelve = personalized_pagerank(graph, restart).numpy()
    assert np.argsort(-twelve)[:10].tolist() == np.argsort(-np.array(want))[:10].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_a_mask_equals_the_graph_without_the_hidden_nodes(seed: int) -> None:
    nodes = 60
    graph, edges = random_graph(seed, nodes)
    hidden = set(np.random.default_rng(seed + 50).choice(nodes, size=20, replace=False).tolist())
    mask = torch.tensor([number not in hidden for number in range(nodes)])
    restart = restarts(seed, 3, nodes)
    small = graph_of(nodes, [edge for edge in edges if edge[0] not in hidden and edge[1] not in hidden])
    got = personalized_pagerank(graph, restart, mask=mask)
    want = personalized_pagerank(small, torch.where(mask, restart, torch.zeros(())))
    assert torch.allclose(got, want, atol=1e-6)
    assert bool((got[:, ~mask] == 0).all())


def test_a_removed_node_equals_a_masked_one() -> None:
    graph, _ = random_graph(3)
    restart = restarts(3, 1, graph.size)[0]
    restart[7] = 0.0
    mask = torch.ones(graph.size, dtype=torch.bool)
    mask[7] = False
    masked = personalized_pagerank(graph, restart, mask=mask)
    graph.remove_node("p_7")
    assert torch.allclose(masked, personalized_pagerank(graph, restart), atol=1e-6)


def test_a_batch_equals_its_rows_one_by_one() -> None:
    graph, _ = random_graph(5)
    restart = restarts(5, 6, graph.size)
    got = personalized_pagerank(graph, restart)
    assert got.shape == restart.shape and got.dtype == torch.float32
    for row, alone in zip(got, restart, strict=True):
        assert torch.allclose(row, personalized_pagerank(graph, alone), atol=1e-6)


def test_scores_sum_to_one_and_repeat_bit_for_bit() -> None:
    graph, _ = random_graph(6)
    restart = restarts(6, 8, graph.size) * 100
    got = personalized_pagerank(graph, restart)
    assert torch.allclose(got.sum(dim=1), torch.ones(8), atol=1e-6) and bool((got >= 0).all())
    assert torch.equal(got, personalized_pagerank(graph, restart))


def test_an_empty_restart_gives_zeros_beside_a_full_one() -> None:
    graph, _ = random_graph(7)
    restart = restarts(7, 2, graph.size)
    restart[0] = 0
    got = personalized_pagerank(graph, restart)
    assert float(got[0].abs().sum()) == 0 and float(got[1].sum()) == pytest.approx(1, abs=1e-6)


def test_a_restart_wholly_masked_gives_zeros() -> None:
    graph, _ = random_graph(8)
    restart = torch.zeros(graph.size)
    restart[2] = 1
    mask = restart == 0
    assert float(personalized_pagerank(graph, restart, mask=mask).sum()) == 0


def test_an_isolated_seed_keeps_its_own_mass() -> None:
    graph = graph_of(3, [(0, 1, 1.0)])
    got = personalized_pagerank(graph, torch.tensor([0.0, 0.0, 1.0]))
    assert got.tolist() == [0.0, 0.0, 1.0]


def test_a_graph_without_edges_or_nodes_works() -> None:
    assert personalized_pagerank(Graph(), torch.zeros(0)).shape == (0,)
    assert personalized_pagerank(Graph(), torch.zeros(2, 0)).shape == (2, 0)
    assert personalized_pagerank(graph_of(2, []), torch.tensor([1.0, 3.0])).tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("restart", "options", "word"),
    [
        (torch.ones(4), {}, "shape"),
        (torch.ones(1, 1, 3), {}, "shape"),
        (torch.tensor([1.0, -1.0, 0.0]), {}, "negative"),
        (torch.tensor([1.0, float("nan"), 0.0]), {}, "finite"),
        (torch.ones(3), {"damping": 1.0}, "damping"),
        (torch.ones(3), {"iterations": -1}, "iterations"),
        (torch.ones(3), {"mask": torch.ones(4)}, "mask"),
    ],
)
def test_what_does_not_fit_is_refused(restart: torch.Tensor, options: dict[str, object], word: str) -> None:
    with pytest.raises(InputError, match=word):
        personalized_pagerank(graph_of(3, [(0, 1, 1.0)]), restart, **options)  # type: ignore[arg-type]
