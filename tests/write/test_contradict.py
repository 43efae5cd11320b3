"""Which fact ends which: the same in every order, never by a plan, a question or something else."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seem.types import Fact, Passage, StoredFact
from seem.write.contradict import asserted, reopened, settle, told_by

# What is said on which day of 2024: subject, relation, object, and the words.
Saying = tuple[str, str, str, str]


def learnt(*said: tuple[str, Saying], order: Sequence[int] | None = None) -> dict[str, StoredFact]:
    """Give the facts by object and day, as a memory settles them one by one."""
    known: dict[str, StoredFact] = {}
    passages: dict[str, Passage] = {}
    for n in order or range(len(said)):
        day, (subject, relation, object_, text) = said[n]
        passages[f"p{n}"] = Passage(f"p{n}", "m", text)
        fact = StoredFact(
            f"k{n}",
            "m",
            Fact(subject, relation, object_),
            f"e_{subject}",
            f"e_{object_}",
            (f"p{n}",),
            valid_at=day,
            created_at=datetime(2024, 1, 1 + n, tzinfo=UTC),
        )
        known[fact.id] = fact
        known |= {f.id: f for f in settle(fact, list(known.values()), told_by(passages))}
    return known


def closed(facts: Mapping[str, StoredFact]) -> dict[str, tuple[str | None, str | None]]:
    return {i: (f.invalid_at, f.superseded_by) for i, f in facts.items() if f.invalid_at is not None}


TARTU: Saying = ("Ana", "lives in", "Tartu", "I live in Tartu.")
NARVA: Saying = ("Ana", "moved to", "Narva", "I moved to Narva!")
RIGA: Saying = ("Ana", "lives in", "Riga", "I live in Riga now.")


@pytest.mark.parametrize(
    ("first", "second", "open_"),
    [
        ([TARTU], [NARVA], {"k1"}),
        (
            [("Ana", "is on", "Heron", "I am on project Heron.")],
            [
                ("Ana", "is off", "Heron", "I'm off Heron, now on Lark."),
                ("Ana", "is on", "Lark", "I'm off Heron, now on Lark."),
            ],
            {"k1", "k2"},
        ),
        (
            [("Ana", "adores", "coriander", "I adore coriander.")],
            [("Ana", "cannot stand", "coriander", "I cannot stand coriander any more.")],
            {"k1"},
        ),
        (
            [("Ana", "takes", "the 7:10 train", "I take the 7:10 train.")],
            [("Ana", "no longer takes", "the 7:10 train", "I no longer take the 7:10 train.")],
            {"k1"},
        ),
        (
            [("Ana", "works at", "Lark Ltd", "I work at Lark Ltd.")],
            [("Ana", "quit", "Lark Ltd", "I quit Lark Ltd.")],
            {"k1"},
        ),
        (
            [("Ana", "smokes", "a pipe", "I smoke a pipe.")],
            [("Ana", "stopped smoking", "a pipe", "I stopped smoking a pipe.")],
            {"k1"},
        ),
    ],
)
def test_every_kind_of_change_closes_the_old_fact_on_its_day(
    first: list[Saying], second: list[Saying], open_: set[str]
) -> None:
    """O-19."""
    told = [*(("2024-01-02", s) for s in first), *(("2024-02-02", s) for s in second)]
    facts = learnt(*told)
    assert closed(facts)["k0"][0] == "2024-02-02"
    assert facts.keys() - closed(facts).keys() == open_
    assert facts["k0"].expired_at is not None


@pytest.mark.parametrize(
    "second",
    [
        ("Petra", "keeps", "the Harbour Choir", "Petra also keeps the Harbour Choir's accounts and lent it her van."),
        ("Petra", "lent her van to", "the Harbour Choir", "Petra also lent the Harbour Choir her van."),
        ("Bo", "no longer conducts", "the Harbour Choir", "Bo no longer conducts the Harbour Choir."),
        ("Petra", "no longer conducts", "the Mill Band", "Petra no longer conducts the Mill Band."),
        ("Petra", "did not conduct", "the Harbour Choir", "Petra did not conduct the Harbour Choir."),
        ("Petra", "does not conduct", "the Harbour Choir", "Petra does not conduct the Harbour Choir on Fridays."),
        ("Petra", "wants to leave", "the Harbour Choir", "Petra wants to leave the Harbour Choir."),
        (
            "Petra",
            "no longer conducts",
            "the Harbour Choir",
            "If Petra no longer conducts the Harbour Choir, we close.",
        ),
        ("Petra", "no longer conducts", "the Harbour Choir", "Does Petra no longer conduct the Harbour Choir?"),
    ],
)
def test_nothing_else_closes_a_fact(second: Saying) -> None:
    """O-18."""
    first: Saying = ("Petra", "conducts", "the Harbour Choir", "Petra conducts the Harbour Choir.")
    assert closed(learnt(("2024-01-02", first), ("2024-02-02", second))) == {}


@pytest.mark.parametrize(
    ("relation", "object_", "text"),
    [
        ("lives in", "Narva", "If I lived in Narva, I would fish."),
        ("moved to", "Narva", "I might have moved to Narva by then."),
        ("plans to move to", "Narva", "I plan to move to Narva."),
        ("moved to", "Narva", "I dream that I moved to Narva."),
        ("lives in", "Narva", "I never lived in Narva."),
        ("lives in", "Narva", "I also live in Narva, on weekends."),
        ("lives in", "a flat", "I live in a flat."),
        ("moved to", "the front row", "I moved to the front row."),
        ("moved to", "Thursday", "We moved to Thursday."),
        ("visited", "Narva", "I visited Narva."),
    ],
)
def test_a_home_is_not_lost_to_a_plan_a_dream_or_another_kind_of_thing(relation: str, object_: str, text: str) -> None:
    assert closed(learnt(("2024-01-02", TARTU), ("2024-02-02", ("Ana", relation, object_, text)))) == {}


def test_a_prohibition_stands_and_an_end_may_begin_again() -> None:
    never: Saying = ("Biscuit", "never gets", "grapes", "Never give Biscuit grapes.")
    gets: Saying = ("Biscuit", "gets", "grapes", "Biscuit gets grapes.")
    assert closed(learnt(("2024-01-02", never), ("2024-02-02", gets))) == {}
    assert closed(learnt(("2024-01-02", gets), ("2024-02-02", never))) == {"k0": ("2024-02-02", "k1")}
    off: Saying = ("Ana", "no longer takes", "tea", "I no longer take tea.")
    again: Saying = ("Ana", "takes", "tea", "I take tea again.")
    assert closed(learnt(("2024-01-02", off), ("2024-02-02", again))) == {"k0": ("2024-02-02", "k1")}


def test_another_value_closes_only_from_a_later_day() -> None:
    assert closed(learnt(("2024-01-02", TARTU), ("2024-01-02", RIGA))) == {}
    ended: Saying = ("Ana", "no longer lives in", "Tartu", "I no longer live in Tartu.")
    assert closed(learnt(("2024-01-02", TARTU), ("2024-01-02", ended))) == {"k0": ("2024-01-02", "k1")}


@given(st.permutations(range(4)), st.lists(st.sampled_from([TARTU, NARVA, RIGA]), min_size=4, max_size=4))
def test_the_order_of_arrival_changes_nothing(order: list[int], sayings: list[Saying]) -> None:
    told = [(f"2024-0{n + 1}-02", saying) for n, saying in enumerate(sayings)]
    assert closed(learnt(*told, order=order)) == closed(learnt(*told))


def test_what_was_closed_is_open_again_or_closed_by_the_next() -> None:
    facts = learnt(("2024-01-02", TARTU), ("2024-02-02", NARVA), ("2024-03-02", RIGA))
    assert closed(facts) == {"k0": ("2024-02-02", "k1"), "k1": ("2024-03-02", "k2")}
    sure = told_by({f"p{n}": Passage(f"p{n}", "m", s[3]) for n, s in enumerate((TARTU, NARVA, RIGA))})
    next_ = reopened(facts["k0"], [facts["k0"], facts["k2"]], sure)
    assert (next_.invalid_at, next_.superseded_by) == ("2024-03-02", "k2")
    alone = reopened(facts["k0"], [facts["k0"]], sure)
    assert (alone.invalid_at, alone.expired_at, alone.superseded_by) == (None, None, None)


def test_a_fact_is_sure_where_one_clause_says_it() -> None:
    fact = Fact("Ana", "moved to", "Narva")
    for text, sure in (
        ("I moved to Narva, and I might get a cat.", True),
        ("Would you believe it? I moved to Narva.", True),
        ("I hope that Ana moved to Narva.", False),
        ("Has Ana moved to Narva?", False),
        ("", True),
    ):
        assert asserted(fact, text) is sure, text
    assert not any(
        asserted(Fact("Ana", r, "Narva"), "") for r in ("may move to", "wants to live in", "used to live in")
    )


def test_permutations_of_three_homes_agree() -> None:
    told = [("2024-01-02", TARTU), ("2024-02-02", NARVA), ("2024-03-02", RIGA)]
    results = {repr(sorted(closed(learnt(*told, order=order)).items())) for order in itertools.permutations(range(3))}
    assert len(results) == 1
