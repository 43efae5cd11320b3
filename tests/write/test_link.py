"""Which names mean one node, and which facts are one fact."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seem.types import Entity, Fact, Passage, StoredFact, TimeSpan
from seem.write.link import Linker, entity_key, fact_key, merge_facts


def linker(*stored: Entity) -> Linker:
    numbers = itertools.count(1)
    return Linker("m", stored, lambda kind: f"{kind}_{next(numbers)}", lambda name: None)


def nodes(*names: str) -> int:
    link = linker()
    return len({link.entity(name) for name in names})


@pytest.mark.parametrize("order", list(itertools.permutations(["Dr. Ingrid Solheim", "Ingrid", "Solheim"])))
def test_title_first_and_last_name_are_one_person(order: tuple[str, ...]) -> None:
    if order[0] == "Dr. Ingrid Solheim" or order[1] == "Dr. Ingrid Solheim":
        assert nodes(*order) == 1
    else:
        # The full name came last and fits two nodes: who it is remains open.
        assert nodes(*order) == 3


def test_two_people_of_one_first_name_stay_two() -> None:
    assert nodes("Ana Lima", "Ana Kask", "Ana") == 3
    assert nodes("Ana", "Ana Lima", "Ana Kask") == 2
    assert nodes("Marit Oja", "Marta Oja") == 2


def test_a_widened_entity_keeps_every_form() -> None:
    link = linker(Entity("e_0", "m", "Ingrid"))
    assert link.entity("Dr. Ingrid Solheim") == link.entity("Solheim") == "e_0"
    assert link.changed["e_0"].aliases == ("Dr. Ingrid Solheim", "Solheim")
    assert link.added == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Zoë Müller", "Zoe\u0308 Mu\u0308ller"),
        ("K2", "Ｋ２"),
        ("한빛 상사", "한빛상사"),
        ("Ingrid", "In\u200bgrid"),
        ("the piano", "Piano"),
        ("Ana's", "Ana"),
        ("Straße", "STRASSE"),
    ],
)
def test_same_letters_in_other_bytes_are_one_node(one: str, other: str) -> None:
    assert nodes(one, other) == 1


def test_one_letter_apart_is_another_person() -> None:
    assert nodes("김하준", "김하진") == 2
    assert nodes("K2", "K3") == 2


@given(st.text(min_size=1, max_size=20))
def test_a_node_never_has_an_empty_key(name: str) -> None:
    link = linker()
    if link.entity(name) is not None:
        assert entity_key(name)
        assert link.entity(name) == link.entity(name)


def test_words_that_name_nobody_are_no_node() -> None:
    assert [linker().entity(name) for name in ("she", "...", "", "I", "they")] == [None] * 5


def test_a_fact_told_twice_is_one_fact_with_two_sources() -> None:
    when = datetime(2024, 5, 6, tzinfo=UTC)
    known: dict[tuple[str, str, str, str], StoredFact] = {}
    numbers = itertools.count(1)
    for passage_id, relation in (("p1", "lives in"), ("p2", "Lives  in"), ("p2", "lives in")):
        told = [(Fact("Ana", relation, "Tartu"), "e_1", "e_2")]
        merge_facts("m", Passage(passage_id, "m", "x", time=when), told, known, lambda kind: f"{kind}_{next(numbers)}")
    (fact,) = known.values()
    assert (fact.provenance, fact.valid_at) == (("p1", "p2"), "2024-05-06")
    later = Fact("Ana", "lives in", "Tartu", TimeSpan("since May", "2024-05", None))
    assert fact_key("e_1", later, "e_2") not in known


def test_what_ended_and_is_said_again_is_another_fact() -> None:
    told = [(Fact("Ana", "lives in", "Tartu"), "e_1", "e_2")]
    numbers = itertools.count(1)
    known: dict[tuple[str, str, str, str], StoredFact] = {}
    for day, ended in (("2024-01-01", "2024-05-01"), ("2024-02-01", None), ("2025-01-01", None)):
        said = Passage(f"p{day}", "m", "x", time=datetime.fromisoformat(f"{day}T10:00+00:00"))
        (fact,) = merge_facts("m", said, told, known, lambda kind: f"{kind}_{next(numbers)}")
        known = {key: replace(value, invalid_at=ended or value.invalid_at) for key, value in known.items()}
    assert (fact.provenance, fact.valid_at) == (("p2025-01-01",), "2025-01-01")
