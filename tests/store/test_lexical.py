"""Word search: literal finds, any alphabet, no query syntax (O-30), no trace of what may not be read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seem.store.lexical import LexicalIndex
from seem.store.words import tokens


def index_of(docs: dict[str, str]) -> LexicalIndex:
    index = LexicalIndex()
    for item_id, text in docs.items():
        index.add(item_id, text)
    return index


def ids(index: LexicalIndex, query: str, k: int = 10) -> list[str]:
    return [item_id for item_id, _ in index.search(query, k)]


PUNCTUATED = {
    "booked": "The window seat is pre-booked.",
    "seven": "At T-7 the valves open; a t-shirt cost 7.",
    "dont": "Please don\u2019t wake Nils.",
    "cpp": "She writes C++ all day.",
    "all": "He gave 100% of it.",
    "tea": "Then \u2615 and a biscuit.",
    "plain": "Seven shirts, a hundred books and the letter C.",
}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("don't wake Nils", "dont"),
        ("DON\u2019T", "dont"),
        ('pre-booked "window', "booked"),
        ("prebooked OR booking", "booked"),
        ("name:Biscuit*", "tea"),
        ("T-7", "seven"),
        ("100%", "all"),
        ("C++", "cpp"),
        ("\u2615", "tea"),
        ("writing", "cpp"),
        ("NEAR(valve, 3)", "seven"),
    ],
)
def test_punctuation_is_text_not_syntax(query: str, first: str) -> None:
    assert ids(index_of(PUNCTUATED), query)[0] == first


@pytest.mark.parametrize("query", ["", " ", "(", "...", "\"'*-", "\u2014", "\u200b", "!?()[]{}^~\\"])
def test_punctuation_alone_finds_nothing(query: str) -> None:
    assert index_of(PUNCTUATED).search(query, 5) == []
    assert LexicalIndex().search(query, 5) == []


def test_stop_words_count_only_alone() -> None:
    index = index_of({"a": "To be or not to be", "b": "The cat and the dog"})
    assert ids(index, "and the") == ["b"]
    assert ids(index, "AND OR NOT") == ["a"]
    assert ids(index, "the cats") == ["b"]
    assert ids(index, "to the moon") == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Zoe\u0308 Mu\u0308ller", "Zo\u00eb M\u00fcller plays the oboe."),
        ("Zo\u00eb", "Zoe\u0308 plays."),
        ("K2", "They climbed \uff2b\uff12."),
        ("\ud55c\ube5b\uc0c1\uc0ac", "\ud55c\ube5b \uc0c1\uc0ac\uc5d0\uc11c"),
        ("\u1112\u1161\u11ab\u1107\u1175\u11be", "\ud55c\ube5b\uc0c1\uc0ac"),
        ("\u6771\u4eac", "\u79c1\u306f\u6771\u4eac\u306b\u884c\u3063\u305f\u3002"),
        ("\u732b", "\u9ed2\u3044\u732b\u304c\u3044\u308b"),
        ("\uff76\uff85", "\u30ab\u30ca\u3067\u66f8\u304f"),
        ("Ingrid", "Ing\u200brid opened the clinic."),
        ("STRASSE", "Die Stra\u00dfe"),
        (
            "\u0928\u092e\u0938\u094d\u0924\u0947",
            "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
        ),
        ("\u041c\u041e\u0421\u041a\u0412\u0410", "\u043c\u043e\u0441\u043a\u0432\u0430"),
        ("o'brien", "O\u2019Brien\u2019s bar"),
    ],
)
def test_same_letters_in_other_bytes(query: str, text: str) -> None:
    assert ids(index_of({"hit": text, "miss": "nothing of the kind"}), query) == ["hit"]


def test_two_names_of_one_syllable_apart_stay_apart() -> None:
    index = index_of({"jun": "\uae40\ud558\uc900", "jin": "\uae40\ud558\uc9c4"})
    assert ids(index, "\uae40\ud558\uc900")[0] == "jun"
    assert ids(index, "\uae40\ud558\uc9c4")[0] == "jin"


def test_tokens_are_total_and_ordered() -> None:
    assert tokens("Nils's dogs are running") == ["nil", "dog", "are", "run"]
    assert tokens("2024-05-01") == ["2024-05-01", "2024", "05", "01"]
    assert tokens("C++") == ["c++", "c"]


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_any_text_has_tokens_that_find_it(text: str) -> None:
    found = tokens(text)
    assert all(token and not token.isspace() for token in found)
    assert ids(index_of({"x": text}), text) == (["x"] if found else [])


def test_score_is_okapi_bm25() -> None:
    index = index_of({"a": "piano piano violin", "b": "piano", "c": "drum drum"})
    lengths, k1, b = {"a": 3, "b": 1}, 1.2, 0.75
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    right = {
        item_id: idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * lengths[item_id] / 2))
        for item_id, tf in (("a", 2), ("b", 1))
    }
    assert dict(index.search("piano", 5)) == pytest.approx(right)
    assert ids(index, "piano", 1) == [max(right, key=lambda item_id: right[item_id])]
    assert index.search("piano", 0) == []


def test_ties_at_the_edge_are_settled_by_id() -> None:
    index = index_of({f"i{number:02}": "same words" for number in reversed(range(30))})
    assert ids(index, "words", 3) == ["i00", "i01", "i02"]


words = st.lists(st.sampled_from("ada ben piano piano cello oak the not T-7 C++ \u6771\u4eac".split()), max_size=6).map(
    " ".join
)
documents = st.dictionaries(st.sampled_from([f"p{number}" for number in range(9)]), words)


@settings(max_examples=150, deadline=None)
@given(documents, documents, st.sets(st.sampled_from([f"p{number}" for number in range(12)])), words, st.integers(1, 6))
def test_search_among_allowed_equals_an_index_of_only_these(
    first: dict[str, str], second: dict[str, str], allowed: set[str], query: str, k: int
) -> None:
    index = index_of(first)
    index.remove(list(first)[::2])
    held = {item_id: text for item_id, text in first.items() if item_id not in list(first)[::2]} | second
    for item_id, text in second.items():
        index.add(item_id, text)
    assert len(index) == len(held)
    assert index.search(query, k) == index_of(held).search(query, k)
    readable = {item_id: text for item_id, text in held.items() if item_id in allowed}
    assert index.search(query, k, allowed) == index_of(readable).search(query, k)
