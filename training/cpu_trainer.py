"""TRL's SFTTrainer with the loss over the completion's positions alone, for machines without Triton.

TRL scores only labelled positions on GPUs, but every position elsewhere: with a vocabulary of 49k that was a quarter of a CPU step. Takes padded
batches; gives the same mean negative log-likelihood. Knows nothing about tasks.
"""

from __future__ import annotations

from typing import Any

import torch
from trl.trainer.sft_trainer import SFTTrainer


class CompletionTrainer(SFTTrainer):
    """SFTTrainer for padded batches on CPU."""

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Give the batch's summed loss over ``num_items_in_batch`` labelled tokens (all of one optimiser step), else its mean."""
        inner = model.get_base_model()
        states = inner.model(
            input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], use_cache=False
        ).last_hidden_state
        labels = inputs["labels"][:, 1:]
        wanted = labels != -100
        logits = inner.lm_head(states[:, :-1][wanted]).float()
        total = torch.nn.functional.cross_entropy(logits, labels[wanted], reduction="sum")
        items = wanted.sum() if num_items_in_batch is None else num_items_in_batch
        loss = total / torch.as_tensor(items).clamp(min=1)
        return (loss, {}) if return_outputs else loss
