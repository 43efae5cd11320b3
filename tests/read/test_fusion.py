"""Ranks into scores: the formula, and an order that every machine agrees on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seem.read.fusion import fuse_ranks, ranked


def test_the_formula() -> None:
    scores = fuse_ranks({"a": ["x", "y"], "b": ["y"]}, {"a": 1.0, "b": 0.5}, constant=60)
    assert scores["x"] == pytest.approx(1 / 61)
    assert scores["y"] == pytest.approx(1 / 62 + 0.5 / 61)


def test_a_list_without_a_weight_does_not_count() -> None:
    assert fuse_ranks({"a": ["x"], "b": ["y"]}, {"a": 1.0}) == fuse_ranks({"a": ["x"]}, {"a": 1.0})


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from("pqrstu"), unique=True), max_size=3))
def test_order_does_not_depend_on_the_order_of_lists(lists: dict[str, list[str]]) -> None:
    weights = dict.fromkeys("abc", 1.0)
    backwards = dict(reversed(list(lists.items())))
    assert ranked(fuse_ranks(lists, weights)) == ranked(fuse_ranks(backwards, weights))


def test_ties_go_by_id() -> None:
    assert ranked({"b": 1.0, "a": 1.0, "c": 2.0}) == ["c", "a", "b"]
