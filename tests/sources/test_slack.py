"""Slack's export, as folder and as zip: people, channels, threads, mentions, edits, deletions, files, damage."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from seem.errors import InputError
from tests.sources.reading import taken

USERS = [
    {"id": "U1", "name": "mira", "deleted": False, "tz": "America/New_York", "tz_offset": -18000,
     "profile": {"real_name": "Mira Oja", "display_name": "Mira"}},
    {"id": "U2", "name": "otto", "real_name": "Otto Lind", "tz": None, "tz_offset": 7200, "profile": {"display_name": ""}},
    "damage",
]  # fmt: skip
CHANNELS = [{"id": "C1", "name": "build", "members": ["U1", "U2"]}]
DAY_ONE: list[Any] = [
    {"type": "message", "subtype": "channel_join", "user": "U2", "text": "<@U2> has joined the channel", "ts": "1704070800.000100"},
    {"type": "message", "user": "U1", "text": "Build &lt;42&gt; is red, <@U2> &amp; <!here>: <https://ci.example/42|the log>",
     "ts": "1704074400.000200", "thread_ts": "1704074400.000200", "reply_count": 1, "edited": {"user": "U1", "ts": "1704074500.000000"}},
    {"type": "message", "user": "U9", "user_profile": {"real_name": "Guest Gail", "display_name": ""}, "text": "see <#C1> or <#C7|ops>",
     "ts": "1704078000.000300"},
    {"type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "ci", "text": "", "ts": "1704081600.000400",
     "attachments": [{"title": "Build 43", "text": "passed", "fallback": "x"}]},
    {"type": "message", "user": "U1", "text": "", "ts": "1704081700.000000", "blocks": [{"type": "rich_text", "elements": [
        {"type": "rich_text_section", "elements": [{"type": "text", "text": "from"}, {"type": "text", "text": "blocks"}]}]}]},
]  # fmt: skip
DAY_TWO: list[Any] = [
    {"type": "message", "user": "U2", "text": "fixed by pinning numpy", "ts": "1704160800.000500", "thread_ts": "1704074400.000200"},
    {"type": "message", "user": "U2", "text": "", "ts": "1704160900.000600", "upload": True,
     "files": [{"id": "F1", "name": "trace.txt", "title": "Trace"}, {"id": "F2", "mode": "tombstone"}]},
    {"type": "message", "user": "U1", "text": "old words", "ts": "1704161000.000700"},
    {"type": "message", "user": "U1", "text": "wrong channel", "ts": "1704161100.000800"},
    {"type": "message", "subtype": "message_changed", "ts": "1704161200.000900",
     "message": {"type": "message", "user": "U1", "text": "new words", "ts": "1704161000.000700"}},
    {"type": "message", "subtype": "message_deleted", "ts": "1704161300.001000", "deleted_ts": "1704161100.000800"},
    {"type": "message", "subtype": "tombstone", "text": "This message was deleted.", "ts": "1704161400.001100"},
    {"type": "message", "user": "U1", "text": "no time"},
    {"type": "message", "user": "U1", "text": 5, "ts": "1704161500.001200"},
    "damage",
]  # fmt: skip


def _folder(tmp_path: Path, prefix: str = "") -> Path:
    root = tmp_path / "export"
    parts = {
        "users.json": USERS,
        "channels.json": CHANNELS,
        "build/2024-01-01.json": DAY_ONE,
        "build/2024-01-02.json": DAY_TWO,
    }
    for name, told in parts.items():
        path = root / prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(told))
    (root / prefix / "build" / "2024-01-03.json").write_text('[{"ts": "1704250000.0", "user": "U1", "text": "cut')
    return root


def test_a_workspace_reads_as_people_would(tmp_path: Path) -> None:
    drafts, problems = taken("slack", _folder(tmp_path))
    assert [(draft.session, draft.speaker, draft.text, draft.infer) for draft in drafts] == [
        ("build", "Otto Lind", "@Otto Lind has joined the channel", False),
        ("build", "Guest Gail", "see #build or #ops", True),
        ("build", "ci", "Build 43\npassed", True),
        ("build", "Mira", "from blocks", True),
        ("build", "Otto Lind", "[file Trace, file no longer there]", False),
        ("build", "Mira", "new words", True),
        ("build/1704074400.000200", "Mira", "Build <42> is red, @Otto Lind & @here: the log", True),
        ("build/1704074400.000200", "Otto Lind", "fixed by pinning numpy", True),
    ]
    assert drafts[6].metadata["edited"] == "1704074500.000000" and "reply_to" not in drafts[6].metadata
    assert drafts[7].metadata["reply_to"] == "1704074400.000200"
    times = [draft.time.isoformat() for draft in (drafts[6], drafts[7], drafts[1]) if draft.time]
    assert times == [
        "2023-12-31T21:00:00.000200-05:00",
        "2024-01-02T04:00:00.000500+02:00",
        "2024-01-01T03:00:00.000300+00:00",
    ]
    assert [problem.line for problem in problems] == [8, 10, 1, 9]
    assert problems[2].why.startswith("build/2024-01-03.json") and problems[3].why.startswith("build/2024-01-02.json")


def test_zip_folder_and_an_outer_folder_give_the_same(tmp_path: Path) -> None:
    drafts, _ = taken("slack", _folder(tmp_path))
    outer = _folder(tmp_path / "outer", "Team Slack export")
    assert taken("slack", outer)[0] == drafts
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted((tmp_path / "export").rglob("*.json")):
            archive.write(file, file.relative_to(tmp_path / "export"))
    assert taken("slack", path)[0] == drafts


def test_without_its_people_numbers_stand_for_names(tmp_path: Path) -> None:
    root = _folder(tmp_path)
    (root / "users.json").write_text("[")
    drafts, problems = taken("slack", root)
    assert drafts[0].text == "@U2 has joined the channel" and drafts[0].speaker == "U2"
    assert "numbers stand for names" in problems[0].why


def test_a_damaged_member_loses_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("build/2024-01-01.json", json.dumps(DAY_ONE))
        archive.writestr("build/2024-01-02.json", json.dumps(DAY_TWO))
    data = bytearray(path.read_bytes())
    data[data.rindex(b"fixed by pinning")] ^= 1
    path.write_bytes(data)
    drafts, problems = taken("slack", path)
    assert len(drafts) == 5 and "cannot be unpacked" in problems[0].why


def test_what_is_no_export_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "bad.zip").write_bytes(b"PK\x05\x06" + b"\x00" * 10 + b"\xff" * 8)
    for name, why in (("", "no channel folders"), ("file", "neither a folder nor a zip"), ("bad.zip", "bad.zip")):
        with pytest.raises(InputError, match=why):
            taken("slack", tmp_path / name)
