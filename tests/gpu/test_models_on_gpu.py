"""The packaged models on CUDA give what they give on a CPU: exactly where the number format is the same, nearly where it is not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from seem.models.decoder import Decoder
from seem.models.encoder import SentenceEncoder
from seem.models.greedy import Request
from seem.prompts.encode import encode_prompt

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device"),
]
TURNS = [
    "I moved to Riga last Tuesday.",
    "Ben sold his car in May.",
    "ok",
    "My sister Eva starts at the clinic next week.",
]
REQUESTS = [Request(f"names: Ana\nAna: {text}\n=>\n") for text in TURNS]


def last_logits(decoder: Decoder) -> torch.Tensor:
    ids = torch.tensor([encode_prompt(decoder.tokenizer, REQUESTS[0].prompt)], device=decoder.device)
    with torch.inference_mode():
        logits: torch.Tensor = decoder.forward(input_ids=ids).logits[0, -1].float().cpu()
    return logits


def texts(decoder: Decoder) -> list[str]:
    decoder.load("extract", task="extract")
    return [out.text for out in decoder.generate(REQUESTS, task="extract", max_tokens=48)]


def test_float32_writes_the_same_words() -> None:
    assert texts(Decoder(device="cuda", dtype="float32")) == texts(Decoder(device="cpu", dtype="float32"))


@pytest.mark.parametrize(("quantize", "least"), [("none", 0.995), ("4bit", 0.9)])
def test_bfloat16_and_four_bits_stay_near(quantize: str, least: float) -> None:
    if quantize == "4bit":
        pytest.importorskip("bitsandbytes")
    reference = last_logits(Decoder(device="cpu", dtype="float32"))
    decoder = Decoder(device="cuda", dtype="bfloat16", quantize=quantize)
    assert torch.nn.functional.cosine_similarity(last_logits(decoder), reference, dim=0) > least
    assert all(text.startswith(("none", "E ", "F ")) for text in texts(decoder))


def test_four_bits_are_the_same_four_bits_on_both() -> None:
    pytest.importorskip("bitsandbytes")
    there, here = (last_logits(Decoder(device=d, dtype="bfloat16", quantize="4bit")) for d in ("cuda", "cpu"))
    assert torch.nn.functional.cosine_similarity(there, here, dim=0) > 0.995


def test_vectors_do_not_depend_on_the_device() -> None:
    there, here = (SentenceEncoder(device=d).encode([*TURNS, " ".join(TURNS * 40)]) for d in ("cuda", "cpu"))
    assert np.abs(there - here).max() < 1e-4
