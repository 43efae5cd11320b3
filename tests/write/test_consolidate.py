"""Candidates, unreadable verdicts and the partition, with a judge that says what the test wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from seem.models.protocols import JudgeInput
from seem.types import Event, Extraction, Passage
from seem.write.consolidate import Item, Ties, candidates, judge_pairs, partition


class ScriptedJudge:
    """Says the given numbers, whatever the pairs."""

    name = "scripted"
    threshold = 0.8

    def __init__(self, *said: Any) -> None:
        self.said = said

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> Any:
        return self.said


def item(name: str, angle: float, session: str = "s1", *, empty: bool = False) -> Item:
    events = () if empty else (Event((name,), "did it"),)
    vector = np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)
    return Item((Passage(name, "m", "text", session=session), Extraction(name, events)), vector)


def nothing(_vector: npt.NDArray[np.float32], _k: int) -> list[tuple[str, float]]:
    return []


ITEMS = [item(f"p{n}", angle, f"s{n // 3}") for n, angle in enumerate((0.0, 1.4, 0.1, 1.5, 0.2, 0.9, 0.05, 1.45))]


def one_by_one(k: int) -> list[tuple[str, str]]:
    known: list[Item] = []
    pairs: list[tuple[str, str]] = []
    for new in ITEMS:
        index = list(known)

        def nearest(vector: npt.NDArray[np.float32], k: int, index: list[Item] = index) -> list[tuple[str, float]]:
            scored = [(i.id, float(i.vector @ vector)) for i in index]
            return sorted(scored, key=lambda s: -s[1])[:k]

        session = new.side[0].session
        recent = {session: [i.id for i in known if i.side[0].session == session]}
        pairs += candidates([new], nearest=nearest, recent=recent, k=k)
        known.append(new)
    return pairs


@pytest.mark.parametrize("k", [1, 2, 5])
def test_bulk_and_stream_propose_the_same_pairs(k: int) -> None:
    assert candidates(ITEMS, nearest=nothing, recent={}, k=k) == one_by_one(k)


def test_candidates_are_the_nearest_and_the_last_of_the_session() -> None:
    pairs = candidates(ITEMS, nearest=nothing, recent={}, k=1, before=1)
    assert ("p2", "p0") in pairs and ("p2", "p1") in pairs
    assert [b for a, b in pairs if a == "p6"] == ["p0"]
    assert [b for a, b in pairs if a == "p0"] == []


def test_a_passage_without_events_is_no_candidate() -> None:
    items = [item("a", 0.0), item("b", 0.0, empty=True), item("c", 0.0)]
    assert candidates(items, nearest=nothing, recent={}) == [("c", "a")]


def test_the_index_may_know_a_new_passage_already() -> None:
    items = [item("a", 0.0)]
    pairs = candidates(items, nearest=lambda _v, _k: [("a", 1.0), ("old", 0.9)], recent={"s1": ["before"]})
    assert pairs == [("a", "old"), ("a", "before")]


@pytest.mark.parametrize(
    ("said", "scores", "unreadable"),
    [
        ((0.9, float("nan"), 1.7), [0.9, 0.0, 0.0], 2),
        ((-0.1, float("inf"), 1.0), [0.0, 0.0, 1.0], 2),
        ((0.9,), [0.0, 0.0, 0.0], 3),
        (("12", "", "they look alike"), [0.0, 0.0, 0.0], 3),
        ((("p1", "p2"), None, 0.9), [0.0, 0.0, 0.9], 2),
        (("0.4", True, [1.0, 2.0]), [0.4, 1.0, 0.0], 1),
    ],
)
def test_an_unreadable_verdict_never_merges(said: tuple[Any, ...], scores: list[float], unreadable: int) -> None:
    """O-03: a number outside the list, nothing, several ids, prose: no merge, and the words are kept."""
    sides = {i.id: i.side for i in ITEMS}
    pairs = [("p1", "p0"), ("p2", "p0"), ("p2", "p1")]
    verdicts = judge_pairs(pairs, sides, ScriptedJudge(*said))
    assert [verdicts.scores[p] for p in pairs] == scores and len(verdicts.odd) == unreadable


def test_no_pairs_ask_no_judge() -> None:
    assert judge_pairs([], {}, ScriptedJudge(0.5)).scores == {}


def parts(scores: Mapping[tuple[str, str], float], new: Sequence[str], **frames: Sequence[str]) -> list[set[str]]:
    made = partition(new, scores, frames, threshold=0.8)
    return [set(m) for m in (*made.grown.values(), *made.born)]


def test_the_mean_decides_and_the_least_can_forbid() -> None:
    frames = {"f": ["a", "b"]}
    assert parts({("c", "a"): 0.9, ("c", "b"): 0.7}, ["c"], **frames) == [{"a", "b", "c"}]
    assert parts({("c", "a"): 0.9, ("c", "b"): 0.6}, ["c"], **frames) == [{"c"}]
    assert parts({("c", "a"): 1.0}, ["c"], **frames) == [{"a", "b", "c"}]
    members = {"f": ["a", "b", "d", "e", "g"]}
    rows = {("c", m): 1.0 for m in "abde"} | {("c", "g"): 0.39}
    assert parts(rows, ["c"], **members) == [{"c"}]


def test_the_best_frame_wins_and_new_frames_grow_on() -> None:
    frames = {"f": ["a"], "g": ["b"]}
    scores = {("c", "a"): 0.85, ("c", "b"): 0.95, ("d", "c"): 0.9}
    made = partition(["c", "d"], scores, frames, threshold=0.8)
    assert made.grown == {"g": ("b", "c", "d")} and made.born == ()
    assert partition(["c", "d"], {("d", "c"): 0.9}, {}, threshold=0.8).born == (("c", "d"),)


def test_a_full_frame_takes_nobody_in_and_loses_nobody() -> None:
    frames = {"f": [f"m{n}" for n in range(10)]}
    made = partition(["c"], {("c", "m0"): 1.0}, frames, threshold=0.8)
    assert made.born == (("c",),) and made.grown == {} and made.full == 1


def test_bulk_and_stream_give_the_same_frames() -> None:
    scores = {("b", "a"): 0.9, ("c", "b"): 0.85, ("c", "a"): 0.8, ("d", "a"): 0.2, ("e", "d"): 0.95, ("e", "a"): 0.81}
    bulk = {frozenset(m) for m in partition(list("abcde"), scores, {}, threshold=0.8).born}
    frames: dict[str, tuple[str, ...]] = {}
    for new in "abcde":
        mine = {pair: score for pair, score in scores.items() if pair[0] == new}
        made = partition([new], mine, frames, threshold=0.8)
        frames |= made.grown
        frames |= {members[0]: members for members in made.born}
    assert {frozenset(m) for m in frames.values()} == bulk == {frozenset("abc"), frozenset("de")}


def test_what_a_person_decided_goes_before_any_score() -> None:
    frames = {"f": ["a", "b"], "g": ["d"]}
    scores = {("c", "a"): 0.9, ("c", "b"): 0.9, ("c", "d"): 0.1}
    apart = partition(["c"], scores, frames, threshold=0.8, ties=Ties(apart={"c": {"b"}}))
    assert (apart.grown, apart.born) == ({}, (("c",),))
    bound = partition(["c"], scores, frames, threshold=0.8, ties=Ties(together={"c": {"d"}}))
    assert bound.grown == {"g": ("d", "c")}
    full = {"f": [f"m{n}" for n in range(10)]}
    assert partition(["c"], {}, full, threshold=0.8, ties=Ties(together={"c": {"m3"}})).grown.keys() == {"f"}
    two = partition(["c", "e"], {("e", "c"): 1.0}, {}, threshold=0.8, ties=Ties(apart={"e": {"c"}}))
    assert two.born == (("c",), ("e",))


@pytest.mark.parametrize(("score", "stays"), [(0.9, True), (0.5, True), (0.4, True), (0.39, False)])
def test_a_changed_passage_stays_until_the_second_threshold(score: float, stays: bool) -> None:
    ties = Ties(former={"c": ["a", "b"]}, least=0.4)
    made = partition(["c"], {("c", "a"): score, ("c", "b"): score}, {"f": ["a", "b"]}, threshold=0.8, ties=ties)
    assert made.grown == ({"f": ("a", "b", "c")} if stays else {})
    assert made.left == ({} if stays else {"c": "f"})
