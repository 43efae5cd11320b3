"""How cost grows with a memory: ``python -m training.benchmarks.scale --sizes 1e3,1e4,1e5 --json OUT``.

A size n is an index of n vectors and a graph of n nodes and ten edges a node, made up in the shape of real ones. Measures
building, memory, search latency and recall of our index beside a plain one and approximate ones, and PageRank beside
igraph's exact solver, all in one run on the threads that are asked for. Knows nothing about quality on real questions.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import faiss
import torch
from tqdm import tqdm

from seem.errors import InputError, SeemError
from training.benchmarks.canvas import canvas
from training.benchmarks.scale_data import DIMENSION
from training.benchmarks.scale_graph import BATCH, graphs
from training.benchmarks.scale_index import K, indexes

LEAST = 100


def measure(sizes: Sequence[int], queries: int, repeats: int, *, seed: int = 7) -> dict[str, Any]:
    """Measure every size, the least first; give the report."""
    # What is loaded on first use must not be charged to the least size.
    graphs(LEAST, 1, seed)
    told = {str(size): {**indexes(size, queries, seed), **graphs(size, repeats, seed)} for size in tqdm(sizes, "sizes")}
    return {
        "sizes": told,
        "settings": {
            "dimension": DIMENSION,
            "k": K,
            "queries": queries,
            "repeats": repeats,
            "threads": {"torch": torch.get_num_threads(), "faiss": faiss.omp_get_max_threads()},
            "wait_policy": os.environ.get("OMP_WAIT_POLICY", ""),
            "processors": os.cpu_count(),
            "load_average": list(os.getloadavg()),
        },
    }


def table(report: Mapping[str, Any]) -> str:
    """Give the figures as Markdown tables."""
    lines = [
        "| vectors | index | build s | MiB | median ms | p95 ms | ms a query, 16 at once | recall@20 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    cells: tuple[float, ...]
    for size, told in report["sizes"].items():
        for name, each in told["index"].items():
            cells = (each["build_seconds"], each["bytes"] / 2**20, each["ms"]["median"], each["ms"]["p95"])
            cells = (*cells, each["batch_ms_per_query"]["median"], each["recall"])
            lines.append(f"| {int(size):,} | {name} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
    lines += [
        "",
        "| nodes | edges | build s | MiB | ours ms | 16 at once, ms a query | with ids, ms | igraph ms | igraph / ours "
        "| igraph / batch | same top 20 | L1 |",
        "| --- |" + " --- |" * 11,
    ]
    for told in (each["graph"] for each in report["sizes"].values()):
        cells = (
            told["build_seconds"],
            told["bytes"] / 2**20,
            told["ms"]["median"],
            told["batch_ms_per_query"]["median"],
        )
        cells = (*cells, told["walk_ms"]["median"], told["igraph_ms"]["median"])
        cells = (*cells, told["igraph_over_ours"], told["igraph_over_batch"], told["same_top"])
        shown = " | ".join(f"{cell:.3f}" for cell in cells)
        lines.append(f"| {told['nodes']:,} | {told['edges']:,} | {shown} | {told['l1']:.1e} |")
    return "\n".join(lines)


def write_report(report: Mapping[str, Any], folder: Path) -> None:
    """Write a Markdown report and the plots."""
    folder.mkdir(parents=True, exist_ok=True)
    s = report["settings"]
    about = (
        f"{s['threads']['torch']} threads, {s['processors']} processors, load {s['load_average'][0]:.1f}, k {s['k']}."
    )
    plots = "![Search](search.png)\n![PageRank](pagerank.png)"
    text = f"# Cost against size\n\n{about}\n\n{table(report)}\n\n{plots}\n"
    (folder / "scale.md").write_text(text, encoding="utf-8")
    sizes = report["sizes"]
    with canvas(folder / "search.png", "vectors", "median ms a query, one at a time") as axes:
        for name in ("dense", "seem", "fp16", "ivf"):
            points = [(int(n), told["index"][name]["ms"]["median"]) for n, told in sizes.items()]
            axes.loglog(*zip(*points, strict=True), marker="o", label=name)
    with canvas(folder / "pagerank.png", "edges", "median ms a query") as axes:
        graph = [told["graph"] for told in sizes.values()]
        edges = [told["edges"] for told in graph]
        axes.loglog(edges, [told["ms"]["median"] for told in graph], marker="o", label="ours, one at a time")
        batched = [told["batch_ms_per_query"]["median"] for told in graph]
        axes.loglog(edges, batched, marker="o", label=f"ours, {BATCH} at once")
        axes.loglog(edges, [told["igraph_ms"]["median"] for told in graph], marker="o", label="igraph PRPACK")


def sizes_of(text: str) -> list[int]:
    """Read sizes such as ``1e3,1e4``; raise InputError where they are none."""
    try:
        sizes = sorted({int(float(part)) for part in text.split(",")})
    except (ValueError, OverflowError):
        raise InputError(f"--sizes must be numbers with commas between them, such as 1e3,1e4, not {text!r}") from None
    if sizes[0] < LEAST:
        raise InputError(f"--sizes must be at least {LEAST}, not {sizes[0]}")
    return sizes


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m training.benchmarks.scale", description="Cost against size.")
    parser.add_argument("--sizes", default="1e3,1e4,1e5", help="vectors, and nodes of the graph")
    parser.add_argument("--json", type=Path, required=True, help="where the figures are written")
    parser.add_argument("--report", type=Path, help="a folder for a Markdown report and plots")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=16, help="walks timed a size")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args(arguments)
    try:
        sizes = sizes_of(given.sizes)
        if min(given.queries, given.repeats, given.threads) < 1:
            raise InputError("--queries, --repeats and --threads must be at least 1")
        torch.set_num_threads(given.threads)
        faiss.omp_set_num_threads(given.threads)
        report = measure(sizes, given.queries, given.repeats)
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if given.report:
        write_report(report, given.report)
    print(table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
