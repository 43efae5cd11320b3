"""Who said what: every version is kept in its extraction, the later one holds."""

from __future__ import annotations

from collections.abc import Sequence

from seem.types import Entity, Event, Extraction, Fact, Passage, StoredFact, TimeSpan
from seem.write.fold import fold
from seem.write.versions import fact_versions, versions, wording

JUNE, JULY = TimeSpan("in June", "2024-06", "2024-06"), TimeSpan("in July", "2024-07", "2024-07")


def told(*events: Event) -> tuple[dict[str, Passage], dict[str, Extraction]]:
    passages = {f"p{n}": Passage(f"p{n}", "m", "text", position=n, speaker="Ana") for n in range(len(events))}
    return passages, {f"p{n}": Extraction(f"p{n}", (event,)) for n, event in enumerate(events)}


def said(events: Sequence[Event], slot: str) -> list[tuple[str, object, bool]]:
    passages, extractions = told(*events)
    frame = fold("f", "m", [(passages[p], extractions[p]) for p in passages])
    (event,) = versions(frame, passages, extractions)
    assert event.event == frame.events[0]
    return [(v.passage.id, v.value, v.holds) for v in event.slots.get(slot, ())]


def test_the_later_words_hold_and_the_earlier_ones_are_told() -> None:
    events = [
        Event(("Ana",), "sold the old piano for 340 crowns", JUNE, "Tarn"),
        Event(("Bo", "Ana"), "sold the piano for 360 crowns", JULY),
    ]
    assert said(events, "time") == [("p0", JUNE, False), ("p1", JULY, True)]
    assert said(events, "action") == [("p0", events[0].action, False), ("p1", events[1].action, True)]
    assert said(events, "location") == [("p0", "Tarn", True)]
    assert said(events, "participants") == [("p0", ("Ana",), True), ("p1", ("Bo", "Ana"), True)]
    assert said(events, "causality") == []


def test_words_that_say_less_replace_nothing() -> None:
    events = [
        Event(("Ana",), "sold the old piano", JUNE),
        Event(("Ana",), "sold the piano", TimeSpan("that day")),
    ]
    assert said(events, "action") == [("p0", "sold the old piano", True), ("p1", "sold the piano", False)]
    assert said(events, "time") == [("p0", JUNE, True), ("p1", TimeSpan("that day"), False)]


def test_a_fact_is_shown_in_the_words_of_each_source() -> None:
    entities = {"e1": Entity("e1", "m", "Dr. Ana Lima", ("Ana",)), "e2": Entity("e2", "m", "Tartu")}
    first, second = Fact("Dr. Ana Lima", "lives in", "Tartu"), Fact("Ana", "Lives  in", "Tartu")
    other = Fact("Ana", "lives in", "Narva")
    fact = StoredFact("k", "m", first, "e1", "e2", ("p0", "p1"), invalid_at="2024-05")
    passages = {p: Passage(p, "m", "x") for p in ("p0", "p1")}
    extractions = {"p0": Extraction("p0", facts=(first,)), "p1": Extraction("p1", facts=(other, second))}
    assert [(v.passage.id, v.value, v.holds) for v in fact_versions(fact, passages, extractions, entities)] == [
        ("p0", first, False),
        ("p1", second, False),
    ]
    assert wording(fact, [other], entities) is None
