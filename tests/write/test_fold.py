"""A frame is a pure function of its members."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seem.types import Event, Extraction, Frame, Passage, TimeSpan
from seem.write.fold import MAX_EVENTS, Member, fold

MAY = TimeSpan("in May", "2024-05", "2024-05")


def member(position: int, *events: Event, speaker: str = "Ana") -> Member:
    passage = Passage(f"p{position}", "m", "text", position=position, speaker=speaker)
    return passage, Extraction(passage.id, events)


def test_the_same_members_give_the_same_frame_in_any_order() -> None:
    members = [
        member(1, Event(("Ana",), "planted a tree")),
        member(2, Event(("Bo",), "watered it"), speaker="Bo"),
        member(3, Event(("Ana", "Bo"), "planted a tree", MAY, "at home")),
    ]
    frames = {repr(fold("f", "m", order)) for order in itertools.permutations(members)}
    assert len(frames) == 1
    assert fold("f", "m", members).provenance == ("p1", "p2", "p3")


@given(
    st.lists(st.tuples(st.sampled_from(["went home", "sold it", "did not go"]), st.booleans()), min_size=1, max_size=6)
)
def test_folding_never_loses_a_passage_or_a_person(told: list[tuple[str, bool]]) -> None:
    members = [member(n, Event(("Ana", "Bo") if both else ("Bo",), action)) for n, (action, both) in enumerate(told)]
    frame = fold("f", "m", members)
    assert frame.provenance == tuple(p.id for p, _ in members)
    assert frame == fold("f", "m", members[::-1])
    assert {p for e in frame.events for p in e.participants} == {
        p for _, x in members for e in x.events for p in e.participants
    }
    assert len(frame.events) <= MAX_EVENTS


def test_slots_fill_up_and_the_later_words_win() -> None:
    first = member(
        1, Event(("Ana",), "booked the trip", TimeSpan("in June", "2024-06", "2024-06"), "Tarn", causality="for fun")
    )
    later = member(2, Event(("Bo", "ana"), "booked the trip again", MAY))
    (event,) = fold("f", "m", [first, later]).events
    assert event == Event(("Bo", "ana"), "booked the trip again", MAY, "Tarn", causality="for fun")


def test_a_denial_is_another_event() -> None:
    events = fold(
        "f", "m", [member(1, Event(("Ana",), "eats meat")), member(2, Event(("Ana",), "does not eats meat"))]
    ).events
    assert len(events) == 2


def test_what_left_is_gone_from_the_summary() -> None:
    gone, kept = member(1, Event(("Ana",), "said ZQ-MARK")), member(2, Event(("Ana",), "painted the door"))
    assert "ZQ-MARK" in fold("f", "m", [gone, kept]).summary
    assert "ZQ-MARK" not in repr(fold("f", "m", [kept]))


def test_nothing_supports_no_frame() -> None:
    with pytest.raises(ValueError, match="provenance"):
        fold("f", "m", [])
    assert fold("f", "m", [member(1, Event((), "rained"))]) == Frame(
        "f", "m", ("p1",), "rained.", (Event((), "rained"),)
    )
