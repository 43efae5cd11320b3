"""Retrieval by facts and PageRank alone, in the manner of HippoRAG 2: no frames, no expansion, no word search.

Takes a loaded memory once, then questions with their vectors; gives passages, best first. Facts link entities, entities
stand in passages, like entities are linked too. HippoRAG's filter of the facts by a large model is left out, since no
method here has one. Source: Gutiérrez et al. 2025 (arXiv 2502.14802), with the defaults of its code.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import torch

from seem.graph.build import Graph
from seem.graph.ppr import personalized_pagerank
from seem.models.protocols import Vectors
from seem.state import State

FACTS = 5
ENTITIES = 5
PASSAGE_WEIGHT = 0.05
SYNONYM = 0.8
SYNONYMS = 100
DAMPING = 0.5


class LinkedPassages:
    """The graph of one memory, made once."""

    def __init__(self, state: State) -> None:
        """Link entities that share a fact, entities to their passages, and entities with like names."""
        self._state = state
        self._graph = graph = Graph()
        self._passages_of: defaultdict[str, set[str]] = defaultdict(set)
        for node in [*state.passages, *state.entities]:
            graph.add_node(node)
        for fact in state.facts.values():
            ends = (fact.subject_id, fact.object_id)
            if ends[0] != ends[1]:
                graph.add_edge(*ends, 1.0)
            for entity in ends:
                self._passages_of[entity].update(fact.provenance)
        for entity, passages in self._passages_of.items():
            for passage in passages:
                graph.set_edge(entity, passage, 1.0)
        self._link_synonyms()

    def rank(self, vector: Vectors) -> list[str]:
        """Rank the passages for a question's vector, shape ``(1, dimension)``; by the vector alone without facts."""
        dense = self._state.vectors["passage"].search(vector, len(self._state.passages))[0]
        weights = self._seeds(vector)
        if not weights:
            return [passage for passage, _ in dense]
        for passage, share in _scaled(dense).items():
            weights[passage] = PASSAGE_WEIGHT * share
        restart = torch.zeros(self._graph.size)
        for node, weight in weights.items():
            restart[self._graph.index(node)] = weight
        scores = personalized_pagerank(self._graph, restart, damping=DAMPING).tolist()
        found = {p: round(scores[self._graph.index(p)], 7) for p in self._state.passages}
        return sorted(found, key=lambda p: (-found[p], p))

    def _seeds(self, vector: Vectors) -> dict[str, float]:
        """Weigh the entities of the nearest facts: a fact's score over the passages of its entity, the mean of its facts."""
        facts = self._state.vectors["fact"].search(vector, len(self._state.facts))[0]
        shares: defaultdict[str, list[float]] = defaultdict(list)
        for fact_id, share in list(_scaled(facts).items())[:FACTS]:
            fact = self._state.facts[fact_id]
            for entity in (fact.subject_id, fact.object_id):
                shares[entity].append(share / max(1, len(self._passages_of[entity])))
        weights = {entity: float(np.mean(told)) for entity, told in shares.items()}
        best = sorted(weights, key=lambda entity: (-weights[entity], entity))[:ENTITIES]
        return {entity: weights[entity] for entity in best if weights[entity] > 0}

    def _link_synonyms(self) -> None:
        index = self._state.vectors["entity"]
        entities = [entity for entity in self._state.entities if entity in index]
        if not entities:
            return
        matrix = np.stack([index.vector(entity) for entity in entities])
        for entity, near in zip(entities, index.search(matrix, SYNONYMS), strict=True):
            for other, score in near:
                if other != entity and score >= SYNONYM:
                    linked = self._graph.weight(entity, other)
                    self._graph.set_edge(entity, other, max(linked, score))


def _scaled(found: list[tuple[str, float]]) -> dict[str, float]:
    """Give scores from 0 to 1, the least to the greatest, in order; 1 where all are equal."""
    if not found:
        return {}
    scores = [score for _, score in found]
    low, span = min(scores), max(scores) - min(scores)
    return {item: (score - low) / span if span else 1.0 for item, score in found}
