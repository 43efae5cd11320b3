"""Reverse provenance expansion: from the passages found to the rest of the stories that they belong to.

Takes ranked passages and a loaded memory; gives the passages for the reader: hits first, then other passages of their frames (psi: P -> E, rho: E -> P),
never more than the budget, never one that the caller may not read. Knows nothing about questions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from seem.state import State


def expand(
    hits: Sequence[str],
    scores: Mapping[str, float],
    state: State,
    *,
    budget: int,
    hold: int,
    allowed: Collection[str] | None = None,
) -> list[str]:
    """Give at most ``budget`` passages: the first ``hold`` hits, then their frames' other passages and the remaining hits by score.

    A passage of a frame stands as high as a share of the frame's best hit allows, so that a story's silent turns can pass hits that met the question by chance.
    """
    held = list(hits[:hold])
    chosen = set(held)
    rest: dict[str, float] = {p: scores.get(p, 0.0) for p in hits[hold:] if p not in chosen}
    for hit in held:
        for passage in state.provenance(hit):
            if passage not in chosen and (allowed is None or passage in allowed):
                rest[passage] = max(
                    rest.get(passage, 0.0), STORY_SHARE * scores.get(hit, 0.0) + scores.get(passage, 0.0)
                )
    more = sorted(rest, key=lambda p: (-round(rest[p], 9), p))
    return [*held, *more[: max(0, budget - len(held))]]


STORY_SHARE = 0.5
