"""Personalised PageRank by power iteration: restart vectors in, scores of all nodes out, in one sparse product a step.

Takes the raw symmetric weights of ``build.Graph``; degrees and the mask are applied in every step, so a filter
(deletion, tenant, reader) needs no other matrix. Knows nothing about what nodes mean. Does not look for convergence:
the L1 error after K steps is at most 2·c^(K+1).
"""

from __future__ import annotations

import torch

from seem.errors import InputError
from seem.graph.build import Graph


def personalized_pagerank(
    graph: Graph,
    restart: torch.Tensor,
    *,
    damping: float = 0.5,
    iterations: int = 12,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Spread each restart vector over the graph and give scores of the same shape, float32, that sum to 1.

    With A the weights (n, n), m the mask, d = A·m the degrees, r the masked restart scaled to sum 1, c the damping::

        x_0 = r,    x_{k+1} = c · m∘A(m∘x_k / d) + (1 - c) · r,    result x_K / |x_K|_1

    What reaches a node without neighbours is lost; the division at the end makes that equal to sending it back to r, as
    igraph's PRPACK does. Source: Page et al. 1999; weights and damping 0.5 as in HippoRAG 2 (arXiv 2502.14802).

    ``restart``: (n,) or (B, n), n = ``graph.size``, not negative; an empty one gives zeros. ``mask``: (n,), true where
    a node takes part; the result equals that on the subgraph of those nodes. InputError where shapes or values do not
    fit.
    """
    _check(graph, restart, damping, iterations, mask)
    weights = graph.csr()
    seeds = (restart if restart.dim() == 2 else restart.unsqueeze(0)).to(weights.device, torch.float32)
    part = torch.ones(graph.size, 1, device=weights.device)
    if mask is not None:
        part = mask.to(weights.device, torch.bool).to(torch.float32).unsqueeze(1)
    r = (seeds.T * part).contiguous()
    r = _normalised(r)
    degrees = weights @ part
    # The mask in the inverse degree stops hidden nodes from conducting, so hiding their scores can wait to the end.
    inverse = torch.where(degrees > 0, part / degrees, torch.zeros_like(degrees))
    base = (1.0 - damping) * r
    x = r
    for _ in range(iterations):
        x = torch.addmm(base, weights, inverse * x, alpha=damping)
    scores = _normalised(x * part).T
    return scores.contiguous() if restart.dim() == 2 else scores[0].contiguous()


def _normalised(columns: torch.Tensor) -> torch.Tensor:
    """Scale each column of (n, B) to sum 1; a column of zeros stays one."""
    total = columns.sum(dim=0, keepdim=True)
    return torch.where(total > 0, columns / total, torch.zeros_like(columns))


def _check(graph: Graph, restart: torch.Tensor, damping: float, iterations: int, mask: torch.Tensor | None) -> None:
    """Refuse what would give a wrong vector in silence."""
    if restart.dim() not in (1, 2) or restart.shape[-1] != graph.size:
        raise InputError(f"the restart has shape {tuple(restart.shape)}: give ({graph.size},) or (B, {graph.size})")
    if mask is not None and tuple(mask.shape) != (graph.size,):
        raise InputError(f"the mask has shape {tuple(mask.shape)}: give ({graph.size},)")
    if not bool(torch.isfinite(restart).all()) or bool((restart < 0).any()):
        raise InputError("the restart has a negative or not finite weight: give weights from 0 up")
    if not 0.0 <= damping < 1.0:
        raise InputError(f"the damping is {damping}: give a number from 0 up to, but not including, 1")
    if iterations < 0:
        raise InputError(f"the number of iterations is {iterations}: give 0 or more")
