"""The evaluation from a labelled folder to its figures, with a scripted decoder behind the real extractor."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from seem.config import Config
from seem.errors import InputError
from seem.models.adapters import WEIGHTS, Manifest, read_manifest
from seem.models.decoder import Decoder
from seem.models.fakes import HashingEncoder, ScriptedJudge
from seem.models.greedy import Generated, Request
from seem.wiring import Parts
from training.corpus import CORPUS, load, split
from training.evaluate.figures import TARGETS, ceiling, table
from training.evaluate.null_bias import Trial, best
from training.evaluate.program import chosen, evaluate, tune
from training.evaluate.replay import Replay

PIANO = "I sold the piano yesterday."
PIANO_LINE = "E Odile| sold the piano|when yesterday\n"
BIKE = "I did not buy a bicycle."
SMALL_TALK = "Ha, indeed!"


@dataclass
class Base:
    name: str = "scripted"
    fingerprint: str = "0"


@dataclass
class ScriptedDecoder:
    """Says what the script says to the prompt's last turn: (margin of «none», the text that it would write else)."""

    script: Mapping[str, tuple[float, str]]
    finished: bool = True
    base: Base = field(default_factory=Base)
    batch_size: int = 2
    asked: list[Request] = field(default_factory=list)

    def load(self, adapter: str, *, task: str) -> Manifest:
        return Manifest(task, self.base.name, self.base.fingerprint, "0", "1")

    def generate(self, requests: Sequence[Request], *, task: str | None, max_tokens: int) -> list[Generated]:
        self.asked += requests
        return [self._said(request) for request in requests]

    def _said(self, request: Request) -> Generated:
        margin, text = next(
            (told for turn, told in self.script.items() if f": {turn}\n=>" in request.prompt), (-4.0, "")
        )
        none = margin + request.first_bias["none"] > 0
        return Generated("none" if none else text, self.finished, -0.1, 1 if none else 10, 2, margin)


SCRIPT = {PIANO: (-4.0, PIANO_LINE), BIKE: (1.2, "E Odile| not buy a bicycle\n"), SMALL_TALK: (2.2, "E Rune| indeed\n")}


def event(action: str, time: Any = None) -> dict[str, Any]:
    more = {"location": None, "causality": None, "manner": None}
    return {"participants": ["Odile"], "action": action, "time": time, **more}


def turn(number: int, speaker: str, text: str, events: list[Any]) -> dict[str, Any]:
    frame = {"summary": "Told.", "events": events} if events else None
    return {"id": f"S1:{number}", "speaker": speaker, "text": text, "frame": frame, "facts": []}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    yesterday = {"text": "yesterday", "start": "2024-05-07", "end": "2024-05-07"}
    raw = {
        "id": "friends-90",
        "kind": "friends",
        "speakers": ["Odile", "Rune"],
        "sessions": [
            {
                "id": "S1",
                "time": "2024-05-08T10:00",
                "turns": [
                    turn(1, "Odile", PIANO, [event("sold the piano", yesterday)]),
                    turn(2, "Rune", SMALL_TALK, []),
                    turn(3, "Odile", BIKE, [event("did not buy a bicycle")]),
                ],
            }
        ],
        "occurrences": [{"turns": ["S1:1", "S1:3"], "summary": "Told twice."}],
        "distinct": [],
        "questions": [],
    }
    inner = tmp_path / "corpus"
    inner.mkdir()
    (inner / "friends-90.json").write_text(json.dumps(raw), encoding="utf-8")
    return inner


def parts(decoder: ScriptedDecoder, judge: ScriptedJudge | None = None, **config: Any) -> Parts:
    made = Parts(Config.from_dict(config), encoder=HashingEncoder(), judge=judge or ScriptedJudge())
    made.decoder = cast(Decoder, decoder)
    return made


def test_a_perfect_student_meets_the_extractors_targets(folder: Path) -> None:
    script = {**SCRIPT, BIKE: (-1.0, "E Odile| did not buy a bicycle\n")}
    judge = ScriptedJudge({frozenset({PIANO, BIKE}): 0.9})
    told = evaluate(load(folder), parts(ScriptedDecoder(script), judge))
    for key, value in {"valid": 1, "null_f1": 1, "slot_f1": 1, "polarity_flips": 0, "unsupported": 0}.items():
        assert told[key] == value, key
    assert told["time_exact"] == 1.0 and told["times"] == 1
    assert told["judge_precision"] == told["judge_recall"] == told["judge_recall_on_labels"] == 1.0
    assert told["forced"] == pytest.approx(6 / 21) and told["tokens_per_passage"] == 7.0
    assert told["turns"] == 3 and told["decoded"] == 3 and told["reasons"] == {}
    assert {key for key, _, _ in TARGETS} <= told.keys()
    assert "null_f1              1.000   >=0.80" in table(told)
    json.dumps(told, allow_nan=False)


