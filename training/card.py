"""The model card and the data hash that go beside every adapter. Written by code from what the run knew; never by hand.

Knows nothing about trainers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from seem.models.adapters import Manifest
from training.environment import environment
from training.loss_plot import LOSSES


def data_hash(corpus: str) -> str:
    """Give the SHA-256 over the names and bytes of a corpus folder's conversations and split."""
    digest = hashlib.sha256()
    root = Path(corpus)
    for file in sorted([*root.glob("conversations/*.json"), *root.glob("split.json")]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def write_card(
    folder: Path,
    settings: Any,
    manifest: Manifest,
    metrics: Mapping[str, Any],
    counts: Mapping[str, int],
    *,
    command: str = "training.sft",
    config: str = "",
    rows_hash: str = "",
) -> None:
    """Write README.md: what it is, from which data, by which recipe, with which result.

    ``settings`` is the run's configuration, ``config`` its file in configs/train where that is not named after the task. ``rows_hash``: of the rows
    that were trained on.
    """
    numbers = {k: round(v, 4) for k, v in metrics.items() if isinstance(v, (int, float))}
    labels = getattr(settings, "labels", "")
    data = f"`{settings.corpus}`, train split, SHA-256 `{data_hash(settings.corpus)[:16]}`"
    data += f", and the labels `{labels}`" if labels else ""
    data += f"; training rows SHA-256 `{rows_hash}`" if rows_hash else ""
    place = environment()
    text = f"""# Adapter `{manifest.task}`

LoRA adapter for `{manifest.base}` (base fingerprint `{manifest.base_fingerprint[:16]}`); it fits that base only.

- Data: {data}; invented conversations labelled by a large teacher (Apache-2.0).
- Recipe: `python -m {command} --config configs/train/{config or manifest.task}.yaml`, seed {settings.seed}.
- Environment: Python {place["python"]}, {place["libraries"]}; {place["processor"]}; GPU: {place["gpu"]}; commit {place["commit"]}.
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
    if (folder / LOSSES).exists():
        text += f"\n![Loss on train and dev]({LOSSES})\n"
    if counts:
        text += (
            f"\n## Projection of labels onto spans (last epoch)\n```json\n{json.dumps(dict(counts), indent=1)}\n```\n"
        )
    (folder / "README.md").write_text(text, encoding="utf-8")
