"""What is kept: retention by rules, the raw tier and promotion from it, and the trail of who did what."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from seem.audit import acting
from seem.config import Config, Retention, Tiers
from seem.errors import ConfigError, InputError
from seem.memory import Memory
from seem.retention import due, rules
from seem.store.batch import Draft
from seem.store.verify import verify
from seem.tiers import placed, saved, worthy
from seem.types import Passage
from tests.flows.people import MARK, NARVA, PAINTED, PLANTED, TARTU, THANKS, memory, parts, said, texts

NOW = datetime(2024, 6, 1, tzinfo=UTC)
ANA: Any = {"user_id": "ana"}


def kept(days_old: int, session: str, position: int, said_days: int | None = None) -> Passage:
    stored = NOW - timedelta(days=days_old)
    time = None if said_days is None else NOW - timedelta(days=said_days)
    return Passage(f"p_{position}", "oak", "x", position, session=session, time=time, created_at=stored)


ONES = [
    kept(100, "a", 0),
    kept(50, "a", 1),
    kept(40, "b", 2, said_days=200),
    kept(30, "tmp-1", 3),
    kept(1, "tmp-2", 4),
    kept(0, "", 5),
]


@pytest.mark.parametrize(
    ("given", "gone"),
    [
        ({"older_than": "90d"}, [0]),
        ({"older_than": "7w"}, [0, 1]),
        ({"older_than": "90d", "clock": "said"}, [0, 2]),
        ({"idle_session": "35d"}, [0, 1, 2]),
        ({"keep": 2}, [0, 1, 2, 3]),
        ({"keep": 2, "clock": "said"}, [0, 1, 2, 3]),
        ({"keep": 6}, []),
        ({"keep": 0}, [0, 1, 2, 3, 4, 5]),
        ({"keep_sessions": 1}, [0, 1, 2, 3]),
        ({"older_than": "24h", "session": "tmp-*"}, [3]),
        ({"older_than": "90d", "keep_sessions": 3}, [0, 1]),
    ],
)
def test_each_rule_lets_go_what_it_says(given: dict[str, Any], gone: list[int]) -> None:
    by_rule = due(ONES, Retention(**given), NOW)
    assert sorted({i for ids in by_rule.values() for i in ids}) == [f"p_{n}" for n in gone]


def test_rules_are_checked_and_come_from_the_configuration_where_none_is_given() -> None:
    configured = Retention(older_than="90d", keep=5)
    assert rules(configured, {"keep": None}) == configured
    assert rules(configured, {"session": "tmp-*"}) == Retention(older_than="90d", keep=5, session="tmp-*")
    assert rules(configured, {"keep": 7}) == Retention(keep=7)
    for wrong in ({}, {"clock": "said"}, {"age": 3}, {"keep": -1}, {"keep": True}, {"keep": 1, "clock": "sun"}):
        with pytest.raises(InputError):
            rules(Retention(), wrong)
    with pytest.raises(InputError, match="90 days"):
        due(ONES, Retention(older_than="90 days"), NOW)
    with pytest.raises(ConfigError, match="older_than"):
        Config.from_dict({"retention": {"older_than": "soon"}})


def test_retention_erases_what_is_due_in_every_memory_with_one_receipt(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        for user in ("ana", "bo"):
            opened.add(said(TARTU, PLANTED, NARVA), user_id=user)
        opened.add(said(PAINTED), user_id="cy")
        told = opened.retain(keep=2, dry_run=True)
        assert (told["due"], told["receipt"], told["rules"]["user_id:ana"]) == (2, None, {"keep": 1})
        assert len(opened.get_all(**ANA)["results"]) == 3
        told = opened.retain(keep=2)
        assert [gone["memory"] for gone in told["receipt"]["memories"]] == ["user_id:ana", "user_id:bo"]
        assert (told["receipt"]["removed"]["passages"], told["receipt"]["clean"]) == (2, True)
        assert texts(opened.get_all(**ANA)) == [PLANTED, NARVA]
        assert opened.retain(keep=1, user_id="bo")["due"] == 1
        assert opened.retain(keep=2) == {"due": 0, "rules": {}, "dry_run": False, "receipt": None}
        assert verify(opened.parts.store, None) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ok thanks!", False),
        ("Haha, that sounds awesome", False),
        ("Good morning! How are you?", False),
        ("👍", False),
        ("I adopted a grey cat yesterday", True),
        ("Yes, with Biscuit", True),
        ("at 7", True),
        ("Dinner at 7", True),
        ("", False),
    ],
)
def test_cheap_signs_tell_small_talk_from_news(text: str, expected: bool) -> None:
    assert worthy(text, 3) is expected


@pytest.mark.parametrize(
    ("tiers", "infer"),
    [
        (Tiers(), True),
        (Tiers(policy="none"), False),
        (Tiers(speakers="Ana, Bo"), True),
        (Tiers(speakers="Bo"), False),
        (Tiers(speakers="-Ana"), False),
        (Tiers(sources="-tool"), False),
        (Tiers(sources="-user"), True),
        (Tiers(max_chars=20), False),
        (Tiers(policy="worthy", max_chars=200), True),
    ],
)
def test_a_policy_looks_at_speaker_source_and_size(tiers: Tiers, infer: bool) -> None:
    told = Draft("The build of Tuesday failed twice", "k", speaker="Ana", metadata={"role": "tool"})
    assert placed(told, tiers).infer is infer
    assert not placed(Draft("a b c d", "k", infer=False), Tiers()).infer


def test_what_stays_raw_is_found_and_can_be_promoted(tmp_path: Path) -> None:
    with Memory(parts=parts(tmp_path, tiers={"policy": "worthy", "speakers": "-Log"})) as opened:
        told = opened.add([*said(TARTU, THANKS), *said(NARVA, name="Log")], **ANA)["results"]
        assert [item["status"] for item in told] == ["done", "raw", "raw"]
        assert NARVA in texts(opened.search("Who moved to Narva?", **ANA))
        assert opened.retry() == {"done": 0, "failed": {}}
        with acting("bo"):
            done = opened.promote(**ANA, speaker="Log")
        assert done == {"promoted": [told[2]["id"]], "errors": {}}
        assert opened.get(told[2]["id"])["facts"][0]["object"] == "Narva"
        assert opened.promote(**ANA, everything=True)["promoted"] == [told[1]["id"]]
        assert opened.promote(told[0]["id"])["promoted"] == []
        assert [line["actor"] for line in opened.audit(action="promote")["results"]] == ["bo", None]
        assert verify(opened.parts.store, None) == []
    assert saved(1, 400, 4) == {"raw_share": 0.25, "raw_tokens_saved": 420}
    assert saved(0, 0, 0) == {"raw_share": 0.0, "raw_tokens_saved": 0}


def test_the_trail_tells_who_did_what_and_survives_the_content(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        with acting("key:1 for ana"):
            [item] = opened.add(said(f"{MARK} is my code"), **ANA)["results"]
        with acting("cli:bo"):
            opened.update(item["id"], TARTU)
            opened.forget(item["id"])
        opened.search("nothing", **ANA)
        lines = opened.audit(**ANA)["results"]
        assert [(line["action"], line["actor"]) for line in lines] == [
            ("add", "key:1 for ana"),
            ("index", "key:1 for ana"),
            ("derive", "key:1 for ana"),
            ("update", "cli:bo"),
            ("derive", "cli:bo"),
            ("delete", "cli:bo"),
        ]
        assert all(item["id"] in line["ids"].get("passage", []) for line in lines[2:5])
        assert lines[-1]["removed"]["passage"] == [item["id"]]
        assert [line["action"] for line in opened.audit(item=item["id"], since=lines[3]["at"])["results"]] == [
            line["action"] for line in lines[3:]
        ]
        first = opened.audit(limit=2)
        assert [line["id"] for line in opened.audit(after=first["next"], limit=9)["results"]] == [
            line["id"] for line in lines[2:]
        ]
        assert opened.audit(after=lines[-1]["id"]) == {"results": [], "next": None}
        assert MARK not in json.dumps(lines) and "Tartu" not in json.dumps(lines)
        assert [change["actor_id"] for change in opened.history(item["id"])] == ["key:1 for ana", "cli:bo", "cli:bo"]
        opened.reset()
        assert opened.audit(**ANA)["results"][-1]["action"] == "delete_memory"


def test_reads_are_noted_where_that_is_asked_for(tmp_path: Path) -> None:
    with Memory(parts=parts(tmp_path, audit={"reads": True})) as opened:
        first, second = opened.add(said(TARTU, PLANTED), **ANA)["results"]
        generation = opened.parts.store.generation("user_id:ana")
        with acting("bo"):
            opened.search("Where does Ana live?", **ANA, top_k=1)
            opened.get(second["id"])
            opened.get(first["frame"]["id"])
            opened.get_all(**ANA)
            opened.page("facts", 9, **ANA)
        found = [line["ids"] for line in opened.audit(action="read", actor="bo")["results"]]
        assert found[0]["passage"] == [first["id"]] and found[0]["fact"] == [first["facts"][0]["id"]]
        assert found[1:] == [
            {"passage": [second["id"]], "frame": [second["frame"]["id"]]},
            {"frame": [first["frame"]["id"]]},
            {"passage": [first["id"], second["id"]]},
            {"fact": [first["facts"][0]["id"]]},
        ]
        assert opened.parts.store.generation("user_id:ana") == generation