def test_faults_of_the_student_are_counted(folder: Path) -> None:
    broken = {**SCRIPT, PIANO: (-4.0, PIANO_LINE + "E Odile sold\n")}
    told = evaluate(load(folder), parts(ScriptedDecoder(broken)))
    assert told["valid"] == pytest.approx(2 / 3)
    # One of two turns with an event was taken for empty.
    assert told["null_precision"] == 0.5 and told["null_recall"] == 1.0
    assert told["dropped"] == 1
    cut = evaluate(load(folder), parts(ScriptedDecoder({**SCRIPT, PIANO: (-4.0, "E Odile| sold")}, finished=False)))
    assert cut["valid"] == 0.0 and cut["truncated"] == 1.0


def test_what_is_missing_is_null_with_a_reason(folder: Path) -> None:
    told = evaluate(load(folder), parts(ScriptedDecoder(SCRIPT), extract={"engine": "none"}))
    assert told["slot_f1"] is None and "extract.engine is none" in told["reasons"]["slot_f1"]
    assert told["judge_recall"] is None and told["judge_recall_on_labels"] == 0.0
    assert told["time_exact"] == 1.0
    assert "extract.engine is none" in table(told)


def test_a_replay_decodes_nothing_twice_and_survives_a_cut_line(folder: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    first, second, third = (ScriptedDecoder(SCRIPT) for _ in range(3))
    before = evaluate(load(folder), parts(first), kept)
    after = evaluate(load(folder), parts(second), kept)
    assert len(first.asked) == 3 and second.asked == []
    assert after["null_f1"] == before["null_f1"] and after["passages_per_second"] is None
    text = kept.read_text()
    kept.write_text(text[: len(text) - 20])
    evaluate(load(folder), parts(third), kept)
    assert len(third.asked) == 1 and kept.read_text().count("\n") == 3
    kept.write_text("{}\n")
    with pytest.raises(InputError, match=r"kept\.jsonl: line 1 is no kept output"):
        Replay(cast(Decoder, first), kept)


def test_tuning_decodes_once_and_writes_the_best_bias(folder: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    for name in (WEIGHTS, "adapter_config.json"):
        (adapter / name).write_text("")
    Manifest("extract", "scripted", "0", "0", "1", {"other": 1}).write(adapter)
    decoder = ScriptedDecoder(SCRIPT)
    trials = tune(load(folder), parts(decoder, extract={"adapter": str(adapter)}))
    assert len(decoder.asked) == 3
    by_bias = {trial.null_bias: trial for trial in trials}
    # At 0 the bicycle is taken for small talk; from -1.5 on it is not, until small talk becomes an event below -2.2.
    assert by_bias[0.0].null_f1 == pytest.approx(2 / 3) and by_bias[-1.5].null_f1 == by_bias[-2.0].null_f1 == 1.0
    assert by_bias[-2.5].null_f1 == 0.0
    assert read_manifest(adapter).settings == {"other": 1, "null_bias": -1.5}
    # What each bias gives is what decoding with that bias gives.
    for bias in (-2.5, 0.0):
        told = evaluate(load(folder), parts(ScriptedDecoder(SCRIPT), extract={"null_bias": bias}))
        assert told["null_f1"] == by_bias[bias].null_f1


def test_about_equal_decisions_leave_it_to_the_slots_and_then_to_the_smallest_bias() -> None:
    trials = [
        Trial(-1.0, 0.8, 0.5, 0.4),
        Trial(0.5, 0.79, 0.6, 0.1),
        Trial(1.0, 0.8, 0.6, 0.2),
        Trial(2.0, 0.77, 0.9, 0.9),
    ]
    assert best(trials).null_bias == 0.5


def test_the_test_split_is_the_default_where_there_is_one(folder: Path) -> None:
    assert {c.id for c in chosen(CORPUS, None, None)} == {c.id for c in split("test")}
    assert len(chosen(CORPUS, "dev", 2)) == 2
    assert [c.id for c in chosen(folder, None, None)] == ["friends-90"]
    with pytest.raises(InputError, match=r"has no split\.json"):
        chosen(folder, "dev", None)


def test_the_ceiling_is_near_what_the_guide_reports() -> None:
    told = ceiling(load(CORPUS), load(CORPUS / "second"))
    assert told["slot_f1"] == pytest.approx(0.65, abs=0.02) and told["fact_f1"] == pytest.approx(0.66, abs=0.02)
