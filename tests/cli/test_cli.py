"""The command line: every verb, text and JSON, and one sentence with a non-zero exit status for whatever goes wrong."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seem.cli.main as cli
from seem.cli import app, demo, exporting, render
from seem.cli.options import Options, hoist
from seem.cli.output import reason
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge, ScriptedReader
from seem.wiring import Parts
from tests.flows.people import NARVA, PLANTED, SAME, SCRIPT, TARTU

Told = tuple[int, str, str]
Seem = Callable[..., Told]


@pytest.fixture
def seem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Seem:
    """Run the command line on scripted models in a folder of its own."""

    def open_parts(options: Options) -> Parts:
        fakes: Any = {"extractor": ScriptedExtractor(SCRIPT), "judge": ScriptedJudge(SAME), "reader": ScriptedReader()}
        return Parts(options.settings(), encoder=HashingEncoder(), **fakes)

    monkeypatch.setattr(app, "open_parts", open_parts)
    monkeypatch.setenv("SEEM_HOME", str(tmp_path / "home"))

    def run(*words: str) -> Told:
        status = cli.main(words)
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


def data(told: Told) -> Any:
    status, out, err = told
    assert (status, err) == (0, ""), told
    envelope = json.loads(out)
    assert list(envelope) == ["status", "command", "duration_ms", "scope", "count", "data"]
    assert envelope["status"] == "success"
    return envelope["data"]


def error(told: Told, code: str) -> str:
    status, out, _ = told
    envelope = json.loads(out)
    assert (status != 0, envelope["status"], envelope["error"]["code"]) == (True, "error", code), told
    return str(envelope["error"]["message"])


def chat_file(folder: Path, *texts: str) -> Path:
    path = folder / "chat.json"
    path.write_text(json.dumps([{"role": "user", "name": "Ana", "content": text, "id": text} for text in texts]))
    return path


def test_shared_options_stand_anywhere() -> None:
    assert hoist(["search", "q", "-u", "ana", "--json"]) == ["-u", "ana", "--json", "search", "q"]
    assert hoist(["add", "--user-id=ana", "-ubo", "--", "--json"]) == [
        "--user-id=ana",
        "-u",
        "bo",
        "add",
        "--",
        "--json",
    ]
    assert hoist(["list", "-u"]) == ["list", "-u"]


def test_from_add_to_delete(seem: Seem) -> None:
    told = data(seem("add", TARTU, "--speaker", "Ana", "--timestamp", "2024-01-02T10:00+00:00", "-u", "ana", "--json"))
    (item,) = told["results"]
    assert (item["event"], item["speaker"], item["user_id"]) == ("ADD", "Ana", "ana")
    assert data(seem("--json", "-u", "ana", "list"))["results"][0]["memory"] == TARTU
    assert data(seem("list", "--json"))["results"] == []
    assert data(seem("get", item["id"], "--json"))["facts"][0]["object"] == "Tartu"
    assert data(seem("update", item["id"], NARVA, "--json"))["event"] == "UPDATE"
    assert [c["event"] for c in data(seem("history", item["id"], "--json"))] == ["ADD", "UPDATE"]
    assert data(seem("answer", "Where does Ana live?", "-u", "ana", "--json"))["model"] == "scripted"
    assert data(seem("stats", "--json"))["passages"] == 1
    assert data(seem("stats", "-u", "bo", "--json"))["passages"] == 0
    assert data(seem("verify", "--json")) == {"sound": True, "faults": []}
    assert data(seem("reindex", "--json"))["memories"] == 1
    assert data(seem("retry", "--json")) == {"done": 0, "failed": {}}
    assert "--yes" in error(seem("delete", item["id"], "--json"), "input")
    assert data(seem("delete", item["id"], "--yes", "--json")) == {"deleted": [item["id"]]}
    assert "p_" in error(seem("get", item["id"], "--json"), "not_found")


def test_text_for_people(seem: Seem) -> None:
    seem("add", TARTU, "--speaker", "Ana")
    status, out, err = seem("search", "Where does Ana live?", "--explain")
    assert (status, err) == (0, "")
    for shown in ("[1] ", "Ana", TARTU, "Events\n", "Facts\n", "Ana lives in Tartu [1]", "ranks: "):
        assert shown in out
    item = json.loads(seem("list", "--json")[1])["data"]["results"][0]
    for words in (("get", item["id"]), ("history", item["id"]), ("list",), ("update", item["id"], PLANTED)):
        status, out, err = seem(*words)
        assert (status, err) == (0, "")
        assert TARTU in out or PLANTED in out
    frame = json.loads(seem("get", item["id"], "--json")[1])["data"]["frame"]["id"]
    assert "participants: Ana" in seem("get", frame)[1]
    assert seem("verify")[1] == "sound\n"
    assert "passages" in seem("stats")[1]
    assert seem("answer", "tree?")[1].startswith("[1]")
    assert "Nothing found" in seem("search", "tree", "-u", "nobody")[1]


def test_standard_input(seem: Seem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xc3\xa9 \xff")))
    assert data(seem("add", "-", "--json"))["results"][0]["memory"] == "café \N{REPLACEMENT CHARACTER}"


def test_evidence_is_lit_and_stored_text_is_never_obeyed() -> None:
    fact = {"subject": "Ana", "object": "Harbour Street 9"}
    text = render.lit("Ana moved\x1b[2J to Harbour\u202e Street", "When did she move?", [fact])
    assert text.plain == "Ana moved\N{REPLACEMENT CHARACTER}[2J to Harbour\N{REPLACEMENT CHARACTER} Street"
    assert {(text.plain[s.start : s.end], s.style) for s in text.spans} == {
        ("Ana", render.TOLD),
        ("moved", render.ASKED),
        ("Harbour", render.TOLD),
        ("Street", render.TOLD),
    }


def test_import_resumes_and_export_comes_back(seem: Seem, tmp_path: Path) -> None:
    path = chat_file(tmp_path, TARTU, PLANTED, NARVA)
    told = data(seem("import", "--format", "chat", str(path), "--dry-run", "--json"))
    assert (told["passages"], told["extracted"], told["problems"]) == (3, 3, [])
    assert told["tokens"] > told["words"]
    assert told["seconds"] > 0
    assert data(seem("list", "--json"))["results"] == []
    assert data(seem("import", "--format", "chat", str(path), "--limit", "2", "--json"))["added"] == 2
    again = data(seem("import", "--format", "chat", str(path), "--json"))
    assert (again["added"], again["known"], again["waiting"]) == (1, 2, 0)
    file = tmp_path / "out.jsonl"
    assert data(seem("export", "-o", str(file), "--json"))["file"] == str(file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["text"] for line in lines] == [TARTU, PLANTED, NARVA]
    assert lines[0]["facts"][0]["object"] == "Tartu"
    assert lines[0]["frame"]["id"] == lines[0]["frame_id"]
    assert data(seem("import", "--format", "jsonl", str(file), "--json"))["known"] == 3
    assert data(seem("import", "--format", "jsonl", str(file), "-u", "other", "--json"))["added"] == 3
    other = data(seem("export", "-u", "other", "--json"))
    assert [(o["id"], o["speaker"], o["role"], o["user_id"]) for o in other] == [
        (t, "Ana", "user", "other") for t in (TARTU, PLANTED, NARVA)
    ]
    assert seem("export")[1] == file.read_text()


def test_what_cannot_be_imported_is_told_by_line_and_the_rest_is_kept(seem: Seem, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "{TARTU}"}}\n{{"text": \n{{"text": "  "}}\n')
    status, _, err = seem("import", "--format", "jsonl", str(path))
    assert status == 1
    assert "line 2: not JSON" in err
    assert "line 3: the text is empty" in err
    assert len(data(seem("list", "--json"))["results"]) == 1


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("import", "--format", "chta", "x.json"), "input", "did you mean chat?"),
        (("import", "--format", "chat", "/no/such.json"), "input", "cannot be read"),
        (("import", "--format", "jsonl", "/no/such.jsonl"), "input", "There is no file"),
        (("import", "--format", "chat", "x.json", "--zone", "Mars/Olympus"), "input", "no time zone"),
        (("add", "  "), "input", "nothing to remember: the text is empty"),
        (("add", "x", "--timestamp", "tomorrow"), "input", "timestamp"),
        (("add", "x", "-u", "\udc80"), "input", "surrogate"),
        (("add", "x", "-u", ""), "input", "user_id"),
        (("search", " "), "input", "empty"),
        (("search", "x", "--expand", "maybe"), "input", "expand"),
        (("search", "x", "-k", "0"), "input", "top_k"),
        (("get", "p_none"), "not_found", "p_none"),
        (("delete", "p_none", "--yes"), "not_found", "p_none"),
        (("delete",), "input", "either an id"),
        (("delete", "--all", "--yes"), "input", "-u"),
        (("list", "--config", "/no/such.yaml"), "config", "cannot be read"),
        (("frobnicate",), "usage", "frobnicate"),
        (("search",), "usage", "query"),
        (("list", "-k", "many"), "usage", "integer. See: seem list --help"),
    ],
)
def test_every_error_is_one_sentence(seem: Seem, words: tuple[str, ...], code: str, sentence: str) -> None:
    assert sentence.casefold() in error(seem(*words, "--json"), code).casefold()
    status, out, err = seem(*words)
    assert status != 0
    assert out == ""
    assert sentence.casefold() in err.casefold()
    assert "Traceback" not in err


def test_a_lone_surrogate_is_stored_as_a_replacement(seem: Seem) -> None:
    assert data(seem("add", "a \udc80 b", "--json"))["results"][0]["memory"] == "a \N{REPLACEMENT CHARACTER} b"
    assert seem("search", "a \udc80 b")[0] == 0


def test_broken_json_names_the_place(seem: Seem, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('[{"role": "user", "content": "x"')
    assert "line 1, column" in error(seem("import", "--format", "chat", str(path), "--json"), "input")
    path.write_text("[]")
    assert "nothing to remember" in error(seem("import", "--format", "chat", str(path), "--json"), "input")


def test_a_file_that_is_no_database_is_left_untouched(seem: Seem, tmp_path: Path) -> None:
    file = tmp_path / "home" / "memory.db"
    file.parent.mkdir()
    file.write_bytes(b"these are my notes, not a database" * 40)
    for words in (("list",), ("verify",), ("add", "x"), ("search", "x")):
        assert "not a SEEM database" in error(seem(*words, "--json"), "store")
    assert file.read_bytes().startswith(b"these are my notes")


def test_verify_tells_every_fault(seem: Seem, tmp_path: Path) -> None:
    import sqlite3

    seem("add", TARTU)
    with sqlite3.connect(tmp_path / "home" / "memory.db") as connection:
        connection.execute("DELETE FROM vectors WHERE kind = 'passage'")
    connection.close()
    status, out, err = seem("verify")
    assert status == 1
    assert "has no vector; run `seem reindex`" in out
    assert "1 faults" in err
    assert error(seem("verify", "--json"), "store")
    seem("reindex")
    assert seem("verify")[0] == 0


def test_a_missing_model_fails_but_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_parts(options: Options) -> Parts:
        return Parts(options.settings(), encoder=HashingEncoder(), judge=ScriptedJudge(), reader=ScriptedReader())

    monkeypatch.setattr(app, "open_parts", open_parts)
    config = tmp_path / "c.yaml"
    config.write_text(f"data_dir: {tmp_path}\ndecoder: {{model: {tmp_path}/no-such-model}}\n")
    assert cli.main(["add", TARTU, "--config", str(config)]) == 1
    assert "seem retry" in capsys.readouterr().err
    assert cli.main(["search", "Tartu", "--config", str(config)]) == 0
    assert TARTU in capsys.readouterr().out
    path = chat_file(tmp_path, PLANTED)
    assert cli.main(["import", "--format", "chat", str(path), "--config", str(config), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["error"]["code"], told["data"]["waiting"]) == ("error", "model", 1)


def test_delete_asks(seem: Seem, monkeypatch: pytest.MonkeyPatch) -> None:
    seem("add", TARTU, "-u", "ana")
    for reply, left in (("n\n", 1), ("y\n", 0)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(reply))
        status, _, err = seem("delete", "--all", "-u", "ana")
        assert (status == 0) == (left == 0)
        assert "ana" in err
        assert json.loads(seem("list", "-u", "ana", "--json")[1])["count"] == left


def test_interruption_and_a_full_disk(seem: Seem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "out.jsonl")

    monkeypatch.setattr(exporting, "write", stop)
    assert seem("export")[0] == 130
    assert "stopped" in error(seem("export", "--json", "-o", "x"), "interrupted")
    monkeypatch.setattr(exporting, "write", full)
    assert "the disk is full" in error(seem("export", "--json", "-o", "x"), "os")
    assert "check the path" in reason(PermissionError(errno.EACCES, "Permission denied", "/x"))


def test_an_export_is_whole_or_not_at_all(seem: Seem, tmp_path: Path) -> None:
    seem("add", TARTU)
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "check the path" in error(seem("export", "-o", str(folder / "no" / "x.jsonl"), "--json"), "os")
    assert list(folder.iterdir()) == []


def test_config_says_where_each_value_came_from(seem: Seem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("search: {top_k: 7}\n")
    monkeypatch.setenv("SEEM_SEARCH__DAMPING", "0.6")
    told = data(seem("config", "--config", str(file), "--data-dir", str(tmp_path), "--json"))
    assert told["search.top_k"] == {"value": 7, "from": "file"}
    assert told["search.damping"] == {"value": 0.6, "from": "env"}
    assert told["data_dir"] == {"value": str(tmp_path), "from": "option"}
    assert told["store.url"]["from"] == "default"
    assert "search.top_k" in seem("config")[1]


def test_the_demo_runs_in_a_folder_of_its_own(seem: Seem, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    status, out, err = seem("demo", "--data-dir", str(folder))
    assert (status, err) == (0, "")
    for shown in (
        "── session S1 ──",
        "event  ",
        "? Where does Owen live now?",
        "(expected: Harbour Street 9)",
        str(folder),
        "Try next",
    ):
        assert shown in out
    assert data(seem("demo", "--data-dir", str(folder), "--json"))["answers"][0]["expected"].startswith("His physio")


def test_the_demo_needs_the_repository(seem: Seem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SAMPLES", tmp_path / "nowhere")
    assert "run this from a clone" in error(seem("demo", "--json"), "input")


def test_help_and_a_quick_start() -> None:
    probe = (
        "import sys, seem.cli.main; "
        "heavy = {'torch', 'faiss', 'transformers', 'torch_geometric', 'peft'} & set(sys.modules); "
        "assert not heavy, heavy; sys.exit(seem.cli.main.main(['--help']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, timeout=300, env=os.environ | {"COLUMNS": "100"}
    )
    assert (done.returncode, done.stderr) == (0, "")
    for command in (
        "add import search answer list get update delete history stats verify reindex retry export config demo".split()
    ):
        assert f"\n  {command} " in done.stdout
    assert "«default»" in done.stdout


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "seem.cli.main", "config", "--data-dir", str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read()
    assert b"Traceback" not in told
    assert b"BrokenPipe" not in told
