"""Filters over metadata, and whose memory is meant."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from seem.errors import InputError
from seem.filters import fields, matcher, without_ids
from seem.scope import scope
from seem.types import Passage

FIELDS: dict[str, Any] = {"mood": "good", "year": 2020, "tags": ["a", "b"], "name": "Zoë Müller", "none": None}


@pytest.mark.parametrize(
    ("filters", "right"),
    [
        (None, True),
        ({}, True),
        ({"mood": "good"}, True),
        ({"mood": "bad"}, False),
        ({"mood": "good", "year": 2021}, False),
        ({"year": {"gte": 2020, "lt": 2021}}, True),
        ({"year": {"gt": 2020}}, False),
        ({"year": {"lte": "2020"}}, False),
        ({"missing": {"gt": 1}}, False),
        ({"mood": {"ne": "bad"}}, True),
        ({"mood": {"in": ["good", "fair"]}}, True),
        ({"tags": {"in": {"a"}}}, False),
        ({"mood": {"nin": ("good",)}}, False),
        ({"mood": ["good", "bad"]}, True),
        ({"name": {"contains": "Mü"}}, True),
        ({"name": {"contains": "mü"}}, False),
        ({"name": {"icontains": "MÜ"}}, True),
        ({"year": {"contains": "20"}}, False),
        ({"mood": "*"}, True),
        ({"none": "*"}, False),
        ({"missing": "*"}, False),
        ({"AND": [{"mood": "good"}, {"year": 2020}]}, True),
        ({"OR": [{"mood": "bad"}, {"year": 2020}]}, True),
        ({"OR": []}, False),
        ({"NOT": {"mood": "good"}}, False),
        ({"NOT": [{"mood": "bad"}, {"year": 1999}]}, True),
        ({"OR": [{"AND": [{"mood": "good"}, {"NOT": {"year": 2020}}]}, {"tags": ["x", ["a", "b"]]}]}, True),
    ],
)
def test_operators(filters: dict[str, Any] | None, right: bool) -> None:
    assert matcher(filters)(FIELDS) is right


@pytest.mark.parametrize(
    "wrong",
    [{"year": {"about": 2020}}, {"AND": {"mood": "good"}}, {"OR": ["good"]}, {"NOT": "good"}, {"mood": {"in": "good"}}],
)
def test_what_is_malformed_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        matcher(wrong)


def test_a_passage_shows_its_own_attributes_before_metadata_of_the_same_name() -> None:
    when = datetime(2024, 5, 6, tzinfo=UTC)
    passage = Passage(
        "p", "m", "text", speaker="Ana", session="s", time=when, metadata={"speaker": "Bo", "mood": "good"}
    )
    assert fields(passage) == {"mood": "good", "speaker": "Ana", "session": "s", "time": when.isoformat()}


def test_the_owner_is_the_first_id_given() -> None:
    assert scope(user_id="a", agent_id="b").memory == "user_id:a"
    assert scope(agent_id="b", run_id="c").memory == "agent_id:b"
    assert scope({"run_id": "c", "mood": "good"}).memory == "run_id:c"
    assert scope({"user_id": "a"}, user_id="a").ids == {"user_id": "a"}
    assert without_ids({"user_id": "a", "mood": "good"}) == {"mood": "good"}
    for wrong in ({}, {"user_id": ""}, {"user_id": 5}, {"user_id": {"in": ["a"]}}):
        with pytest.raises(InputError):
            scope(wrong)
    with pytest.raises(InputError):
        scope({"user_id": "a"}, user_id="b")
