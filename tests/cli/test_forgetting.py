"""Forget, retain, promote and audit on the command line: text, JSON, and a refusal where nobody confirmed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seem.cli.main as cli
from seem.cli import app
from seem.cli.options import Options
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge, ScriptedReader
from seem.wiring import Parts
from tests.flows.people import CODE, MARK, NARVA, PAINTED, SAME, SCRIPT, TARTU

Told = tuple[int, str, str]


@pytest.fixture
def seem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    def open_parts(options: Options) -> Parts:
        fakes: Any = {"extractor": ScriptedExtractor(SCRIPT), "judge": ScriptedJudge(SAME), "reader": ScriptedReader()}
        return Parts(options.settings(), encoder=HashingEncoder(), **fakes)

    monkeypatch.setattr(app, "open_parts", open_parts)
    monkeypatch.setenv("SEEM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USER", "ana")

    def run(*words: str) -> Told:
        status = cli.main(words)
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


def data(told: Told) -> Any:
    assert (told[0], told[2]) == (0, ""), told
    return json.loads(told[1])["data"]


def test_from_add_to_audit(seem: Callable[..., Told], tmp_path: Path) -> None:
    first = data(seem("add", CODE, "--speaker", "Ana", "--session", "s1", "--json"))["results"][0]["id"]
    seem("add", TARTU, "--session", "s2", "--no-infer")
    for refused in (("forget", first), ("forget", "--all", "--yes"), ("forget", "--yes"), ("retain", "--keep", "1")):
        status, out, err = seem(*refused)
        assert (status, out, err.startswith("seem: ")) == (1, "", True)
    told = data(seem("forget", "--session", "s1", "--yes", "--json"))
    assert (told["removed"]["passages"], told["clean"], told["actor"]) == (1, True, "cli:ana")
    assert [f.name for f in (tmp_path / "home").iterdir() if MARK.encode() in f.read_bytes()] == []
    stats = data(seem("stats", "--json"))
    assert (stats["raw_share"], stats["raw_tokens_saved"] > 100) == (1.0, True)
    status, out, _ = seem("promote", "--session", "s2")
    assert (status, out) == (0, "promoted 1 passages\n")
    seem("add", NARVA)
    assert data(seem("retain", "--keep", "1", "--dry-run", "--json"))["due"] == 1
    status, out, _ = seem("retain", "--keep", "1", "--yes")
    assert (status, "1 passages" in out, "found" in out) == (0, True, True)
    lines = data(seem("audit", "--item", first, "--json"))
    assert [line["action"] for line in lines][-1] == "delete" and {line["actor"] for line in lines} == {"cli:ana"}
    status, out, _ = seem("audit", "--action", "delete")
    assert (status, first in out, MARK in out) == (0, True, False)
    assert data(seem("audit", "-o", str(tmp_path / "trail.jsonl"), "--json"))["file"].endswith("trail.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "trail.jsonl").read_text().splitlines()]
    assert rows[0]["action"] == "add" and len(rows) > 5


def test_a_copy_that_is_left_makes_the_command_fail(seem: Callable[..., Told], tmp_path: Path) -> None:
    first = data(seem("add", CODE, "--json"))["results"][0]["id"]
    seem("add", PAINTED)
    seem("export", "-o", str(tmp_path / "home" / "copy.jsonl"))
    status, _, err = seem("forget", first, "--yes")
    assert (status, "copy.jsonl still holds some of it" in err) == (1, True)
