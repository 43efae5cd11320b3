"""Drift: a live memory against a teacher on loopback, agreement with bounds, floors, a history, nothing paid twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seem.models.fakes import ScriptedExtractor, scripted
from seem.models.protocols import ExtractItem
from seem.store.store import Store
from seem.types import Extraction
from tests.flows.people import memory as opened
from tests.flows.people import said
from tests.training.openai_server import Answer, Server, block, event, frame
from training.operation.drift import DRIFTED, EARLY, main
from training.operation.sample import sampled

TEXTS = [f"{verb} the {thing}" for verb in ("mended", "painted", "sold") for thing in ("gate", "boat", "shed")]


class Students(ScriptedExtractor):
    """Repeats the words; for «sold» it is the prompted model of a cascade."""

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        models = ["big+prompt@1" if "sold" in p.text else "student@1" for p, _, _ in items]
        return [replace(scripted(p), model=model) for (p, _, _), model in zip(items, models, strict=True)]


@pytest.fixture
def live(tmp_path: Path) -> Path:
    with opened(tmp_path, Students()) as memory:
        for run_id, name in (("r1", "Ana"), ("r2", "Ben")):
            memory.add(said(*(f"{name} {text}" for text in TEXTS), name=name), user_id="ana", run_id=run_id)
    return tmp_path / "memory.db"


def config(folder: Path, url: str, **changes: Any) -> Path:
    told = {
        "endpoint": {"base_url": url, "model": "big", "retries": 0, "concurrency": 4},
        "price": {"input": 10.0, "output": 50.0},
        **changes,
    }
    path = folder / "teacher.yaml"
    path.write_text(json.dumps(told))
    return path


def agree(body: dict[str, Any]) -> Answer:
    """Say what the student said."""
    speaker, _, words = block(body, "passage").partition(": ")
    return Answer(frame(event([speaker], words), summary=f"{words}."))


def run(live: Path, settings: Path, *more: str) -> int:
    return main([str(live), "--config", str(settings), "--json", str(live.parent / "drift.json"), *more])


def told(live: Path) -> dict[str, Any]:
    row: dict[str, Any] = json.loads((live.parent / "drift.json").read_text())
    return row


def test_only_what_a_student_extracted_is_sampled_as_it_saw_it(live: Path) -> None:
    with Store(live) as store:
        everything = sampled(store, 100, since=None, memory=None, seed=1)
        some = sampled(store, 5, since=None, memory=None, seed=1)
        assert some == sampled(store, 5, since=None, memory=None, seed=1)
    assert len(everything) == 12 and {x.extraction.model for x in everything} == {"student@1"}
    assert len(some) == 5 and all(one in everything for one in some)
    later = next(x for x in everything if x.passage.text == "Ben painted the boat")
    assert [p.text for p in later.before] == ["Ben mended the shed", "Ben painted the gate"]
    assert later.names == ("Ben", "Ana")


def test_agreement_holds_and_a_repeat_pays_nothing(
    live: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(agree) as server:
        settings = config(tmp_path, server.url, drift={"sample": 8, "slot_f1": 0.9, "null_accuracy": 0.9})
        assert run(live, settings) == 0
        first = told(live)
        assert len(server.requests) == first["labelled"] == 8
        assert run(live, settings) == 0
        assert len(server.requests) == 8
    assert first["agreement"]["null_accuracy"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert first["agreement"]["slot_f1"]["value"] == 1.0 and first["students"] == {"student@1": 8}
    # Nobody stated a fact.
    assert first["agreement"]["fact_f1"]["value"] is None
    assert first["paid"]["cost"] == pytest.approx(8 * (100 * 10 + 20 * 50) / 1e6)
    assert told(live)["paid"]["requests"] == 0 and told(live)["paid"]["from_cache"] == 8
    history = (tmp_path / "drift.jsonl").read_text().splitlines()
    assert len(history) == 2 and "Ana" not in history[0]
    printed = capsys.readouterr().out
    assert printed.count("1.000 [1.000, 1.000]") == 6 and "student@1" in printed


def test_a_student_that_drifted_is_an_alarm(live: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The teacher finds nothing worth remembering in half of what is said.
    def respond(body: dict[str, Any]) -> Answer:
        return Answer(frame()) if "mended" in block(body, "passage") else agree(body)

    with Server(respond) as server:
        assert run(live, config(tmp_path, server.url, drift={"null_accuracy": 0.9, "slot_f1": 0.1})) == DRIFTED
    assert told(live)["below"] == ["null_accuracy"]
    assert told(live)["agreement"]["null_accuracy"]["value"] == 0.5
    assert "below its floor: null_accuracy" in capsys.readouterr().err


def test_a_budget_ends_it_early(live: Path, tmp_path: Path) -> None:
    with Server(agree) as server:
        settings = config(
            tmp_path,
            server.url,
            price={"input": 10.0, "output": 50.0, "budget": 0.035},
            answers={"max_tokens": 100},
            endpoint={"base_url": server.url, "model": "big", "concurrency": 1},
        )
        assert run(live, settings) == EARLY
        assert told(live)["labelled"] + told(live)["missing"] == 12 and told(live)["missing"] > 0


def test_what_cannot_be_checked_is_said(live: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = config(tmp_path, "http://127.0.0.1:9/v1")
    assert run(live, settings, "--since", "2999-01-01") == 1
    assert "holds no passage that a student extracted since 2999" in capsys.readouterr().err
    assert run(live, settings, "--since", "soon") == 1
    assert run(tmp_path / "nowhere.db", settings) == 1
    assert not (tmp_path / "nowhere.db").exists()
    assert run(live, settings, "--sample", "2") == 1
    assert "no usable label for 2 passages" in capsys.readouterr().err
    assert not (tmp_path / "drift.jsonl").exists()
