"""The scale benchmark on sizes of a few hundred: what it makes up, what it finds, what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from seem.errors import InputError
from training.benchmarks.scale import main, sizes_of
from training.benchmarks.scale_data import EDGES, links, near, seeds, vectors
from training.benchmarks.scale_graph import graphs
from training.benchmarks.scale_index import indexes


def test_vectors_are_unit_and_in_clusters() -> None:
    rows = vectors(1000, 1)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.array_equal(rows, vectors(1000, 1)) and not np.array_equal(rows, vectors(1000, 2))
    cosines = np.sort(near(rows, 20, 3) @ rows.T, axis=1)
    # Some hundred share a query's centre; to the others it is as good as at right angles.
    assert cosines[:, -50].mean() > 0.25 and abs(cosines[:, 500].mean()) < 0.05


def test_a_graph_has_its_edges_once_and_a_few_hubs() -> None:
    graph = links(600, 1)
    a, b = graph.ends.T
    assert len(graph.ends) == 600 * EDGES and len(np.unique(graph.ends, axis=0)) == len(graph.ends)
    assert (a < b).all() and (a < graph.entities).all() and b.max() < graph.nodes
    degrees = np.bincount(graph.ends.ravel(), minlength=graph.nodes)
    assert degrees[: graph.entities].max() > 4 * np.median(degrees[: graph.entities])
    restart = seeds(graph, 3, 1)
    assert restart.shape == (3, 600) and (restart >= 0).all() and (np.count_nonzero(restart, axis=1) == 40).all()


def test_every_index_is_held_against_the_exact_one() -> None:
    found = indexes(1200, 20, 1)["index"]
    assert found["dense"]["recall"] == 1.0 and found["seem"]["recall"] == 1.0
    assert found["fp16"]["recall"] > 0.95 and found["ivf"]["recall"] > 0.9
    assert 1 <= found["ivf"]["probes"] <= found["ivf"]["lists"]
    assert all(told["ms"]["p95"] >= told["ms"]["median"] > 0 for told in found.values())


def test_our_walk_agrees_with_igraph() -> None:
    told = graphs(600, 3, 1)["graph"]
    assert (told["nodes"], told["edges"]) == (600, 6000)
    assert told["l1"] < 1e-3 and told["same_top"] > 0.95
    assert told["igraph_over_ours"] == pytest.approx(told["igraph_ms"]["median"] / told["ms"]["median"])


def test_sizes_are_read() -> None:
    assert sizes_of("1e4,100,1e3,100") == [100, 1000, 10000]
    for wrong in ("ten", "", "10", "inf"):
        with pytest.raises(InputError, match="--sizes"):
            sizes_of(wrong)


def test_the_program_writes_figures_table_and_plots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "scale.json"
    given = ["--sizes", "100,200", "--json", str(out), "--report", str(tmp_path), "--queries", "4", "--repeats", "2"]
    assert main(given) == 0
    report = json.loads(out.read_text())
    assert list(report["sizes"]) == ["100", "200"] and report["settings"]["threads"] == {"torch": 1, "faiss": 1}
    assert "| 200 | ivf |" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"scale.json", "scale.md", "search.png", "pagerank.png"}
    assert main([*given, "--repeats", "0"]) == 1
