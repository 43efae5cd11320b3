"""A question and its answer are one episode: what stands directly before or after a found passage in its session gains a share of its score.

Takes scores and a loaded memory; gives scores. Passages that the caller may not read are passed over, as if they were not there.
Knows nothing about questions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from seem.read.fusion import ranked
from seem.state import State

LENDERS = 20
SHARE = 0.1
BELOW = 0.999


def lend(scores: Mapping[str, float], state: State, *, allowed: Collection[str] | None = None) -> dict[str, float]:
    """Give the scores with what the best passages lend to their neighbours; a borrower never overtakes its lender."""
    lent = dict(scores)
    for passage in ranked(scores)[:LENDERS]:
        for neighbour in state.beside(passage, allowed):
            own = scores.get(neighbour, 0.0)
            lent[neighbour] = max(lent.get(neighbour, 0.0), min(own + SHARE * scores[passage], BELOW * scores[passage]))
    return lent
