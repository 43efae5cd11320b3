"""The packaged decoder in four bits on CPU: it stays near the whole one, keeps to a grammar, and carries an adapter as its own."""

from __future__ import annotations

import pytest
import torch

from seem.errors import ModelError
from seem.models import base as base_module
from seem.models.base import quantization
from seem.models.decoder import Decoder
from seem.models.greedy import Request
from seem.prompts.encode import encode_prompt

PROMPT = "names: Ana\nAna: I moved to Riga last Tuesday.\n=>\n"
GRAMMAR = 'start: "none" | "E Ana"'

pytest.importorskip("bitsandbytes")


def last_logits(decoder: Decoder) -> torch.Tensor:
    ids = torch.tensor([encode_prompt(decoder.tokenizer, PROMPT)])
    with torch.inference_mode():
        logits: torch.Tensor = decoder.forward(input_ids=ids).logits[0, -1].float()
    return logits


def test_four_bits_decode_on_cpu_and_keep_to_a_grammar() -> None:
    whole, small = Decoder(device="cpu"), Decoder(device="cpu", quantize="4bit")
    before, near = last_logits(whole), last_logits(small)
    assert not torch.equal(before, near)
    assert torch.nn.functional.cosine_similarity(before, near, dim=0) > 0.9

    [free] = small.generate([Request(PROMPT)], task=None, max_tokens=4)
    assert free.tokens == 4 or free.finished
    small.load("extract", task="extract")
    [held] = small.generate([Request(PROMPT, GRAMMAR)], task="extract", max_tokens=8)
    assert held.finished and held.text in ("none", "E Ana")


def test_an_adapter_attached_after_a_pass_works_on_four_bits_and_leaves_no_trace() -> None:
    """A forward pass packs the weights for the CPU; attaching the adapter must not unpack them, for their scales would stay as they were packed."""
    small = Decoder(device="cpu", quantize="4bit")
    near = last_logits(small)
    small.load("extract", task="extract")
    [tuned] = small.generate([Request(PROMPT)], task="extract", max_tokens=4)
    assert tuned.text.startswith(("none", "E ", "F ")), "the adapter's format, which the bare base does not know"
    with small.without_adapter():
        assert torch.allclose(last_logits(small), near, atol=1e-2), "the adapter must leave no trace in the base"


def test_without_bitsandbytes_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_module, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install 'bitsandbytes"):
        quantization("4bit")
    assert quantization("none") == {}
