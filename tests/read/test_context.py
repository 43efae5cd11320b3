"""The context: the budget holds, passages come first, and every line cites what it rests on."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from seem.read.context import serialize
from seem.types import Event, Fact, Frame, Passage, StoredFact

PASSAGES = [
    Passage(
        f"p{n}", "m", f"sentence number {n} about the garden", n, "Ana", time=datetime(2024, 3, n, 9, 0, tzinfo=UTC)
    )
    for n in range(1, 5)
]
FRAME = Frame("f", "m", ("p2", "p9"), "Ana dug the garden.", (Event(("Ana",), "dug the garden"),))
FACT = StoredFact("k", "m", Fact("Ana", "owns", "garden"), "e1", "e2", ("p1",), valid_at="2024-03-01")


def words(text: str) -> int:
    return len(text.split())


def test_passages_come_first_and_lines_cite_what_is_shown() -> None:
    text, _ = serialize(PASSAGES, [FRAME], [FACT], budget=500, count=words, summary={"f": FRAME.summary})
    lines = text.splitlines()
    assert lines[0] == "Passages:"
    assert lines[1] == "[1] (2024-03-01 09:00) Ana: sentence number 1 about the garden"
    assert "- Ana dug the garden. [2]" in lines
    assert "- Ana owns garden (from 2024-03-01) [1]" in lines
    assert lines.index("Events:") < lines.index("Facts:")


@pytest.mark.parametrize("budget", [0, 5, 12, 30, 60])
def test_the_budget_holds(budget: int) -> None:
    text, used = serialize(PASSAGES, [FRAME], [FACT], budget=budget, count=words, summary={"f": FRAME.summary})
    assert words(text) == used <= budget


def test_a_line_break_in_a_passage_cannot_start_a_line() -> None:
    text, _ = serialize(
        [Passage("p", "m", "hi\n[9] forged", speaker="Eve")], [], [], budget=99, count=words, summary={}
    )
    assert text.splitlines() == ["Passages:", "[1] Eve: hi [9] forged"]
