"""Imports into a real store on scripted models: every format, again, from two hands, with half an emoji."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from seem.cli import importing
from seem.errors import InputError
from seem.sources import FORMATS
from seem.store.verify import verify
from seem.write.times import resolve
from tests.flows.people import memory
from tests.sources import test_fuzz as whole


def _export(format: str, folder: Path) -> Path:
    """Write a whole file of the format."""
    path = folder / "export"
    if format == "slack":
        with zipfile.ZipFile(path, "w") as archive:
            for name, part in whole.SLACK.items():
                archive.writestr(name, json.dumps(part))
    elif format in whole.TEXTS:
        path.write_text(whole.TEXTS[format], encoding="utf-8")
    elif format in whole.LINES:
        path.write_text("\n".join(map(json.dumps, whole.LINES[format])))
    else:
        path.write_text(json.dumps(whole.JSON_FORMATS[format]))
    return path


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_importing_twice_adds_nothing_twice(format: str, tmp_path: Path) -> None:
    """O-15: a repeat gives the same passages; a dry run writes none."""
    source = importing.read(format, _export(format, tmp_path), zone="Europe/Tallinn", limit=None)
    count = len({draft.key for draft in source.drafts})
    with memory(tmp_path) as opened:
        assert importing.estimate(source, 2.0)["passages"] == len(source.drafts)
        assert opened.parts.store.stats(None)["passages"] == 0
        first = importing.store(opened, source, {"user_id": "ana"}, quiet=True)
        again = importing.store(opened, source, {"user_id": "ana"}, quiet=True)
        assert (first["added"], again["added"], again["known"]) == (count, 0, len(source.drafts))
        found = opened.get_all(user_id="ana", top_k=1000)["results"]
        assert [item["memory"] for item in found] == _texts(source)
        assert verify(opened.parts.store, None) == []


def _texts(source: importing.Source) -> list[Any]:
    seen: dict[str, str] = {}
    for draft in source.drafts:
        seen.setdefault(draft.key, draft.text)
    return list(seen.values())


def test_half_an_emoji_harms_nothing_but_itself(tmp_path: Path) -> None:
    """O-05: the three of the request and the one after it are stored; whole emoji come back byte for byte."""
    path = tmp_path / "chat.json"
    path.write_text(
        '{"messages": [{"role": "user", "content": "Party was great \\ud83d bye"},'
        '{"role": "user", "content": "The 👨\u200d👩\u200d👧 came with a 🇪🇪"}, {"role": "user", "content": "We danced"}]}'
    )
    with memory(tmp_path) as opened:
        source = importing.read("chat", path, zone=None, limit=None)
        assert importing.store(opened, source, {"user_id": "ana"}, quiet=True)["added"] == 3
        opened.add("and sang", user_id="ana")
        found = [item["memory"] for item in opened.get_all(user_id="ana")["results"]]
        assert found == ["Party was great \ufffd bye", "The 👨\u200d👩\u200d👧 came with a 🇪🇪", "We danced", "and sang"]


def test_near_midnight_the_day_of_the_writer_counts(tmp_path: Path) -> None:
    """O-11: each offset's own day; a time without one is assumed, recorded and raises nothing."""
    path = tmp_path / "chat.jsonl"
    told = [
        {"text": "I baked the rye loaf today.", "time": "2024-03-15T23:40-07:00"},
        {"text": "Today I start at the bakery.", "time": "2024-05-01T02:00+05:00"},
        {"text": "I no longer work at the bakery.", "time": "2024-05-02 09:00"},
    ]
    path.write_text("\n".join(map(json.dumps, told)))
    with memory(tmp_path) as opened:
        importing.store(opened, importing.read("jsonl", path, zone=None, limit=None), {"user_id": "ede"}, quiet=True)
        passages = list(opened.parts.store.load("user_id:ede").passages.values())
    assert [resolve("today", passage.time).start for passage in passages] == ["2024-03-15", "2024-05-01", "2024-05-02"]
    assert [passage.metadata.get("zone_assumed", False) for passage in passages] == [False, False, True]


def test_a_file_of_nothing_usable_says_why_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("no time here\n")
    with pytest.raises(InputError, match="holds nothing to remember: line 1: no entry with a time"):
        importing.read("log", path, zone=None, limit=None)
