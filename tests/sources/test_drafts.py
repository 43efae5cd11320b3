"""Loose fields to drafts: times, characters, keys, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seem.sources.drafts import Defaults, Problem, parse_time, storable, to_drafts
from seem.store.batch import Draft

PLAIN = Defaults()


def _drafts(*messages: Any, defaults: Defaults = PLAIN) -> tuple[list[Draft], list[Problem]]:
    problems: list[Problem] = []
    return list(to_drafts(enumerate(messages, 1), problems, defaults)), problems


@pytest.mark.parametrize(
    ("told", "expected", "assumed"),
    [
        ("2024-03-15T23:40-07:00", datetime(2024, 3, 15, 23, 40, tzinfo=timezone(timedelta(hours=-7))), False),
        ("2024-03-15T12:00:00Z", datetime(2024, 3, 15, 12, tzinfo=UTC), False),
        ("2024-05-02 09:00", datetime(2024, 5, 2, 9, tzinfo=ZoneInfo("Europe/Rome")), True),
        ("2024-05-02", datetime(2024, 5, 2, tzinfo=ZoneInfo("Europe/Rome")), True),
        (1710501600, datetime(2024, 3, 15, 11, 20, tzinfo=UTC), False),
        (1710501600000, datetime(2024, 3, 15, 11, 20, tzinfo=UTC), False),
        ("1710501600.5", datetime(2024, 3, 15, 11, 20, 0, 500000, tzinfo=UTC), False),
    ],
)
def test_times_are_aware_and_tell_an_assumed_zone(told: Any, expected: datetime, assumed: bool) -> None:
    """O-11: the offset is kept, a missing one is assumed and recorded."""
    time, was_assumed = parse_time(told, ZoneInfo("Europe/Rome"))
    assert (time, time.utcoffset(), was_assumed) == (expected, expected.utcoffset(), assumed)
    drafts, _ = _drafts({"text": "x", "time": told})
    assert drafts[0].metadata.get("zone_assumed", False) is assumed


@pytest.mark.parametrize("told", ["yesterday", "", float("nan"), 1e300, True, [2024], "0001-01-01T00:00+14:00"])
def test_what_is_no_time_is_told(told: Any) -> None:
    with pytest.raises(ValueError, match="^time "):
        parse_time(told, UTC)


def test_half_an_emoji_is_replaced_and_the_rest_kept_byte_for_byte() -> None:
    """O-05: one bad character harms nothing else."""
    family = "👨‍👩‍👧 🇪🇪"
    drafts, problems = _drafts(
        {"text": "Party was great \ud83d bye", "name": "A\udc00", "metadata": {"k\ud83d": ["v\x00"]}},
        {"text": family},
    )
    assert drafts[0].text == "Party was great \ufffd bye"
    assert (drafts[0].speaker, drafts[0].metadata) == ("A\ufffd", {"k\ufffd": ["v\ufffd"]})
    assert drafts[1].text == family and problems == []


@given(st.text(alphabet=st.characters()))
def test_storable_text_encodes_and_is_a_fixed_point(text: str) -> None:
    once = storable(text)
    assert once.encode().decode() == once == storable(once)
    assert len(once) == len(text)


def test_a_malformed_message_loses_only_itself() -> None:
    wrong: list[Any] = [
        {"text": "  "},
        {"content": None},
        {"text": 5},
        "words",
        {"text": "x", "readers": []},
        {"text": "x", "readers": "ann"},
        {"text": "x", "metadata": [1]},
        {"text": "x", "speaker": {"a": 1}},
        {"text": "x", "time": "soon"},
    ]
    drafts, problems = _drafts(*wrong, {"text": "kept"})
    assert [draft.text for draft in drafts] == ["kept"]
    assert [problem.line for problem in problems] == list(range(1, 10))
    assert problems[0].why == "the text is empty" and "leave it out for everyone" in problems[4].why


def test_equal_sentences_are_two_passages_and_a_repeat_gives_the_same_keys() -> None:
    request = [{"text": "ok"}, {"text": "ok"}, {"text": "no"}]
    first, _ = _drafts(*request)
    again, _ = _drafts(*request)
    assert len({draft.key for draft in first}) == 3
    assert [draft.key for draft in first] == [draft.key for draft in again]


@pytest.mark.parametrize(
    "change", [{"session": "S2"}, {"speaker": "Bo"}, {"time": "2024-01-01T00:00Z"}, {"image": "cat"}]
)
def test_the_key_depends_on_what_was_said_where_when_by_whom(change: Mapping[str, str]) -> None:
    drafts, _ = _drafts({"text": "ok"}, {"text": "ok", **change})
    assert drafts[0].key != drafts[1].key


def test_the_same_moment_in_two_zones_is_one_key() -> None:
    (here,), _ = _drafts({"text": "ok", "time": "2024-01-01T01:00+01:00"})
    (there,), _ = _drafts({"text": "ok", "time": "2024-01-01T00:00Z"})
    assert here.key == there.key


def test_an_own_id_is_the_key_and_may_not_mean_two_texts() -> None:
    drafts, problems = _drafts({"id": 7, "text": "a"}, {"id": "7", "text": "a"}, {"id": "7", "text": "b"})
    assert [draft.key for draft in drafts] == ["7", "7"]
    assert problems == [Problem(3, "the id '7' was given before, to another text")]


def test_defaults_serve_those_that_do_not_say() -> None:
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    defaults = Defaults(session="S", time=noon, readers=("ann",), metadata={"a": 1, "b": 1}, infer=False)
    (draft,), _ = _drafts({"text": "x", "metadata": {"b": 2}}, defaults=defaults)
    assert (draft.session, draft.time, draft.readers, draft.infer) == ("S", noon, ("ann",), False)
    assert draft.metadata == {"a": 1, "b": 2}
