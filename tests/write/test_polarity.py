"""A denial is never lost, and never invented."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seem.write.polarity import denies, is_negated, with_negation


@pytest.mark.parametrize(
    ("text", "hard", "weak"),
    [
        ("I don't eat meat", True, True),
        ("I don’t eat meat", True, True),
        ("he never called", True, True),
        ("no longer at the school", True, True),
        ("nobody came", True, True),
        ("without walnuts", False, True),
        ("stopped smoking", False, True),
        ("I know a knot", False, False),
        ("another note", False, False),
        ("", False, False),
    ],
)
def test_cues(text: str, hard: bool, weak: bool) -> None:
    assert (is_negated(text), denies(text)) == (hard, weak)


@pytest.mark.parametrize(
    ("source", "span", "right"),
    [
        ("I don't eat meat", "eat meat", "don't eat meat"),
        ("I do not really want you to eat meat", "eat meat", "eat meat"),
        ("I never go, but I eat meat", "eat meat", "eat meat"),
        ("I was not late because I ran home", "ran home", "ran home"),
        ("I am not allergic to nuts", "allergic to nuts", "not allergic to nuts"),
        ("I am allergic to nuts", "allergic to nuts", "allergic to nuts"),
        ("I don't eat meat", "don't eat meat", "don't eat meat"),
        ("I don't eat meat", "somewhere else", "somewhere else"),
    ],
)
def test_a_span_takes_its_denial_along(source: str, span: str, right: str) -> None:
    assert with_negation(source, span) == right


@given(st.text(max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_the_result_is_always_words_of_the_source(source: str, start: int, length: int) -> None:
    span = source[start : start + length]
    told = with_negation(source, span)
    assert told in source
    assert told.endswith(span)
