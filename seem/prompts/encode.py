"""Prompt text to token ids, the one place for training and serving alike: the two can never differ.

Takes a tokenizer and text. Text is encoded as plain text, so that look-alikes of special tokens in it stay text.
Knows nothing about tasks.
"""

from __future__ import annotations

from typing import Any


def encode_prompt(tokenizer: Any, prompt: str) -> list[int]:
    """Give the token ids of a prompt; it ends with a line break, which is a token border."""
    return list(tokenizer(prompt, add_special_tokens=False, split_special_tokens=True)["input_ids"])


def encode_completion(tokenizer: Any, completion: str) -> list[int]:
    """Give the token ids of a completion, the end token last."""
    ids = tokenizer(completion, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    return [*ids, tokenizer.eos_token_id]
