"""The line format: what was written is read back, and any text at all is read without an error."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seem.prompts.lines import NONE, parse, write
from seem.types import Event, Fact, TimeSpan

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


@given(st.lists(events, max_size=4), st.lists(facts, max_size=5))
def test_what_is_written_is_read_back(told: list[Event], known: list[Fact]) -> None:
    read = parse(write(told, known))
    assert read.events == tuple(told)
    assert read.facts == tuple(known)
    assert read.bad == 0


@given(st.text(max_size=500), st.booleans())
def test_any_text_is_read_without_an_error(text: str, whole: bool) -> None:
    read = parse(text, whole=whole)
    assert all(e.participants and e.action for e in read.events)
    assert all(f.subject and f.relation and f.object for f in read.facts)


def test_nothing_to_remember_is_read_as_nothing() -> None:
    assert parse(NONE).events == () and parse(NONE).bad == 0


def test_a_cut_off_answer_keeps_its_whole_lines() -> None:
    text = "E Odile| sold the piano|when on Saturday\nE Rune| fetched it|how with a van\nE They| settled on 3"
    read = parse(text, whole=False)
    assert [e.action for e in read.events] == ["sold the piano", "fetched it"]


def test_three_thousand_line_breaks_are_nothing() -> None:
    assert parse("{" + "\n" * 3000, whole=False).events == ()
