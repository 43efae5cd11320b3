"""The trained router without a network: it comes back from disk as it was, and refuses what it was not made for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seem.config import Config
from seem.errors import ModelError
from seem.models.adapters import Manifest, read_manifest
from seem.models.fakes import HashingEncoder
from seem.models.router import (
    TASK,
    Asked,
    Kind,
    Linear,
    Neighbours,
    Scorer,
    TunedRouter,
    arrays_file,
    beside,
    manifest_settings,
    tfidf,
    write_scorer,
)
from seem.wiring import Parts

SIGNALS = {"rule": (0.5, 0.5), "words": (0.0, 2.0)}
ENCODER = HashingEncoder(8)
RULE_ONLY = Linear(np.array([1.0, 0.0]), np.zeros(8), 0.0)


def written(folder: Path, kind: Kind, scorer: Scorer, encoder: HashingEncoder = ENCODER) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    write_scorer(folder, kind, scorer)
    (folder / "adapter_config.json").write_text("{}")
    Manifest(TASK, "b", "f", "t", "1", manifest_settings(kind, scorer, SIGNALS, encoder.fingerprint)).write(folder)
    return str(folder)


def choice(folder: str, question: str = "Why?", rule: float = 1.0) -> str:
    router = TunedRouter(ENCODER, folder, signals=list(SIGNALS))
    return router.choose(question, ENCODER.encode([question])[0], {"words": 3.0, "rule": rule, "more": 7.0})


def test_each_kind_comes_back_and_chooses(tmp_path: Path) -> None:
    linear = written(tmp_path / "a", "logistic", RULE_ONLY)
    assert choice(linear, rule=1.0) == "expand" and choice(linear, rule=0.0) == "graph"
    words = Linear(np.zeros(2), np.zeros(8), -0.1, np.array([1.0, -1.0]), np.ones(2), ("what happened", "when"))
    told = written(tmp_path / "b", "svm", words)
    assert choice(told, "What happened then?") == "expand"
    assert choice(told, "When was it?") == choice(told, "Nothing known") == "graph"
    known = Asked(np.zeros((2, 2)), ENCODER.encode(["why did it end", "red bicycle"]).astype(float), ("", ""))
    near = written(tmp_path / "c", "knn", Neighbours(beside(known), np.array([0.4, -0.4]), 1))
    assert choice(near, "why did it end") == "expand" and choice(near, "red bicycle") == "graph"
    assert TunedRouter(ENCODER, near, signals=list(SIGNALS)).name == "b+router:knn@1"


def test_a_score_of_nothing_takes_the_cheaper_arm(tmp_path: Path) -> None:
    assert choice(written(tmp_path, "logistic", Linear(np.zeros(2), np.zeros(8), 0.0))) == "graph"


def test_tfidf_rows_have_length_one_or_zero() -> None:
    rows = tfidf(["Why why not", "other"], ["why", "why not"], np.array([1.0, 2.0]))
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0])
    assert rows[0, 0] / rows[0, 1] == pytest.approx((1 + np.log(2)) / 2)


def test_the_configuration_loads_it(tmp_path: Path) -> None:
    from seem.read.route_signals import NAMES

    scorer = Linear(np.zeros(len(NAMES)), np.zeros(8), 1.0)
    write_scorer(tmp_path, "logistic", scorer)
    (tmp_path / "adapter_config.json").write_text("{}")
    told = manifest_settings("logistic", scorer, dict.fromkeys(NAMES, (0.0, 1.0)), ENCODER.fingerprint)
    Manifest(TASK, "b", "f", "t", "1", told).write(tmp_path)
    config = Config.from_dict({"router": {"engine": "tuned", "adapter": str(tmp_path)}})
    router = Parts(config, encoder=ENCODER).router
    assert router.choose("Who?", ENCODER.encode(["Who?"])[0], dict.fromkeys(NAMES, 0.0)) == "expand"


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, "logistic", RULE_ONLY)
    manifest = read_manifest(tmp_path)
    with pytest.raises(ModelError, match="trained on vectors of hashing-8, but other-8 is configured"):
        TunedRouter(HashingEncoder(8, "other"), folder, signals=list(SIGNALS))
    with pytest.raises(ModelError, match="reads other signals than this version gives"):
        TunedRouter(ENCODER, folder, signals=["rule"])
    with pytest.raises(ModelError, match="their order"):
        TunedRouter(ENCODER, folder, signals=["words", "rule"])
    changes: list[tuple[Manifest, str]] = [
        (replace(manifest, task="judge"), "trained for 'judge', not for 'router'"),
        (replace(manifest, settings={"kind": "logistic"}), "not whole"),
        (replace(manifest, settings={**manifest.settings, "kind": "tree"}), "of no kind known here"),
        (replace(manifest, settings={**manifest.settings, "vocabulary": ["a"]}), "weights of other sizes"),
        (replace(manifest, settings={**manifest.settings, "kind": "knn", "neighbours": 3}), "cannot be used"),
        (replace(manifest, settings={**manifest.settings, "kind": "lora"}), "works on a SentenceEncoder's network"),
    ]
    for changed, told in changes:
        changed.write(tmp_path)
        with pytest.raises(ModelError, match=told):
            TunedRouter(ENCODER, folder, signals=list(SIGNALS))
    manifest.write(tmp_path)
    arrays_file(tmp_path, "logistic").write_bytes(json.dumps({}).encode())
    with pytest.raises(ModelError, match="cannot be used"):
        TunedRouter(ENCODER, folder, signals=list(SIGNALS))
