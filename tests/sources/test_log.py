"""Plain logs: entries by their times, tracebacks whole, zones, levels, and what is no entry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.sources.reading import taken

APP = """\
starting up
2024-05-01 12:00:00,123 - billing.jobs - INFO - invoice run started
2024-05-01 12:00:02,500 - billing.jobs - ERROR - invoice 17 failed
Traceback (most recent call last):
  File "jobs.py", line 3, in run
    send(invoice)

ConnectionError: mail.example refused
2024-13-45 12:00:03,000 - billing.jobs - INFO - a broken clock
    and what follows it
[WARN] 2024-05-01T14:00:04.5+02:00 retrying\x1b[31m soon\x1b[0m
2024-05-01T12:00:05Z web-1 nginx[812]: upstream timed out
"""


def _log(tmp_path: Path, text: str | bytes, name: str = "billing.2024-05-01.log") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_entries_with_their_tracebacks_levels_and_zones(tmp_path: Path) -> None:
    drafts, problems = taken("log", _log(tmp_path, APP), ZoneInfo("Europe/Rome"))
    assert [draft.text.split("\n")[0] for draft in drafts] == [
        "billing.jobs - INFO - invoice run started",
        "billing.jobs - ERROR - invoice 17 failed",
        "[WARN] retrying soon",
        "web-1 nginx[812]: upstream timed out",
    ]
    assert drafts[1].text.endswith("ConnectionError: mail.example refused") and drafts[1].text.count("\n") == 4
    assert [draft.metadata.get("level") for draft in drafts] == ["INFO", "ERROR", "WARN", None]
    assert [draft.metadata.get("zone_assumed", False) for draft in drafts] == [True, True, False, False]
    assert drafts[0].time == datetime(2024, 5, 1, 10, 0, 0, 123000, tzinfo=UTC)
    assert drafts[2].time is not None and drafts[2].time.utcoffset() == timedelta(hours=2)
    assert [draft.speaker for draft in drafts] == ["billing", "billing", "billing", "nginx"]
    assert {draft.session for draft in drafts} == {"billing"}
    assert [(problem.line, problem.why[:18]) for problem in problems] == [
        (1, "no entry with a ti"),
        (9, "'2024-13-45 12:00:"),
    ]


@pytest.mark.parametrize(
    ("line", "time", "text"),
    [
        ('10.0.0.9 - ada [01/Dec/2023:10:11:14 +0530] "GET / HTTP/1.1" 500 12',
         datetime(2023, 12, 1, 10, 11, 14, tzinfo=timezone(timedelta(hours=5, minutes=30))),
         '10.0.0.9 - ada "GET / HTTP/1.1" 500 12'),
        ("[Wed Oct 11 14:32:52 2023] [error] client denied", datetime(2023, 10, 11, 14, 32, 52, tzinfo=UTC),
         "[error] client denied"),
        ("2023/10/11 14:32:52 listening on :80", datetime(2023, 10, 11, 14, 32, 52, tzinfo=UTC), "listening on :80"),
        ("1697034772.25 probe lost", datetime(2023, 10, 11, 14, 32, 52, 250000, tzinfo=UTC), "probe lost"),
        ("<34>1 2023-10-11T14:32:52.003Z mx su - ID47 - denied",
         datetime(2023, 10, 11, 14, 32, 52, 3000, tzinfo=UTC), "mx su - ID47 - denied"),
        ("2023-10-11 14:32:52 -0800 FATAL disk full",
         datetime(2023, 10, 11, 14, 32, 52, tzinfo=timezone(-timedelta(hours=8))), "FATAL disk full"),
        ("2016-12-31 23:59:60 UTC leap", datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC), "leap"),
    ],
)  # fmt: skip
def test_shapes_of_times(line: str, time: datetime, text: str, tmp_path: Path) -> None:
    ((draft,), problems) = taken("log", _log(tmp_path, line))
    assert problems == []
    assert (draft.time, draft.text) == (time, text)
    assert draft.time is not None and draft.time.utcoffset() == time.utcoffset()


def test_a_time_without_a_year_is_not_made_up(tmp_path: Path) -> None:
    """O-09: the words of the time stay, the year is not invented."""
    ((draft,), _) = taken("log", _log(tmp_path, "Feb 29 10:11:14 gate sshd[44]: session opened", "auth.log"))
    assert (draft.time, draft.speaker) == (None, "sshd")
    assert draft.text == "Feb 29 10:11:14 gate sshd[44]: session opened"


def test_a_rotated_file_goes_on_with_its_own_log_and_a_longer_one_adds_the_new_entries(tmp_path: Path) -> None:
    whole = APP.split("starting up\n")[1]
    first, _ = taken("log", _log(tmp_path, whole[: whole.index("[WARN]")], "billing.log.1"))
    later, _ = taken("log", _log(tmp_path, whole, "billing.log"))
    assert [draft.key for draft in first] == [draft.key for draft in later][:2] and len(later) == 4


def test_equal_entries_are_two_and_bytes_that_are_no_text_harm_nothing(tmp_path: Path) -> None:
    line = b"2024-05-01 12:00:00 tick \xff\n"
    drafts, problems = taken("log", _log(tmp_path, b"\xef\xbb\xbf" + line * 2))
    assert [draft.text for draft in drafts] == ["tick \ufffd"] * 2 and len({draft.key for draft in drafts}) == 2
    assert problems == []
