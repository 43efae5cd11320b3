"""The hygiene of a run, on a network with hardly any weights: it stops early, goes on only as it began, and says what it was made of."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from seem.errors import ConfigError, ModelError
from seem.models.decoder import Decoder
from seem.read.parse import TunedQueryParser
from tests.models.tiny import tiny_base
from tests.training.test_labels import ROWS, written
from tests.training.tiny_corpus import conversation, tiny_corpus
from training.settings import Lora, Settings
from training.sft import build, train


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_corpus(tmp_path_factory.mktemp("data") / "corpus")


@pytest.fixture(scope="module")
def settings(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Two steps of the parser on a network of one layer."""
    return Settings(
        task="parse",
        output=str(tmp_path_factory.mktemp("run")),
        base=str(tiny_base(tmp_path_factory.mktemp("base"))),
        corpus=str(corpus),
        epochs=1.0,
        batch_size=4,
        gradient_accumulation=1,
        learning_rate=1e-2,
        max_length=128,
        rename=0.0,
        device="cpu",
        dtype="float32",
        save_steps=1,
        lora=Lora(r=2, alpha=4),
    )


@pytest.fixture(scope="module")
def adapter(settings: Settings) -> Path:
    return train(settings)


def losses(folder: Path, key: str) -> list[float]:
    return [e[key] for e in json.loads((folder / "metrics.json").read_text())["curve"] if key in e]


def test_the_run_tells_of_what_it_was_made(adapter: Path, settings: Settings) -> None:
    told = json.loads((adapter / "metrics.json").read_text())
    card = (adapter / "README.md").read_text(encoding="utf-8")
    assert re.fullmatch(r"[0-9a-f]{64}", told["rows_sha256"]) and told["rows_sha256"] in card
    assert {"python", "libraries", "processor", "gpu", "commit"} == set(told["environment"])
    assert f"commit {told['environment']['commit']}" in card and f"seed {settings.seed}" in card
    assert (adapter / "loss.png").read_bytes().startswith(b"\x89PNG") and "](loss.png)" in card
    assert list((adapter / "run" / "curves").rglob("*tfevents*"))


def test_the_adapter_is_the_parsers(adapter: Path, settings: Settings) -> None:
    decoder = Decoder(settings.base, device="cpu", dtype="float32")
    found = TunedQueryParser(decoder, str(adapter), max_tokens=24).parse("What did Cora buy for work?")
    assert all("?" in (f.subject, f.object) or f.subject for f in found)


def test_a_run_goes_on_only_as_it_began(adapter: Path, settings: Settings, corpus: Path) -> None:
    with pytest.raises(ConfigError, match="other settings"):
        train(replace(settings, learning_rate=1e-3))
    file = corpus / "conversations" / "ana-01.json"
    before = file.read_text()
    file.write_text(before.replace("What did Ana buy for work?", "What did Ana buy then for work?"))
    try:
        with pytest.raises(ConfigError, match="other training rows"):
            train(settings)
    finally:
        file.write_text(before)
    assert train(settings) == adapter


def test_dev_stops_a_run_and_the_best_weights_are_kept(settings: Settings, tmp_path: Path) -> None:
    folder = train(replace(settings, output=str(tmp_path), epochs=8.0, learning_rate=2.0, patience=2))
    curve = json.loads((folder / "metrics.json").read_text())
    measured = losses(folder, "eval_loss")
    assert max(e["step"] for e in curve["curve"]) < 16
    assert curve["eval_loss"] == pytest.approx(min(measured), rel=1e-4) and measured[-2] > min(measured)


def test_checkpointed_gradients_are_the_same(settings: Settings, tmp_path: Path) -> None:
    runs = [
        train(replace(settings, output=str(tmp_path / str(flag)), gradient_checkpointing=flag, epochs=1.0))
        for flag in (False, True)
    ]
    plain, checkpointed = (losses(run, "eval_loss")[-1] for run in runs)
    assert plain == pytest.approx(checkpointed, rel=1e-4)


def test_a_run_may_begin_with_another_adapter(adapter: Path, settings: Settings, tmp_path: Path) -> None:
    still = replace(settings, output=str(tmp_path / "warm"), adapter=str(adapter), learning_rate=0.0)
    warm = losses(train(still), "eval_loss")[-1]
    assert warm == pytest.approx(losses(adapter, "eval_loss")[-1], abs=0.02)
    with pytest.raises(ModelError, match=r"lora\.r"):
        train(replace(still, output=str(tmp_path / "wide"), lora=Lora(r=4, alpha=8)))
    base = shutil.copytree(settings.base, tmp_path / "base")
    torch.manual_seed(5)
    LlamaForCausalLM(LlamaConfig.from_pretrained(base)).save_pretrained(base)
    with pytest.raises(ModelError, match="another base"):
        train(replace(still, output=str(tmp_path / "other"), base=str(base)))


def test_a_split_without_examples_is_refused(settings: Settings, corpus: Path) -> None:
    with pytest.raises(ConfigError, match="both are needed"):
        build(replace(settings, max_length=2), AutoTokenizer.from_pretrained(settings.base))


def test_labels_join_the_train_split(settings: Settings, corpus: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(settings.base)
    alone, dev, _ = build(settings, tokenizer)
    more, same, _ = build(replace(settings, labels=str(written(tmp_path, ROWS["parse"]))), tokenizer)
    assert len(more) == len(alone) + 1 and dev == same
    (tmp_path / "conversations").mkdir()
    raw = conversation("Eve", "Triglav") | {"distinct": [{"a": "S1:1", "b": "S1:2", "why": "same day"}]}
    told = json.dumps(raw)
    # The tiny conversations repeat each other, which a label may not do.
    for old, new in (("station", "harbour"), ("guide", "leader"), ("cello", "viola")):
        told = told.replace(old, new)
    (tmp_path / "conversations" / "eve-01.json").write_text(told)
    more, _, _ = build(replace(settings, labels=str(tmp_path)), tokenizer)
    # One conversation more than the two of the train split, which are of its kind.
    assert len(more) == len(alone) * 3 // 2 + 1
