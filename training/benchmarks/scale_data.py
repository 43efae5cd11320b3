"""Made-up memories of any size, of the shape that real ones have: vectors in clusters, a graph with a few hubs.

Takes a size and a seed; gives arrays. Passages hang on entities, entities on entities by facts; how many edges an entity
has follows a power law, as names in talk do. Knows nothing about indexes or solvers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DIMENSION = 384
CLUSTER = 100
EDGES = 10
ENTITIES = 1 / 3
# Of an edge: between two entities (a fact), else between an entity and a passage.
FACTS = 1 / 3
# Seeds of one walk, as our read path has them.
SEED_ENTITIES = 10
SEED_PASSAGES = 30

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Links:
    """An undirected graph: ``ends`` of shape (edges, 2), each pair once and no loops; ``weights`` whole, from 1."""

    nodes: int
    entities: int
    ends: Numbers
    weights: Floats


def vectors(count: int, seed: int) -> Floats:
    """Give ``count`` unit vectors, shape ``(count, DIMENSION)``, some ``CLUSTER`` around each centre."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, count // CLUSTER), DIMENSION), dtype=np.float32)
    rows = centres[rng.integers(len(centres), size=count)]
    rows += rng.standard_normal(rows.shape, dtype=np.float32)
    return _unit(rows)


def near(rows: Floats, count: int, seed: int) -> Floats:
    """Give ``count`` queries, each near one of the rows."""
    rng = np.random.default_rng(seed)
    chosen = rows[rng.integers(len(rows), size=count)]
    return _unit(chosen + rng.standard_normal(chosen.shape, dtype=np.float32) / np.float32(DIMENSION**0.5))


def links(nodes: int, seed: int) -> Links:
    """Give a graph of ``nodes`` nodes, entities first, and about ``EDGES`` edges a node."""
    rng = np.random.default_rng(seed)
    entities = max(2, int(nodes * ENTITIES))
    wanted = min(nodes * EDGES, nodes * entities // 4)
    # A pair as one number, the lesser end first. What falls together leaves fewer than were drawn: draw until enough.
    pairs: Numbers = np.empty(0, dtype=np.int64)
    while len(pairs) < wanted:
        drawn = wanted - len(pairs) + wanted // 10
        a = _popular(rng, entities, drawn)
        fact = rng.random(drawn) < FACTS
        b = np.where(fact, _popular(rng, entities, drawn), rng.integers(entities, nodes, size=drawn))
        told = (np.minimum(a, b) * nodes + np.maximum(a, b))[a != b]
        pairs = np.unique(np.concatenate([pairs, told]))
    ends = np.stack(np.divmod(np.sort(rng.permutation(pairs)[:wanted]), nodes), axis=1)
    return Links(nodes, entities, ends, rng.integers(1, 4, size=len(ends)).astype(np.float32))


def seeds(graph: Links, count: int, seed: int) -> Floats:
    """Give restart vectors, shape ``(count, nodes)``: a few entities, and some passages that weigh little."""
    rng = np.random.default_rng(seed)
    restart = np.zeros((count, graph.nodes), dtype=np.float32)
    passages = min(SEED_PASSAGES, graph.nodes - graph.entities)
    for row in restart:
        row[rng.choice(graph.entities, min(SEED_ENTITIES, graph.entities), replace=False)] = rng.random()
        row[graph.entities + rng.choice(graph.nodes - graph.entities, passages, replace=False)] = 0.03 * rng.random()
    return restart


def _popular(rng: np.random.Generator, entities: int, count: int) -> Numbers:
    """Draw entities, the first most often: density falls with the square root of the number."""
    return np.minimum((entities * rng.random(count) ** 2).astype(np.int64), entities - 1)


def _unit(rows: Floats) -> Floats:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows
