"""The model card and the data hash that go beside every adapter. Written by code from what the run knew; never by hand.

Knows nothing about trainers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from seem.models.adapters import Manifest
from training.judge_settings import JudgeSettings
from training.settings import Settings

_LIBRARIES = ("torch", "transformers", "peft", "trl", "accelerate")


def data_hash(corpus: str) -> str:
    """Give the SHA-256 over the names and bytes of a corpus folder's conversations and split."""
    digest = hashlib.sha256()
    root = Path(corpus)
    for file in sorted([*root.glob("conversations/*.json"), *root.glob("split.json")]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def write_card(
    folder: Path,
    settings: Settings | JudgeSettings,
    manifest: Manifest,
    metrics: Mapping[str, Any],
    counts: Mapping[str, int],
    *,
    command: str = "training.sft",
) -> None:
    """Write README.md: what it is, from which data, by which recipe, with which result."""
    numbers = {k: round(v, 4) for k, v in metrics.items() if isinstance(v, (int, float))}
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    text = f"""# Adapter `{manifest.task}`

LoRA adapter for `{manifest.base}` (base fingerprint `{manifest.base_fingerprint[:16]}`); it fits that base only.

- Data: `{settings.corpus}`, train split, SHA-256 `{data_hash(settings.corpus)[:16]}`; \
invented conversations labelled by a large teacher (Apache-2.0).
- Recipe: `python -m {command} --config configs/train/{manifest.task}.yaml`, seed {settings.seed}; \
libraries: {libraries}; \
{platform.processor() or platform.machine()}.
- Limits: English above all; conversations of two to six people. \
See the README's table for quality on held-out conversations.

## Configuration
```yaml
{yaml.safe_dump(dataclasses.asdict(settings), sort_keys=True).strip()}
```

## Result of the run (dev split)
```json
{json.dumps(numbers, indent=1)}
```
"""
    if counts:
        text += (
            f"\n## Projection of labels onto spans (last epoch)\n```json\n{json.dumps(dict(counts), indent=1)}\n```\n"
        )
    (folder / "README.md").write_text(text, encoding="utf-8")
