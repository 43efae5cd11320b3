"""Pronouns and possessives as names, by code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seem.write.names import in_third_person, is_pronoun, possessive, trim, without_article


@pytest.mark.parametrize(
    ("words", "listeners", "right"),
    [
        ("I", [], "Ana"),
        ("I’m", [], "Ana"),
        ("myself", ["Bo"], "Ana"),
        ("my brother", [], "Ana's brother"),
        ("Our house.", [], "Ana's house"),
        ("you", ["Bo"], "Bo"),
        ("your van", ["Bo"], "Bo's van"),
        ("your van", ["James"], "James' van"),
        ("you", ["Bo", "Cai"], "you"),
        ("you", [], "you"),
        ("she", ["Bo"], "she"),
        ("Mylene", [], "Mylene"),
        ("young Bo", ["Bo"], "young Bo"),
    ],
)
def test_who_is_meant(words: str, listeners: list[str], right: str) -> None:
    assert in_third_person(words, "Ana", listeners) == right


def test_open_pronouns_name_nobody() -> None:
    assert all(is_pronoun(word) for word in ("she", "They", "it", "I", "you", "everyone", "I’m"))
    assert not any(is_pronoun(word) for word in ("Ana", "Shea", "itinerary", "US"[:1] + "SA"))


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (" «x», ", "«x»"),
        ("(the otter)", "the otter"),
        ("Leila (my sister)", "Leila (my sister)"),
        ("f(x)).", "f(x)"),
        ("'Ana'!", "Ana"),
        ("...", ""),
    ],
)
def test_edges_are_trimmed_and_a_closing_mark_that_belongs_stays(words: str, right: str) -> None:
    assert trim(words) == right


@given(st.text(max_size=30))
def test_trimming_is_total(words: str) -> None:
    assert trim(words) in words + ")"
    in_third_person(words, "Ana", ["Bo"])


def test_small_forms() -> None:
    assert (possessive("Ana"), possessive("James")) == ("Ana's", "James'")
    assert [without_article(w) for w in ("the piano", "A dog", "those", "theatre")] == [
        "piano",
        "dog",
        "those",
        "theatre",
    ]
