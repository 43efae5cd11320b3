"""The encoder's network with fresh LoRA weights, one optimiser and its schedule: what router and retriever are tuned on.

Takes texts, gives unit vectors that carry gradients, pooled as the serving encoder pools them. Its state can be saved
and restored, so that a killed run goes on. Knows nothing about losses or data.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from torch.nn.functional import normalize
from transformers import AutoConfig, AutoModel, AutoTokenizer

from seem.models.base import BaseModel, pick_device
from seem.models.encoder import pool, pooling_of
from training.settings import Lora

CHECKPOINT = "checkpoint.pt"
# The network's own dropouts draw as many random numbers as LoRA's and keep attention off its fast path.
_DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "attention_dropout")


class TunedNetwork:
    """A network whose LoRA weights learn, with the weights of a head beside it where one is given."""

    def __init__(
        self,
        base: BaseModel,
        lora: Lora,
        *,
        steps: int,
        learning_rate: float,
        warmup: float,
        weight_decay: float,
        device: str,
        checkpointing: bool = False,
        head: torch.nn.Module | None = None,
        head_learning_rate: float = 0.0,
    ) -> None:
        """Load the base; ``steps`` is the length of the schedule."""
        self.device = pick_device(device)
        self.pooling = pooling_of(base.folder)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(base.folder)
        network = load_network(base.folder)
        if checkpointing:
            network.activation_checkpointing_enable()
        first = lora.first_layer
        config = LoraConfig(
            task_type="FEATURE_EXTRACTION",
            r=lora.r,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules="all-linear",
            # Sentence encoders leave their pooler untrained, and we do not use it.
            exclude_modules=r".*pooler.*",
            layers_to_transform=list(range(first, network.config.num_hidden_layers)) if first else None,
        )
        self.model: Any = get_peft_model(network, config).to(self.device)
        self.head = head.to(self.device) if head is not None else None
        trained = [p for p in self.model.parameters() if p.requires_grad]
        groups: list[dict[str, Any]] = [{"params": trained, "lr": learning_rate}]
        if self.head is not None:
            groups.append({"params": list(self.head.parameters()), "lr": head_learning_rate})
        self._weights = [p for group in groups for p in group["params"]]
        self.optimizer = torch.optim.AdamW(groups, weight_decay=weight_decay)
        warm = max(1, round(warmup * steps))
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda n: (n + 1) / warm if n < warm else max(0.0, (steps - n) / max(1, steps - warm))
        )

    def embed(self, texts: Sequence[str], *, max_tokens: int) -> torch.Tensor:
        """Give unit vectors, shape (texts, width); of a longer text the first tokens alone are read."""
        inputs = self.tokenizer(
            list(texts),
            truncation=True,
            max_length=max_tokens,
            padding=True,
            padding_side="right",
            split_special_tokens=True,
            return_tensors="pt",
        ).to(self.device)
        states = self.model(**inputs).last_hidden_state
        return normalize(pool(states, inputs["attention_mask"], self.pooling), dim=1)

    def learn(self, loss: torch.Tensor) -> float:
        """Take one step down a loss; give its value."""
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self._weights, 1.0)
        self.optimizer.step()
        self.schedule.step()
        return float(loss.detach())

    def train(self, learning: bool = True) -> None:
        """Switch dropout on or off."""
        self.model.train(learning)
        if self.head is not None:
            self.head.train(learning)

    def state(self) -> dict[str, Any]:
        """Give all that a resumed run needs."""
        return {
            "lora": get_peft_model_state_dict(self.model),
            "head": self.head.state_dict() if self.head is not None else {},
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "random": torch.get_rng_state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        set_peft_model_state_dict(self.model, state["lora"])
        if self.head is not None:
            self.head.load_state_dict(state["head"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["random"])

    def save(self, folder: Path) -> None:
        """Write the adapter."""
        self.model.save_pretrained(folder)


def load_network(folder: Path) -> Any:
    """Load an encoder's network in float32, its own dropouts switched off."""
    config = AutoConfig.from_pretrained(folder)
    for name in _DROPOUTS:
        if hasattr(config, name):
            setattr(config, name, 0.0)
    return AutoModel.from_pretrained(folder, config=config, dtype=torch.float32)


def write_checkpoint(run: Path, state: Mapping[str, Any]) -> None:
    """Save what a resumed run needs, whole or not at all."""
    torch.save(dict(state), run / "checkpoint.new")
    os.replace(run / "checkpoint.new", run / CHECKPOINT)
