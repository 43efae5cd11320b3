"""Which passages tell of the same occurrence: candidates by nearness, their pairs judged, each put into a frame.

Takes new extractions with their vectors and what is known of earlier ones; gives the frames that grow and those
that are born. A pair's score depends on its two extractions alone and passages are placed in their order, so that one
bulk import and many single adds give the same frames. Knows nothing about the store, the index or networks; never
merges two frames that exist already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seem.models.protocols import Judge, JudgeInput, Vectors

NEAREST = 5
BEFORE = 2
MOST_PASSAGES = 10

Nearest = Callable[[Vectors, int], Sequence[tuple[str, float]]]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Item:
    """A new passage with its extraction and the unit vector of the extraction's summary."""

    side: JudgeInput
    vector: Vectors

    @property
    def id(self) -> str:
        """Give the passage's id."""
        return self.side[0].id


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The score of each judged pair (new, earlier); ``unreadable`` counts what was no probability and became 0."""

    scores: Mapping[Pair, float]
    unreadable: int


@dataclass(frozen=True, slots=True)
class Partition:
    """Frames that grow (id to ALL its passages), new frames (their passages), joins refused since a frame was full."""

    grown: Mapping[str, tuple[str, ...]]
    born: tuple[tuple[str, ...], ...]
    full: int


def candidates(
    new: Sequence[Item],
    *,
    nearest: Nearest,
    recent: Mapping[str, Sequence[str]],
    k: int = NEAREST,
    before: int = BEFORE,
) -> list[Pair]:
    """Pair each new passage that has events with the ``k`` nearest earlier ones and the last ones of its session.

    ``nearest`` searches what is indexed; earlier ones of ``new`` are searched here. ``recent`` holds, by
    session, the ids of earlier passages with events, the last one last.
    """
    pairs: list[Pair] = []
    last: defaultdict[str, list[str]] = defaultdict(list, {session: list(ids) for session, ids in recent.items()})
    told = [item for item in new if item.side[1].events]
    own = {item.id for item in told}
    vectors = np.stack([item.vector for item in told]) if told else np.zeros((0, 0), dtype=np.float32)
    for n, item in enumerate(told):
        found = [(score, id_) for id_, score in nearest(item.vector, k) if id_ not in own]
        found += [(float(score), told[m].id) for m, score in enumerate(vectors[:n] @ item.vector)]
        # sorted() is stable: of equals the one that came first stays first, whichever batch it came in.
        close = [id_ for _, id_ in sorted(found, key=lambda f: -f[0])[:k]]
        session = last[item.side[0].session]
        pairs += [(item.id, other) for other in dict.fromkeys([*close, *session[::-1][:before]])]
        session.append(item.id)
    return pairs


def judge_pairs(pairs: Sequence[Pair], sides: Mapping[str, JudgeInput], judge: Judge) -> Verdicts:
    """Score the pairs. What is not a probability counts as «not the same» and is reported; it never means «merge»."""
    if not pairs:
        return Verdicts({}, 0)
    given = np.asarray(judge.score([(sides[a], sides[b]) for a, b in pairs]), dtype=np.float64).ravel()
    if len(given) != len(pairs):
        given = np.full(len(pairs), np.nan)
    readable = (given >= 0) & (given <= 1)
    scores = np.where(readable, given, 0.0)
    return Verdicts(dict(zip(pairs, scores.tolist(), strict=True)), int((~readable).sum()))


def partition(
    new: Sequence[str],
    scores: Mapping[Pair, float],
    frames: Mapping[str, Sequence[str]],
    *,
    threshold: float,
    limit: int = MOST_PASSAGES,
) -> Partition:
    """Put each new passage, in order, into the frame that fits best, else into one of its own.

    It fits where the mean of its scores with the frame's members is at least ``threshold`` and the least of them at
    least half of it; members that were not candidates have no say. A full frame takes nobody in.
    """
    members: dict[str, list[str]] = {frame: list(ids) for frame, ids in frames.items()}
    home = {passage: frame for frame, ids in members.items() for passage in ids}
    judged: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    for (passage, earlier), score in scores.items():
        judged[passage].append((earlier, score))
    grown: dict[str, None] = {}
    born: list[str] = []
    full = 0
    for passage in new:
        if passage in home:
            continue
        by_frame: defaultdict[str, list[float]] = defaultdict(list)
        for earlier, score in judged[passage]:
            if earlier in home:
                by_frame[home[earlier]].append(score)
        fits = [
            (sum(s) / len(s), frame)
            for frame, s in by_frame.items()
            if sum(s) / len(s) >= threshold and min(s) >= threshold / 2
        ]
        room = [(mean, frame) for mean, frame in fits if len(members[frame]) < limit]
        full += len(fits) - len(room)
        if room:
            frame = max(room, key=lambda fit: fit[0])[1]
            members[frame].append(passage)
            if frame in frames:
                grown[frame] = None
        else:
            frame = f"new:{passage}"
            members[frame] = [passage]
            born.append(frame)
        home[passage] = frame
    return Partition(
        {frame: tuple(members[frame]) for frame in grown}, tuple(tuple(members[frame]) for frame in born), full
    )
