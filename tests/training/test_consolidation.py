"""The comparison of ways to fill a memory, on tiny conversations: figures by hand, and the same frames each way."""

from __future__ import annotations

from pathlib import Path

import pytest

from seem.models.fakes import HashingEncoder
from tests.training.tiny_corpus import tiny_corpus
from training.corpus import load
from training.evaluate.consolidation import WAYS, Labels, Truth, agreement, compare, filled
from training.judge.metrics import b_cubed


def test_b_cubed_by_hand() -> None:
    gold = {"a": 1, "b": 1, "c": 2, "d": 2}
    made = {"a": 1, "b": 1, "c": 1, "d": 3}
    score = b_cubed(gold, made)
    assert score.precision == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)
    assert score.recall == pytest.approx((1 + 1 + 1 / 2 + 1 / 2) / 4)
    assert b_cubed(gold, gold).f1 == 1.0


def test_what_one_partition_lacks_stands_alone_there() -> None:
    assert agreement({"a": "f", "b": "f"}, {"a": "g", "b": "g"}) == 1.0
    assert agreement({"a": "f", "b": "f"}, {"a": "g"}) == pytest.approx(2 * 1 * 0.5 / 1.5)


def test_every_way_of_filling_ends_in_the_occurrences_of_the_truth(tmp_path: Path) -> None:
    conversations = load(tiny_corpus(tmp_path))[:2]
    told = compare(conversations, HashingEncoder(), Labels, Truth)
    assert set(told) == set(WAYS)
    for values in told.values():
        assert values["b_cubed_with_at_once"] == values["b_cubed"] == values["b_cubed_grouped"] == 1.0
        # Five of six turns tell of something, two of them of one climb.
        assert (values["framed"], values["frames"], values["fused"]) == (10, 8, 2)
        assert values["compression"] == pytest.approx(10 / 8)
        assert -1 <= values["cosine"] <= 1


def test_without_a_judge_every_passage_is_alone(tmp_path: Path) -> None:
    conversation = load(tiny_corpus(tmp_path))[0]
    home, told = filled(conversation, 2, encoder=HashingEncoder(), extractor=Labels(conversation), judge=None)
    assert len(set(home.values())) == len(home) == told.frames == 5
    assert told.fused_share == 0.0
