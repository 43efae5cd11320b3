"""The commands that show grounds and correct frames, on scripted models: text, JSON, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seem.cli.main as cli
from seem.cli import app
from seem.cli.options import Options
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge
from seem.wiring import Parts
from tests.flows.people import GROWING, NARVA, PLANTED, SAME, SCRIPT, TARTU

Seem = Callable[..., tuple[int, str, str]]


@pytest.fixture
def seem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Seem:
    """Run the command line on a memory of two facts and one fused frame."""

    def open_parts(options: Options) -> Parts:
        fakes: Any = {"extractor": ScriptedExtractor(SCRIPT), "judge": ScriptedJudge(SAME)}
        return Parts(options.settings(), encoder=HashingEncoder(), **fakes)

    monkeypatch.setattr(app, "open_parts", open_parts)
    monkeypatch.setenv("SEEM_HOME", str(tmp_path / "home"))

    def run(*words: str) -> tuple[int, str, str]:
        status = cli.main(words)
        told = capsys.readouterr()
        return status, told.out, told.err

    for text, day in ((TARTU, "2024-01-02"), (PLANTED, "2024-01-03"), (NARVA, "2024-06-02"), (GROWING, "2024-06-03")):
        assert run("add", text, "--speaker", "Ana", "--timestamp", f"{day}T10:00+00:00")[0] == 0
    return run


def data(told: tuple[int, str, str]) -> Any:
    assert (told[0], told[2]) == (0, ""), told
    return json.loads(told[1])["data"]


def ids(seem: Seem) -> dict[str, str]:
    return {item["memory"]: item["id"] for item in data(seem("list", "--json"))["results"]}


def test_a_split_and_its_undoing(seem: Seem) -> None:
    known = ids(seem)
    frame = data(seem("get", known[PLANTED], "--json"))["frame"]["id"]
    told = data(seem("split", frame, known[GROWING], "--actor", "ana", "--json"))
    assert [f["passages"] for f in told["frames"]] == [[known[PLANTED]], [known[GROWING]]]
    assert data(seem("history", frame, "--json"))[-1]["actor_id"] == "ana"
    status, out, _ = seem("merge", *(f["id"] for f in told["frames"]))
    assert status == 0 and frame in out and "planted a tree" in out
    assert len(data(seem("undo", "--json"))["frames"]) == 2
    assert [f["id"] for f in data(seem("undo", frame, "--json"))["frames"]] == [frame]
    assert len(data(seem("reassign", known[GROWING], "--json"))["frames"]) == 2
    assert data(seem("reassign", known[GROWING], frame, "--json"))["frames"][0]["passages"] == [
        known[PLANTED],
        known[GROWING],
    ]
    assert data(seem("verify", "--json"))["sound"]


def test_show_tells_which_version_holds(seem: Seem) -> None:
    told = data(seem("show", ids(seem)[TARTU], "--json"))
    (tartu,) = told["facts"]
    assert (told["kind"], tartu["holds"], tartu["ended_by"]["object"]) == ("passage", False, "Narva")
    status, out, err = seem("show", ids(seem)[TARTU])
    assert (status, err) == (0, "")
    for words in (TARTU, "event 1, action", "holds", "lost", "ended by  Ana lives in Narva"):
        assert words in out
    status, out, _ = seem("show", tartu["superseded_by"])
    assert status == 0 and "ended     Ana lives in Tartu" in out


def test_a_question_as_of_a_day(seem: Seem) -> None:
    found = data(seem("search", "Where does Ana live?", "--as-of", "2024-02", "--json"))
    assert {item["memory"] for item in found["results"]} == {TARTU, PLANTED}
    assert [(f["object"], f["invalid_at"]) for f in found["facts"]] == [("Tartu", None)]
    status, out, _ = seem("search", "Where?", "--as-of", "soon", "--json")
    assert (status, json.loads(out)["error"]["code"]) == (1, "input")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("split", "f_none", "p_none"), "not_found"),
        (("merge", "f_none", "f_other"), "not_found"),
        (("reassign", "p_none"), "not_found"),
        (("show", "k_none"), "not_found"),
        (("undo",), "input"),
        (("--as", "bo", "undo"), "input"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(seem: Seem, words: tuple[str, ...], code: str) -> None:
    status, out, _ = seem(*words, "--json")
    error = json.loads(out)["error"]
    assert (status, error["code"]) == (1, code)
    assert "\n" not in error["message"]
