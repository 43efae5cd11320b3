"""WhatsApp's text export: both phones, clocks, date orders, what WhatsApp says itself, media, edits, deletions."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from seem.errors import InputError
from tests.sources.reading import taken

TALLINN = ZoneInfo("Europe/Tallinn")
ANDROID = """\
13/05/2024, 21:04 - Messages and calls are end-to-end encrypted. No one outside of this chat can read them.
13/05/2024, 21:04 - Ana created group "Rowing"
13/05/2024, 21:05 - Ana: The boat leaves at six.
Bring:
- a hat

13/05/2024, 21:05 - \u200eBo: <Media omitted>
13/05/2024, 21:06 - Bo: IMG-20240513-WA0001.jpg (file attached)
The new oars
13/05/2024, 21:07 - Ana: This message was deleted
13/05/2024, 21:08 - Ana: Make it seven <This message was edited>
13/05/2024, 21:08 - Ana: ok
13/05/2024, 21:08 - Ana: ok
13/05/2024, 21:09 - Ana changed the group description to: swim at six
14/05/2024, 08:00 - +372 5555 1234: @\u2068Bo\u2069 note: room 4
"""
IOS = """\
\ufeff[5/13/24, 9:04:11\u202fPM] Rowing: \u200eMessages and calls are end-to-end encrypted.\r
[5/13/24, 9:05:12\u202fPM] Ana: The boat leaves at six.\r
Bring a hat\r
\u200e[5/13/24, 9:05:59\u202fPM] Bo: \u200eimage omitted\r
\u200e[5/13/24, 9:06:30\u202fPM] Bo: \u200e<attached: 00000012-PHOTO.jpg>\r
[5/13/24, 9:07:00\u202fPM] ~\u202fCarla: \u200eThis message was deleted.\r
[5/13/24, 9:08:00\u202fPM] Bo: \u200eMissed voice call\r
[5/14/24, 12:15:00\u202fAM] Ana: after midnight\r
"""


def _chat(tmp_path: Path, text: str, name: str = "WhatsApp Chat with Rowing.txt") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_an_android_export(tmp_path: Path) -> None:
    drafts, problems = taken("whatsapp", _chat(tmp_path, ANDROID), TALLINN)
    assert problems == []
    assert [(draft.speaker, draft.text, draft.infer) for draft in drafts[2:]] == [
        ("Ana", "The boat leaves at six.\nBring:\n- a hat", True),
        ("Bo", "[media]", False),
        ("Bo", "The new oars", True),
        ("Ana", "Make it seven", True),
        ("Ana", "ok", True),
        ("Ana", "ok", True),
        ("WhatsApp", "Ana changed the group description to: swim at six", False),
        ("+372 5555 1234", "@Bo note: room 4", True),
    ]
    assert [draft.infer for draft in drafts[:2]] == [False, False]
    assert {draft.session for draft in drafts} == {"Rowing"} and len({draft.key for draft in drafts}) == 10
    assert drafts[2].time == datetime(2024, 5, 13, 21, 5, tzinfo=TALLINN)
    assert drafts[4].metadata["media"] == ["IMG-20240513-WA0001.jpg"] and drafts[5].metadata["edited"] is True
    assert "date_order_assumed" not in drafts[0].metadata


def test_an_iphone_export_and_its_zip(tmp_path: Path) -> None:
    drafts, problems = taken("whatsapp", _chat(tmp_path, IOS, "_chat.txt"), TALLINN)
    assert problems == []
    assert [(draft.speaker, draft.text, draft.infer) for draft in drafts[1:]] == [
        ("Ana", "The boat leaves at six.\nBring a hat", True),
        ("Bo", "[image]", False),
        ("Bo", "[00000012-PHOTO.jpg]", False),
        ("Bo", "Missed voice call", False),
        ("Ana", "after midnight", True),
    ]
    assert drafts[-1].time == datetime(2024, 5, 14, 0, 15, tzinfo=TALLINN)
    with zipfile.ZipFile(tmp_path / "WhatsApp Chat - Rowing.zip", "w") as archive:
        archive.write(tmp_path / "_chat.txt", "_chat.txt")
        archive.writestr("00000012-PHOTO.jpg", b"\xff")
    zipped, _ = taken("whatsapp", tmp_path / "WhatsApp Chat - Rowing.zip", TALLINN)
    assert [draft.text for draft in zipped] == [draft.text for draft in drafts] and zipped[0].session == "Rowing"


@pytest.mark.parametrize(
    ("lines", "day", "assumed"),
    [
        (["05/06/24, 10:00 - A: x", "31/06/24, 10:00 - A: bad", "25/07/24, 10:00 - A: y"], "2024-06-05", None),
        (["5/6/24, 10:00 PM - A: x", "7/25/24, 9:00 AM - A: y"], "2024-05-06", None),
        (["30.04.24, 10:00 - A: x", "01.05.24, 10:00 - A: y"], "2024-04-30", None),
        # Only the order of the lines decides: read the American way the days would run backwards.
        (["03/05/24, 10:00 - A: x", "04/05/24, 10:00 - A: y", "02/06/24, 10:00 - A: z"], "2024-05-03", None),
        (["2024-06-05, 10:00 - A: x"], "2024-06-05", None),
        (["2024/6/5, 10:00 - A: x"], "2024-06-05", None),
        (["05/06/24, 10:00 - A: x"], "2024-06-05", "DMY"),
        (["5/6/24, 10:00 PM - A: x"], "2024-05-06", "MDY"),
        (["[5.6.2024 klo 10.00.18] A: x"], "2024-06-05", "DMY"),
        (["[05.06.24, 10:00:18] A: x"], "2024-06-05", "DMY"),
        (["05/06/2024 10:00 p. m. - A: x", "30/06/2024 10:00 p. m. - A: x"], "2024-06-05", None),
    ],
)
def test_the_whole_file_decides_the_order_of_the_date(
    lines: list[str], day: str, assumed: str | None, tmp_path: Path
) -> None:
    drafts, problems = taken("whatsapp", _chat(tmp_path, "\n".join(lines)), UTC)
    assert drafts[0].time is not None and drafts[0].time.date().isoformat() == day
    assert drafts[0].metadata.get("date_order_assumed") == assumed
    assert len(problems) == sum("bad" in line for line in lines)


def test_keys_hold_over_zones_orders_and_a_longer_export(tmp_path: Path) -> None:
    short, _ = taken("whatsapp", _chat(tmp_path, "05/06/24, 10:00 - A: x\n05/06/24, 10:00 - B: <Media omitted>\n"), UTC)
    text = "05/06/24, 10:00 - A: x\n05/06/24, 10:00 - B: a.jpg (file attached)\n6/25/24, 9:00 - A: y\n"
    longer, _ = taken("whatsapp", _chat(tmp_path, text, "WhatsApp Chat with Rowing (2).txt"), TALLINN)
    assert short[0].time != longer[0].time
    assert [draft.key for draft in short] == [draft.key for draft in longer][:2] and len(longer) == 3


def test_what_cannot_be_used_is_told_by_line(tmp_path: Path) -> None:
    text = "stray words\n13/05/2024, 21:05 - Ana: kept\n45/99/2024, 21:05 - Ana: lost\nwith this line\n13/05/2024, 25:05 - Bo: lost"
    drafts, problems = taken("whatsapp", _chat(tmp_path, text), UTC)
    assert [draft.text for draft in drafts] == ["kept"] and [problem.line for problem in problems] == [1, 3, 5]


def test_the_zone_must_be_named_and_the_file_must_be_a_chat(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tells no time zone"):
        taken("whatsapp", _chat(tmp_path, ANDROID))
    with pytest.raises(InputError, match="no WhatsApp export"):
        taken("whatsapp", _chat(tmp_path, "hello\nworld"), UTC)
