"""Wrong gold labels: both scores are told, the data stays as it is, and each correction says why and from where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from seem.config import Config
from seem.errors import InputError
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge
from seem.wiring import Parts
from training.benchmarks.errata import read_errata
from training.benchmarks.locomo import BENCH, cases
from training.benchmarks.program import measure
from training.benchmarks.run import Plan
from training.benchmarks.tables import tables

# Ten invented items: one gold ignores a newer statement, one has a wrong count of weeks, one a wrong weekday, one no answer.
ITEMS: list[tuple[str, str, str]] = [
    ("Where does Odile live?", "Tartu", "Narva"),
    ("How many weeks was Rune away?", "3", "4"),
    ("On which weekday was the fair?", "Monday", "Tuesday"),
    ("Who keeps the goats?", "Milo", "Milo"),
    ("What did Odile sell?", "the piano", "the piano"),
    ("Who fetched it?", "Rune", "Rune"),
    ("What does Rune drive?", "a van", "a van"),
    ("Where is the key?", "under the hive", "under the hive"),
    ("What is green?", "the bicycle", "the bicycle"),
    ("Whose is the hat?", "nobody's", "Ana's"),
]
ERRATA: list[dict[str, Any]] = [
    {"id": "invented#1", "answer": "Narva", "reason": "she moved in session 1, turn 2", "evidence": ["D1:2"]},
    {"id": "invented#2", "answer": "4", "reason": "1 to 29 May are four weeks", "evidence": ["D1:3"]},
    {"id": "invented#3", "answer": "Tuesday", "reason": "7 May 2024 is a Tuesday", "evidence": ["D1:4"]},
    {"id": "invented#10", "unusable": True, "reason": "the hat is never mentioned", "evidence": ["D1:1"]},
]


class Knowing:
    """A reader that gives the true answers."""

    name = "knowing"

    def answer(self, question: str, context: str) -> str:
        return next(true for asked, _, true in ITEMS if asked == question)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    turns = [{"dia_id": f"D1:{n}", "speaker": "Odile", "text": f"turn {n}"} for n in range(1, 5)]
    qa = [{"question": q, "answer": gold, "evidence": ["D1:1"], "category": 4} for q, gold, _ in ITEMS]
    conversation = {"speaker_a": "Odile", "session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2024"}
    path = tmp_path / "invented.json"
    path.write_text(json.dumps([{"sample_id": "invented", "conversation": conversation, "qa": qa}]))
    return path


def written(folder: Path, told: Any) -> Path:
    path = folder / "errata.yaml"
    path.write_text(yaml.safe_dump(told))
    return path


def test_raw_and_corrected_scores_stand_side_by_side(data: Path, tmp_path: Path) -> None:
    """O-38: a right system loses four of ten by the labels and none by the corrected ones; what was left out is listed."""
    before = data.read_bytes()
    models = Parts(
        Config.from_dict({}),
        encoder=HashingEncoder(),
        extractor=ScriptedExtractor(),
        judge=ScriptedJudge(),
        reader=Knowing(),
    )
    errata = read_errata(written(tmp_path, ERRATA))
    report = measure(BENCH, cases(data), Plan(("bm25",), (3,), 500, answer_k=3), models, tmp_path, errata=errata)
    told = report["methods"]["bm25"]["answers"]
    assert (told["scores"]["exact"]["mean"], told["scores"]["exact"]["count"]) == (0.6, 10)
    assert (told["corrected"]["exact"]["mean"], told["corrected"]["exact"]["count"]) == (1.0, 9)
    assert report["always_not_mentioned_corrected"]["exact"]["count"] == 9
    assert [(row["id"], row["was"], row["now"]) for row in report["errata"]["corrected"]] == [
        ("invented#1", "Tartu", "Narva"), ("invented#2", "3", "4"), ("invented#3", "Monday", "Tuesday"),
    ]  # fmt: skip
    assert [row["reason"] for row in report["errata"]["unusable"]] == ["the hat is never mentioned"]
    shown = tables(report, (3,), BENCH)
    assert "bm25, corrected" in shown and "(constant), corrected" in shown and "the hat is never mentioned" in shown
    assert data.read_bytes() == before


def test_errata_that_name_nothing_in_the_data_are_refused(data: Path, tmp_path: Path) -> None:
    """O-38."""
    errata = read_errata(written(tmp_path, [{**ERRATA[0], "id": "invented#11"}]))
    with pytest.raises(InputError, match=r"invented#11, which the data does not hold"):
        measure(BENCH, cases(data), Plan(("bm25",), (3,), 500), Parts(Config.from_dict({})), tmp_path, errata=errata)


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"id": "x#1"}, "must hold a list"),
        ([{**ERRATA[0], "reason": ""}], "correction 1: reason is missing"),
        ([{**ERRATA[0], "evidence": []}], "evidence is missing"),
        ([{**ERRATA[0], "evidence": "D1:1"}], "evidence must be a list"),
        ([{**ERRATA[0], "unusable": True}], "one of both"),
        ([{"id": "x#1", "reason": "r", "evidence": ["D1:1"]}], "one of both"),
        ([{**ERRATA[0], "anwser": "x"}], "anwser is unknown"),
        ([ERRATA[0], ERRATA[0]], "given twice"),
        ([5, {"id": "y"}], "2 problem"),
    ],
)
def test_each_correction_needs_an_id_a_reason_and_evidence(told: Any, problem: str, tmp_path: Path) -> None:
    """O-38."""
    with pytest.raises(InputError, match=problem):
        read_errata(written(tmp_path, told))
