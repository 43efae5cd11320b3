"""Which passages tell of the same occurrence: candidates by nearness, their pairs judged, each put into a frame.

Takes new extractions with their vectors and what is known of earlier ones; gives the frames that grow and those
that are born. A pair's score depends on its two extractions alone and passages are placed in their order, so that one
bulk import and many single adds give the same frames. What a person decided goes before any score. Knows nothing about
the store, the index or networks; never merges two frames that exist already.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seem.models.protocols import Judge, JudgeInput, Vectors

NEAREST = 5
BEFORE = 2
MOST_PASSAGES = 10
# So many more are asked of the index than wanted, so that equals at the border do not depend on its rounding.
SLACK = 16
DIGITS = 5
_SHOWN = 200
_log = logging.getLogger(__name__)

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
    """The score of each judged pair (new, earlier); ``odd`` holds what was no probability, as it came, and counted 0."""

    scores: Mapping[Pair, float]
    odd: Mapping[Pair, str]


@dataclass(frozen=True, slots=True)
class Partition:
    """Frames that grow (id to ALL its passages), new frames (their passages), joins refused since a frame was full.

    ``left`` names the frame that a passage told of before its words changed, and does no more; ``odd`` is the verdicts'.
    """

    grown: Mapping[str, tuple[str, ...]]
    born: tuple[tuple[str, ...], ...]
    full: int
    left: Mapping[str, str] = field(default_factory=dict)
    odd: Mapping[Pair, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ties:
    """What binds a passage ahead of any score: whom it belongs with and may not meet, and whom it stood with before.

    ``together`` and ``apart`` are a person's decisions. A passage whose words changed goes back to its ``former``
    companions unless the mean of its scores with them is below ``least``: taking out needs more doubt than leaving out.
    """

    together: Mapping[str, Collection[str]] = field(default_factory=dict)
    apart: Mapping[str, Collection[str]] = field(default_factory=dict)
    former: Mapping[str, Collection[str]] = field(default_factory=dict)
    least: float = 0.0


UNTIED = Ties()


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
        found = [(score, id_) for id_, score in nearest(item.vector, k + SLACK) if id_ not in own]
        found += [(float(score), told[m].id) for m, score in enumerate(vectors[:n] @ item.vector)]
        # Of equals (an index and a product differ in the last bits) the one that came first stays first, whichever batch
        # it came in: ids rise in order of arrival.
        close = [id_ for _, id_ in sorted(found, key=lambda f: (-round(f[0], DIGITS), f[1]))[:k]]
        session = last[item.side[0].session]
        pairs += [(item.id, other) for other in dict.fromkeys([*close, *session[::-1][:before]])]
        session.append(item.id)
    return pairs


def judge_pairs(pairs: Sequence[Pair], sides: Mapping[str, JudgeInput], judge: Judge) -> Verdicts:
    """Score the pairs. What is not a probability counts as «not the same» and is kept; it never means «merge»."""
    if not pairs:
        return Verdicts({}, {})
    asked = [(a, b) for a, b in pairs if not _repeated(sides[a], sides[b])]
    told: Any = judge.score([(sides[a], sides[b]) for a, b in asked]) if asked else []
    answers = list(told) if len(told) == len(asked) and not isinstance(told, str) else [told] * len(asked)
    scores = {pair: _probability(answer) for pair, answer in zip(asked, answers, strict=True)}
    odd = {pair: repr(answer)[:_SHOWN] for pair, answer in zip(asked, answers, strict=True) if scores[pair] is None}
    if odd:
        _log.warning("the judge gave %d verdicts that are no probability; they count as «not the same»", len(odd))
    return Verdicts({pair: scores.get(pair, 1.0) or 0.0 for pair in pairs}, odd)


def _repeated(a: JudgeInput, b: JudgeInput) -> bool:
    """Tell whether one person says the same words twice on one day: a repeat under another id, which needs no judge."""
    (said, _), (again, _) = a, b
    if said.time is None or again.time is None or said.time.date() != again.time.date():
        return False
    return (said.speaker, said.session, said.text) == (again.speaker, again.session, again.text)


def _probability(answer: object) -> float | None:
    """Give a verdict as a number; ``None`` for anything that is none from 0 to 1."""
    try:
        value = float(answer)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return value if 0 <= value <= 1 else None


def partition(
    new: Sequence[str],
    scores: Mapping[Pair, float],
    frames: Mapping[str, Sequence[str]],
    *,
    threshold: float,
    limit: int = MOST_PASSAGES,
    ties: Ties = UNTIED,
) -> Partition:
    """Put each new passage, in order, into the frame that its ties name or that fits best, else into one of its own.

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
    left: dict[str, str] = {}
    for passage in new:
        if passage in home:
            continue
        by_frame: defaultdict[str, list[float]] = defaultdict(list)
        for earlier, score in judged[passage]:
            if earlier in home:
                by_frame[home[earlier]].append(score)
        for frame in {home[other] for other in ties.apart.get(passage, ()) if other in home}:
            by_frame.pop(frame, None)
        former = _most(home, ties.former.get(passage, ()))
        bound = _most(home, ties.together.get(passage, ()))
        there = by_frame.get(former) if former is not None else None
        if bound is None and there and sum(there) / len(there) >= ties.least:
            bound = former
        if former is not None and bound != former:
            left[passage] = former
        fits = [
            (sum(s) / len(s), frame)
            for frame, s in by_frame.items()
            if sum(s) / len(s) >= threshold and min(s) >= threshold / 2
        ]
        room = [(mean, frame) for mean, frame in fits if len(members[frame]) < limit]
        full += len(fits) - len(room) if bound is None else 0
        if bound is not None or room:
            frame = bound if bound is not None else max(room, key=lambda fit: fit[0])[1]
            members[frame].append(passage)
            if frame in frames:
                grown[frame] = None
        else:
            frame = f"new:{passage}"
            members[frame] = [passage]
            born.append(frame)
        home[passage] = frame
    return Partition(
        {frame: tuple(members[frame]) for frame in grown}, tuple(tuple(members[frame]) for frame in born), full, left
    )


def _most(home: Mapping[str, str], passages: Collection[str]) -> str | None:
    """Give the frame that holds most of the passages, the first of equals."""
    counts = Counter(home[passage] for passage in sorted(passages) if passage in home)
    return counts.most_common(1)[0][0] if counts else None
