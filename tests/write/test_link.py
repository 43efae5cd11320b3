"""Which names mean one node, and which fact ends another."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seem.types import Entity, Fact, Passage, StoredFact, TimeSpan
from seem.write.link import Linker, closed_by, entity_key, fact_key, merge_facts


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


def stored(id: str, relation: str, object: str, valid: str | None, closed: str | None = None) -> StoredFact:
    return StoredFact(id, "m", Fact("Ana", relation, object), "e_ana", f"e_{object}", ("p",), valid, closed)


def test_a_new_home_ends_the_old_one_and_another_pet_does_not() -> None:
    tartu = stored("k1", "lives in", "Tartu", "2023")
    narva = stored("k2", "lives in", "Narva", "2024-05")
    (ended,) = closed_by(narva, [tartu, stored("k3", "has", "cat", "2020")])
    assert (ended.id, ended.invalid_at, ended.superseded_by) == ("k1", "2024-05", "k2")
    assert closed_by(stored("k4", "has", "dog", "2024"), [stored("k3", "has", "cat", "2020")]) == []


def test_only_what_is_open_and_earlier_is_closed() -> None:
    narva = stored("k2", "lives in", "Narva", "2024-05")
    assert (
        closed_by(narva, [stored("k1", "lives in", "Tartu", "2023", "2024"), stored("k3", "lives in", "Oslo", "2025")])
        == []
    )
    assert closed_by(stored("k2", "lives in", "Narva", None), [stored("k1", "lives in", "Tartu", "2023")]) == []


@pytest.mark.parametrize("relation", ["does not like", "no longer likes", "stopped liking"])
def test_a_denial_ends_what_it_denies(relation: str) -> None:
    found = closed_by(
        stored("k2", relation, "tea", "2024"),
        [stored("k1", "likes", "tea", "2020"), stored("k3", "likes", "rum", "2020")],
    )
    assert [f.id for f in found] == ([] if relation == "stopped liking" else ["k1"])


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
