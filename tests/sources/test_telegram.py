"""Telegram's export: entities, service messages, replies, edits, media, zones."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from seem.errors import InputError
from tests.sources.reading import taken


def _message(number: int, text: Any, **told: Any) -> dict[str, Any]:
    return {
        "id": number, "type": "message", "date": f"2024-01-15T10:30:{number:02}", "date_unixtime": str(1705307400 + number),
        "from": "Anna Kask", "from_id": "user111", "text": text, "text_entities": [],
    } | told  # fmt: skip


CHAT: dict[str, Any] = {
    "name": "Kodu", "type": "private_group", "id": 12345,
    "messages": [
        {"id": 1, "type": "service", "date": "2024-01-15T10:30:01", "date_unixtime": "1705307401", "actor": "Anna Kask",
         "actor_id": "user111", "action": "invite_members", "members": ["Bo", None], "text": "", "text_entities": []},
        _message(2, ["Look at ", {"type": "link", "text": "example.org"}, "!"], text_entities=[
            {"type": "plain", "text": "Look at "}, {"type": "link", "text": "example.org"}, {"type": "plain", "text": "!"}]),
        _message(3, "Moved to Friday", edited="2024-01-15T10:40:00", edited_unixtime="1705308000", reply_to_message_id=2),
        _message(4, "", photo="(File not included. Change data exporting settings to download.)", width=1, height=1),
        _message(5, "Our new gate", photo="photos/photo_1.jpg", **{"from": None}),
        _message(6, "", file="stickers/s.webp", media_type="sticker", sticker_emoji="🙂"),
        _message(7, "", poll={"question": "When?", "closed": False, "answers": [{"text": "Fri", "voters": 1}, {"text": "Sat"}]}),
        _message(8, "", location_information={"latitude": 59.4, "longitude": 24.7}, place_name="Harbour"),
        _message(9, "Old export", date_unixtime=None, forwarded_from="News"),
    ],
}  # fmt: skip


def _file(tmp_path: Path, told: Any) -> Path:
    path = tmp_path / "result.json"
    path.write_text(told if isinstance(told, str) else json.dumps(told))
    return path


def test_a_chat_with_all_that_it_may_hold(tmp_path: Path) -> None:
    drafts, problems = taken("telegram", _file(tmp_path, CHAT), ZoneInfo("Europe/Tallinn"))
    assert problems == []
    assert [(draft.speaker, draft.text, draft.infer) for draft in drafts] == [
        ("Anna Kask", "Anna Kask invite members: Bo", False),
        ("Anna Kask", "Look at example.org!", True),
        ("Anna Kask", "Moved to Friday", True),
        ("Anna Kask", "[photo]", False),
        ("user111", "Our new gate", True),
        ("Anna Kask", "[sticker 🙂]", False),
        ("Anna Kask", "Poll: When? (Fri; Sat)", True),
        ("Anna Kask", "[location Harbour]", False),
        ("Anna Kask", "Old export", True),
    ]
    assert {draft.session for draft in drafts} == {"Kodu/12345"}
    assert drafts[2].metadata == {
        "chat": "Kodu", "message_id": 3, "edited": "2024-01-15T10:40:00", "reply_to": 2, "role": "user",
    }  # fmt: skip
    assert drafts[4].metadata["media"] == ["photo"] and drafts[8].metadata["forwarded_from"] == "News"
    assert drafts[8].metadata["zone_assumed"] is True and "zone_assumed" not in drafts[1].metadata


@pytest.mark.parametrize(("unix", "hours"), [(1705307402, 2), (1705307402 + 7200, 0), (1705307402 + 27000, -5.5)])
def test_the_exporters_two_clocks_tell_the_zone(unix: int, hours: float, tmp_path: Path) -> None:
    """O-11: «today» is the day on the phone, not the day in Greenwich."""
    told = {"id": 1, "messages": [_message(2, "x", date_unixtime=str(unix), date="2024-01-15T10:30:02")]}
    ((draft,), _) = taken("telegram", _file(tmp_path, told))
    assert draft.time is not None and draft.time.utcoffset() == timedelta(hours=hours)
    assert draft.time.isoformat()[:19] == "2024-01-15T10:30:02"


def test_a_later_export_adds_the_new_and_the_edited_messages_alone(tmp_path: Path) -> None:
    first, _ = taken("telegram", _file(tmp_path, CHAT))
    edited = CHAT["messages"][1] | {"text_entities": [{"type": "plain", "text": "Look at example.com!"}], "edited": "x"}
    touched = CHAT["messages"][2] | {"edited": "2024-02-01T00:00:00"}
    later, _ = taken("telegram", _file(tmp_path, CHAT | {"messages": [edited, touched, _message(10, "New")]}))
    assert [draft.text for draft in later if draft.key not in {draft.key for draft in first}] == [
        "Look at example.com!",
        "New",
    ]


def test_a_whole_export_holds_its_chats_and_those_that_were_left(tmp_path: Path) -> None:
    told = {
        "personal_information": {"first_name": "Anna"},
        "chats": {"about": "…", "list": [CHAT, {"type": "saved_messages", "id": 7, "messages": [_message(1, "Note")]}]},
        "left_chats": {"list": [{"name": "Gone", "id": 8, "messages": [_message(1, "Bye")]}, "damage"]},
    }
    drafts, _ = taken("telegram", _file(tmp_path, told))
    assert [draft.session for draft in drafts][9:] == ["saved_messages/7", "Gone/8"]


def test_malformed_messages_and_a_cut_off_file_lose_only_themselves(tmp_path: Path) -> None:
    wrong = [
        5,
        {"text": "no id"},
        _message(3, [{"type": "bold"}]),
        _message(4, "bad", date_unixtime="soon"),
        _message(5, ""),
    ]
    drafts, problems = taken("telegram", _file(tmp_path, CHAT | {"messages": [*wrong, _message(6, "kept")]}))
    assert [draft.text for draft in drafts] == ["kept"] and [problem.line for problem in problems] == [1, 2, 3, 4, 5]
    cut = json.dumps(CHAT, indent=1)
    drafts, problems = taken("telegram", _file(tmp_path, cut[: cut.index('"Our new gate"')]))
    assert len(drafts) == 4 and problems[0].line > 40 and drafts[0].session == "Kodu/12345"


def test_another_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for told in ({"messages": 5}, [1], '{"about": '):
        with pytest.raises(InputError, match=r"not Telegram's result\.json"):
            taken("telegram", _file(tmp_path, told))
