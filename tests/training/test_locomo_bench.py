"""The benchmark from file to table, on an invented conversation and scripted models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seem.config import Config
from seem.errors import InputError, ModelError
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge, ScriptedReader
from seem.store.store import Store
from seem.wiring import Parts
from training.benchmarks.cases import Case
from training.benchmarks.locomo import BENCH, cases, main
from training.benchmarks.memories import import_case
from training.benchmarks.program import chosen, measure
from training.benchmarks.run import Plan

LINES = [
    ("Odile", "I sold the piano to a neighbour."),
    ("Rune", "At last! It filled the whole room."),
    ("Odile", "The new bicycle is green and fast."),
    ("Rune", "Nice weather today."),
    ("Odile", "My brother moved to Lisbon in spring."),
    ("Rune", "He always wanted the sea."),
]


def turns(session: int) -> list[dict[str, Any]]:
    return [
        {"dia_id": f"D{session}:{n}", "speaker": who, "text": f"{text} ({session})"}
        for n, (who, text) in enumerate(LINES, 1)
    ]


SAMPLE: dict[str, Any] = {
    "sample_id": "invented-1",
    "conversation": {
        "speaker_a": "Odile",
        "speaker_b": "Rune",
        "session_1": turns(1),
        "session_1_date_time": "1:56 pm on 8 May, 2024",
        "session_2": turns(2),
        "session_2_date_time": "1:56 pm on 9 June, 2024",
    },
    "qa": [
        {"question": "Who sold the piano (1)?", "answer": "Odile", "evidence": ["D1:1"], "category": 4},
        {"question": "Is the sea wanted (2)?", "answer": "yes", "evidence": [], "category": 3},
        {"question": "Where did the brother move?", "answer": "Lisbon", "evidence": ["D1:5", "D9:9"], "category": 1},
        {"question": "Who sold the bicycle?", "evidence": ["D2:3"], "category": 5, "adversarial_answer": "Rune"},
    ],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "invented.json"
    second = {**SAMPLE, "sample_id": "invented-2"}
    path.write_text(json.dumps([SAMPLE, second]), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    kept = tmp_path / "kept"
    kept.mkdir()
    yield kept


def models(extractor: ScriptedExtractor | None = None, **config: Any) -> Parts:
    return Parts(
        Config.from_dict(config),
        encoder=HashingEncoder(),
        extractor=extractor or ScriptedExtractor(),
        judge=ScriptedJudge({frozenset({LINES[0][1] + " (1)", LINES[1][1] + " (1)"}): 0.9}),
        reader=ScriptedReader(),
    )


METHODS = (
    "dense",
    "bm25",
    "rrf",
    "graph",
    "seem",
    "seem-no-facts",
    "seem-no-propagation",
    "seem-no-expansion",
    "seem-no-frames",
    "seem-no-router",
)


def plan(*methods: str, ks: tuple[int, ...] = (3,), **more: Any) -> Plan:
    return Plan(methods, ks, 1500, **more)


def second(data: Path) -> list[Case]:
    return chosen(cases(data), "invented-2")


def test_every_method_is_measured_on_the_same_questions(data: Path, folder: Path) -> None:
    report = measure(BENCH, cases(data), plan(*METHODS, ks=(1, 3, 12), answer_k=10), models(), folder)
    assert tuple(report["methods"]) == METHODS
    for told in report["methods"].values():
        # Found the piano, nothing to find for the sea, and half of the brother: D9:9 does not exist.
        assert told["recall"]["12"] == pytest.approx((1 + 1 + 0.5) / 3)
        assert told["all_found"]["12"] == pytest.approx(2 / 3)
        assert told["by_category"]["3"] == {"1": 1.0, "3": 1.0, "12": 1.0}
        assert told["by_category"]["1"]["12"] == 0.5
        assert "2" not in told["by_category"]
        assert told["recall"]["1"] <= told["recall"]["3"] <= told["recall"]["12"]
        assert told["latency_ms"]["12"]["p95"] >= told["latency_ms"]["12"]["median"] > 0
        assert 0 < told["context_tokens"]["1"]["mean"] < told["context_tokens"]["12"]["mean"] <= 1500
        assert len(told["answers"]["texts"]) == 8 and told["answers"]["model"] == "scripted"
    assert report["methods"]["bm25"]["by_category"]["4"]["1"] == 1.0
    assert report["questions"]["overall"] == 6 and report["questions"]["without_evidence"] == 2
    assert report["import"]["passages"] == 24 and report["import"]["fused_frames"] == 2
    assert "D9:9" in report["import"]["conversations"]["invented-1"]["problems"][0]
    assert report["settings"]["data_sha256"] and report["settings"]["load_average"]
    json.dumps(report)


def test_a_budget_of_tokens_binds_every_method(data: Path, folder: Path) -> None:
    for budget, most in ((1, 0), (60, 60)):
        report = measure(BENCH, second(data), Plan(("rrf", "graph", "seem"), (12,), budget), models(), folder)
        for told in report["methods"].values():
            assert told["context_tokens"]["12"]["p95"] <= most
            assert told["by_category"]["4"]["12"] == (1.0 if most else 0.0)


def test_a_kept_import_is_not_made_again_unless_a_model_changes(data: Path, folder: Path) -> None:
    first, again, third = ScriptedExtractor(), ScriptedExtractor(), ScriptedExtractor()
    before = measure(BENCH, second(data), plan("seem"), models(first), folder)
    after = measure(BENCH, second(data), plan("seem"), models(again), folder)
    assert len(first.calls) == 12 and again.calls == []
    assert after["methods"] == before["methods"]
    assert after["import"]["seconds"] == before["import"]["seconds"] > 0
    measure(BENCH, second(data), plan("seem"), models(third, extract={"null_bias": 1.0}), folder)
    assert len(third.calls) == 12


def test_an_import_that_was_killed_goes_on(data: Path, folder: Path) -> None:
    class Killed(RuntimeError):
        pass

    def die(passage: Any) -> None:
        raise Killed

    (case,) = second(data)
    with pytest.raises(Killed):
        import_case(case, models(ScriptedExtractor(before=die)), folder)
    rest = ScriptedExtractor()
    imported = import_case(case, models(rest), folder)
    assert len(rest.calls) == 12 and imported.counts["extracted"] == 12 and imported.counts["passages"] == 12
    assert imported.cost.bytes and imported.cost.seconds > 0


def test_passages_without_vectors_are_indexed(data: Path, folder: Path) -> None:
    plain = Parts(
        Config.from_dict({"extract": {"engine": "none"}, "judge": {"candidates": 0}}), encoder=HashingEncoder()
    )
    (case,) = second(data)
    imported = import_case(case, plain, folder)
    assert imported.counts["passages"] == 12 and imported.counts["extracted"] == 0
    (file,) = folder.glob("*.db")
    imported.pipeline.parts.store.close()
    file.unlink()
    with Store(file) as store:
        store.add_passages("invented-2", case.drafts)
    again = import_case(case, plain, folder)
    with again.pipeline.states.state("invented-2") as state:
        assert len(state.vectors["passage"]) == 12


def test_unknown_methods_and_conversations_are_named(
    data: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="no method 'colbert'; choose among dense"):
        measure(BENCH, cases(data), plan("colbert"), models(), folder)
    with pytest.raises(InputError, match="seem-gold needs labelled conversations"):
        measure(BENCH, cases(data), plan("seem-gold"), models(), folder)
    with pytest.raises(InputError, match="http needs the address"):
        measure(BENCH, cases(data), plan("http"), models(), folder)
    with pytest.raises(InputError, match=r"no conversation 'conv-9' in the data; it holds invented-1, invented-2"):
        chosen(cases(data), "conv-9")
    silent = Parts(Config.from_dict({"answer": {"engine": "none"}}), encoder=HashingEncoder())
    with pytest.raises(ModelError, match=r"answer\.engine is none"):
        measure(BENCH, cases(data), plan("dense", answer_k=3), silent, folder)
    assert main(["--data", str(data), "--json", str(tmp_path / "o.json"), "--k", "five"]) == 1
    assert "--k must be whole numbers" in capsys.readouterr().err
    assert (
        main(["--data", str(data), "--json", str(tmp_path / "o.json"), "--judge", "configs/benchmarks/judge.yaml"]) == 1
    )
    assert "give --answer too" in capsys.readouterr().err
