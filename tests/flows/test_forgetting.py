"""Forgetting with a receipt: what is meant goes from everywhere, what others support stays, and the files are clean."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from seem.cli import exporting
from seem.errors import InputError, NotFoundError, StoreError
from seem.memory import Memory
from seem.models.fakes import ScriptedExtractor, extraction
from seem.models.protocols import ExtractItem
from seem.store import store as stores
from seem.store.verify import verify
from seem.types import Event, Extraction, Fact
from tests.flows.people import (
    CODE,
    GROWING,
    MARK,
    NARVA,
    PAINTED,
    PLANTED,
    SCRIPT,
    TARTU,
    THANKS,
    memory,
    parts,
    said,
    texts,
)

JANUARY, JUNE = "2024-01-02T10:00+00:00", "2024-06-02T10:00+00:00"
ANA: Any = {"user_id": "ana"}


def residue(folder: Path, mark: str = MARK) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.is_file() and mark.encode() in file.read_bytes()]


def test_a_deleted_text_is_nowhere_and_the_receipt_says_what_went(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with memory(tmp_path) as opened:
        gone, kept = opened.add(said(CODE, PAINTED), **ANA)["results"]
        assert len(residue(tmp_path)) > 0
        told = opened.forget(gone["id"])
        assert residue(tmp_path) == []
        assert {kind: told["removed"][kind] for kind in ("passages", "extractions", "frames", "facts", "entities")} == {
            "passages": 1,
            "extractions": 1,
            "frames": 0,
            "facts": 1,
            "entities": 1,
        }
        # passage, extraction, fact and the entity of its object
        assert told["removed"]["vectors"] == 4
        assert told["refolded"]["frames"] == 1
        [part] = told["memories"]
        assert (part["memory"], part["removed"]["passages"]) == ("user_id:ana", [gone["id"]])
        assert part["refolded"]["frames"] == [kept["frame"]["id"]]
        scan = told["scan"]
        assert (told["clean"], scan["hits"]) == (True, 0)
        assert {file["file"] for file in scan["files"]} >= {"memory.db", "memory.db-wal"}
        assert scan["bytes"] > 10_000 and scan["looked_for"] > 3
        assert MARK not in json.dumps(told)
        exporting.write(exporting.export(opened, "user_id:ana"), tmp_path / "export.jsonl")
        assert texts(opened.search("What is the door code?", **ANA)) == [PAINTED]
        assert verify(opened.parts.store, None) == []
    assert residue(tmp_path) == []
    assert MARK not in caplog.text


def test_an_update_erases_nothing_and_a_later_deletion_all(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        first = opened.add(said(CODE), **ANA)["results"][0]["id"]
        opened.update(first, PLANTED)
        assert opened.history(first)[-1]["old_memory"] == CODE
        assert opened.forget(first)["clean"]
        assert residue(tmp_path) == []
        assert [line["event"] for line in opened.history(first)] == ["ADD", "UPDATE", "DELETE"]


def test_a_copy_beside_the_database_is_told(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        first = opened.add(said(CODE), **ANA)["results"][0]["id"]
        exporting.write(exporting.export(opened, "user_id:ana"), tmp_path / "export.jsonl")
        told = opened.forget(first)
        assert not told["clean"]
        assert [file["file"] for file in told["scan"]["files"] if file["hits"]] == ["export.jsonl"]


@pytest.mark.parametrize(
    ("said_of", "left"),
    [
        ({"session": "s1"}, [NARVA, THANKS]),
        ({"speaker": "Bo"}, [TARTU, PLANTED, NARVA]),
        ({"before": "2024-03-01"}, [NARVA, THANKS]),
        ({"session": "s2", "speaker": "Bo"}, [TARTU, PLANTED, NARVA]),
        ({"session": "s1", "speaker": "Bo"}, [TARTU, PLANTED, NARVA, THANKS]),
        ({"run_id": "s2", "everything": True}, [TARTU, PLANTED]),
        ({"filters": {"mood": "good"}}, [TARTU, PLANTED, THANKS]),
        ({"everything": True}, []),
    ],
)
def test_what_is_meant_goes_and_nothing_else(tmp_path: Path, said_of: dict[str, Any], left: list[str]) -> None:
    with memory(tmp_path) as opened:
        opened.add(said(TARTU, PLANTED), **ANA, run_id="s1", timestamp=JANUARY)
        opened.add(said(NARVA), **ANA, run_id="s2", timestamp=JUNE, metadata={"mood": "good"})
        opened.add(said(THANKS, name="Bo"), **ANA, run_id="s2", timestamp=JUNE)
        opened.add(said(TARTU, name="Bo"), user_id="bo")
        before = opened.parts.store.load("user_id:bo")
        told = opened.forget(**ANA, **said_of)
        assert texts(opened.get_all(**ANA)) == left
        assert told["removed"].get("passages", 0) == 4 - len(left)
        assert told["clean"]
        after = opened.parts.store.load("user_id:bo")
        assert (after.passages, after.frames, after.facts) == (before.passages, before.frames, before.facts)
        assert verify(opened.parts.store, None) == []


def test_what_is_not_said_or_not_there_is_refused(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        first = opened.add(said(TARTU), **ANA)["results"][0]
        for nothing in ({}, ANA, {"everything": True}, {"session": "s1"}, {**ANA, "session": ""}):
            with pytest.raises(InputError):
                opened.forget(**nothing)
        with pytest.raises(InputError, match="before"):
            opened.forget(**ANA, before="yesterday")
        with pytest.raises(NotFoundError):
            opened.forget(["p_none"])
        with pytest.raises(NotFoundError, match="user_id:bo"):
            opened.forget([first["id"]], user_id="bo")
        assert texts(opened.get_all(**ANA)) == [TARTU]
        assert opened.forget(first["frame"]["id"])["removed"]["passages"] == 1


def test_a_restricted_caller_erases_only_what_he_may_read(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        hidden = opened.add(said(TARTU), **ANA, readers=["ana"])["results"][0]["id"]
        opened.add(said(PLANTED), **ANA, readers=["bo"])
        with pytest.raises(NotFoundError):
            opened.forget(hidden, principals=["bo"])
        assert opened.forget(**ANA, everything=True, principals=["bo"])["removed"]["passages"] == 1
        assert texts(opened.get_all(**ANA)) == [TARTU]


class Borrower(ScriptedExtractor):
    """Says for «He» the name that was shown before."""

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        out = super().extract(items, progress=progress)
        for n, (passage, context, names) in enumerate(items):
            if passage.text.startswith("He "):
                he = next(
                    (p.text.split()[-1] for p in reversed(context) if "named" in p.text), names[0] if names else "He"
                )
                out[n] = extraction(passage, (Event((he,), passage.text[3:]),), (Fact(he, "sleeps", "all day"),))
        return out


def test_words_that_an_extraction_borrowed_from_the_forgotten_go_too(tmp_path: Path) -> None:
    extractor = Borrower(SCRIPT)
    with memory(tmp_path, extractor) as opened:
        first, second = opened.add(said(f"I adopted a dog named {MARK}", "He sleeps all day"), **ANA)["results"]
        assert MARK in json.dumps(second["frame"]["events"])
        assert MARK in json.dumps(opened.history(second["frame"]["id"]))
        told = opened.forget(first["id"])
        assert (told["again"], told["memories"][0]["again"], told["waiting"]) == (1, [second["id"]], {})
        assert (told["clean"], residue(tmp_path)) == (True, [])
        now = opened.get(second["id"])
        assert (now["status"], now["frame"]["events"][0]["participants"]) == ("done", ["Ana"])
        assert MARK not in json.dumps([opened.history(i) for i in (second["id"], second["frame"]["id"])])
        assert [line["new_memory"] for line in opened.history(second["id"])] == ["He sleeps all day"]
        assert verify(opened.parts.store, None) == []


def test_a_fact_told_under_two_names_keeps_the_words_of_who_remains(tmp_path: Path) -> None:
    short, long = "Ingrid lives in Tartu", "Ingrid Solheim lives in Tartu"
    script = {
        short: Extraction("", (Event(("Ingrid",), "lives in Tartu"),), (Fact("Ingrid", "lives in", "Tartu"),)),
        long: Extraction(
            "", (Event(("Ingrid Solheim",), "lives in Tartu"),), (Fact("Ingrid Solheim", "lives in", "Tartu"),)
        ),
    }
    with memory(tmp_path, ScriptedExtractor(script)) as opened:
        first, second = opened.add(said(long, short), **ANA)["results"]
        assert [fact["passages"] for fact in second["facts"]] == [[first["id"], second["id"]]]
        opened.forget(first["id"])
        assert [f["subject"] for f in opened.page("facts", 9, **ANA)["results"]] == ["Ingrid"]
        assert residue(tmp_path, "Solheim") == []
        assert verify(opened.parts.store, None) == []


def test_what_the_forgotten_had_ended_is_ended_by_what_remains(tmp_path: Path) -> None:
    paide = "I moved to Paide in August"
    script = {
        **SCRIPT,
        paide: Extraction("", (Event(("Ana",), "moved to Paide"),), (Fact("Ana", "lives in", "Paide"),)),
    }
    with memory(tmp_path, ScriptedExtractor(script)) as opened:
        opened.add(said(TARTU), **ANA, timestamp=JANUARY)
        middle = opened.add(said(NARVA), **ANA, timestamp=JUNE)["results"][0]["id"]
        opened.add(said(paide), **ANA, timestamp="2024-08-02T10:00+00:00")
        opened.forget(middle)
        ends = {f["object"]: f["invalid_at"] for f in opened.page("facts", 9, **ANA)["results"]}
        assert ends == {"Tartu": "2024-08-02", "Paide": None}


def test_a_failing_step_is_no_success_and_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with memory(tmp_path) as opened:
        first = opened.add(said(CODE), **ANA)["results"][0]["id"]

        def fail(_: Any) -> None:
            raise StoreError("another connection is reading")

        with monkeypatch.context() as patched:
            patched.setattr(stores.Store, "purge", fail)
            with pytest.raises(StoreError, match="reading"):
                opened.forget(first)
    with memory(tmp_path) as opened:
        assert opened.get_all(**ANA)["results"] == []
        assert residue(tmp_path) == []


def test_elsewhere_is_told_before_and_its_files_are_searched(tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "queue").write_text(CODE)
    (other / "rest").write_text(PAINTED)
    held: list[bool] = []
    with memory(tmp_path / "home") as opened:
        first = opened.add(said(CODE), **ANA)["results"][0]["id"]

        def elsewhere(erased: Any) -> list[Path]:
            held.extend(erased.in_file(other / name) for name in ("queue", "rest"))
            assert opened.get(first)["memory"] == CODE
            return [other / "queue", other / "rest"]

        told = opened.forget(first, elsewhere=elsewhere)
        assert held == [True, False]
        assert {f["file"]: f["hits"] > 0 for f in told["scan"]["files"]}["queue"]
        assert not told["clean"]


def test_a_memory_on_no_disk_has_nothing_to_search(tmp_path: Path) -> None:
    with Memory(parts=parts(tmp_path, store={"url": "sqlite://"})) as opened:
        first = opened.add(said(CODE, GROWING), **ANA)["results"][0]["id"]
        told = opened.forget(first)
        assert (told["removed"]["passages"], told["scan"]["files"], told["clean"]) == (1, [], None)
