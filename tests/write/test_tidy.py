"""What a small model copied too widely is cut by code, and nothing is worded anew."""

from __future__ import annotations

import pytest

from seem.types import Event, TimeSpan
from seem.write.tidy import tidy


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("No, in the old church hall", "in the old church hall"),
        ("raise the limit to 1 GiB for now. And please be nice to Jun", "raise the limit to 1 GiB for now"),
        ("buttons his own shirt! It takes four minutes and nobody may help", "buttons his own shirt"),
        ("moved to 5.30 p.m. and stayed", "moved to 5.30 p.m. and stayed"),
        ("never", "never"),
        ("No. Stop", "Stop"),
        ("no longer works there", "no longer works there"),
        ("not yet deployed", "not yet deployed"),
    ],
)
def test_an_action_is_one_clause(said: str, kept: str) -> None:
    assert tidy(Event(("Bao",), said)).action == kept


def test_the_time_leaves_the_end_of_the_action_alone() -> None:
    when = TimeSpan("last Tuesday", "2024-02-27", "2024-02-27")
    assert tidy(Event(("Ana",), "signed up on last Tuesday", when)).action == "signed up"
    assert tidy(Event(("Ana",), "last Tuesday signed up", when)).action == "last Tuesday signed up"
    assert tidy(Event(("Ana",), "last Tuesday", when)).action == "last Tuesday", "an action is never emptied"


def test_a_slot_that_repeats_another_is_none() -> None:
    made = tidy(Event(("Ana", "Boulder"), "waits because it rains", None, "boulder", "it rains", "with a parrot"))
    assert (made.location, made.causality, made.manner) == (None, None, "with a parrot")


def test_a_time_without_a_time_word_is_none() -> None:
    assert tidy(Event(("Ana",), "called", TimeSpan("in the US"))).time is None
    assert tidy(Event(("Ana",), "called", TimeSpan("since the flood"))).time == TimeSpan("since the flood")
    dated = TimeSpan("am Montag", "2024-02-26", "2024-02-26")
    assert tidy(Event(("Ana",), "called", dated)).time == dated
