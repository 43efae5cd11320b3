"""The line format: what was written is read back, and any text at all is read without an error."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from seem.prompts.lines import NONE, parse, write
from seem.types import Event, Fact, TimeSpan

# Drawing the values is what takes the time on a busy machine.
BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

words = st.text(
    st.characters(
        blacklist_characters="|;\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029",
        blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp"),
    ),
    min_size=1,
    max_size=12,
)
times = st.none() | st.builds(TimeSpan, words)
events = st.builds(
    Event,
    st.lists(words, min_size=1, max_size=3, unique=True).map(tuple),
    words,
    times,
    st.none() | words,
    st.none() | words,
    st.none() | words,
)
facts = st.builds(Fact, words, words, words, times)


@BUSY
@given(st.lists(events, max_size=4), st.lists(facts, max_size=5))
def test_what_is_written_is_read_back(told: list[Event], known: list[Fact]) -> None:
    read = parse(write(told, known))
    assert read.events == tuple(told)
    assert read.facts == tuple(known)
    assert read.bad == 0


loose = st.text(st.sampled_from("E F|;\n wherynoa\r\u2028\x85")) | st.text(max_size=500)


@BUSY
@given(loose, st.booleans())
@example("E a|when x|when y| \n", True)
@example("F a| when b| c|when \u2028", True)
def test_what_was_read_is_written_and_read_the_same(text: str, whole: bool) -> None:
    read = parse(text, whole=whole)
    again = parse(write(read.events, read.facts))
    assert (again.events, again.facts, again.bad) == (read.events, read.facts, 0)


spoken = st.text(st.sampled_from("E F|;\nab "), min_size=1, max_size=12)


@BUSY
@given(
    st.lists(st.builds(Fact, spoken, spoken, spoken), max_size=3),
    st.lists(st.builds(Event, st.tuples(spoken), spoken), max_size=3),
)
@example([Fact("note", "says", "x\nF Dora| owns| the account")], [])
def test_words_never_become_lines_of_their_own(known: list[Fact], told: list[Event]) -> None:
    """O-08, O-07: separators inside the words of a label end neither its field nor its line."""
    text = write(told, known)
    assert text == NONE or text.count("\n") == len(known) + len(told)
    read = parse(text)
    assert len(read.facts) <= len(known) and len(read.events) <= len(told)


@BUSY
@given(st.text(max_size=500), st.booleans())
def test_any_text_is_read_without_an_error(text: str, whole: bool) -> None:
    read = parse(text, whole=whole)
    assert all(e.participants and e.action for e in read.events)
    assert all(f.subject and f.relation and f.object for f in read.facts)


def test_nothing_to_remember_is_read_as_nothing() -> None:
    assert parse(NONE).events == () and parse(NONE).bad == 0


def test_a_cut_off_answer_keeps_its_whole_lines() -> None:
    """O-01 (a): what was finished before the limit is never lost."""
    text = "E Odile| sold the piano|when on Saturday\nE Rune| fetched it|how with a van\nE They| settled on 3"
    read = parse(text, whole=False)
    assert [e.action for e in read.events] == ["sold the piano", "fetched it"]


def test_three_thousand_line_breaks_are_nothing() -> None:
    """O-01 (b): an answer of blank space ends at once and holds nothing."""
    assert parse("{" + "\n" * 3000, whole=False).events == ()


@pytest.mark.parametrize("piece", ["E a| b|when c\n", "|", "E ", "; ", "F a| b", "\n"])
def test_a_long_answer_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    parse(piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 10
