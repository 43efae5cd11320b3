"""The router's card, written by code from what the run knew.

Knows nothing about how the run went about it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from seem.models.adapters import Manifest
from training.card import data_hash
from training.environment import environment
from training.router.report import table
from training.router.settings import RouterSettings

_KINDS = {
    "logistic": "Logistic regression on the question's vector and the signals of its seeds",
    "svm": "Linear support vector machine on the question's words (TF-IDF) and the signals of its seeds",
    "knn": "Nearest known questions by vector and signals of the seeds",
    "lora": "LoRA head on the encoder, with the signals of the question's seeds",
}


def write_router_card(folder: Path, settings: RouterSettings, manifest: Manifest, metrics: Mapping[str, Any]) -> None:
    """Write README.md: what it is, from which data, by which recipe, with which result."""
    kind = metrics["shipped"]
    place = environment()
    use = (
        "It beats always-graph, always-expand and the rule by the paired bootstrap."
        if metrics["beats_every_fixed_choice"]
        else "It does not beat always-graph, always-expand and the rule by the paired bootstrap: the rule stays the default."
    )
    text = f"""# Router

{_KINDS[kind]}: graph-only retrieval, or with provenance expansion. {use}
It fits the encoder `{manifest.settings["encoder"]}` only.

- Data: `{settings.corpus}`, SHA-256 `{data_hash(settings.corpus)[:16]}`; both arms on the questions of memories made of
  the teacher's labels; the better evidence recall per context token wins, ties go to the cheaper arm.
- Recipe: `python -m training.router --config configs/train/router.yaml`, seed {settings.seed}.
- Environment: Python {place["python"]}, {place["libraries"]}; {place["processor"]}; GPU: {place["gpu"]}; commit {place["commit"]}.
- Limits: English questions; memories made by a student hold fewer and worse frames than those it learned on.

![Evidence recall against tokens, test split](arms.png)

## Regret against the better arm (evidence recall per 1,000 tokens)
Train out of fold and dev, by which it was chosen:
```
{table(metrics["train_out_of_fold_and_dev"])}
```
Test:
```
{table(metrics["test"])}
```

## Configuration
```yaml
{yaml.safe_dump(dataclasses.asdict(settings), sort_keys=True).strip()}
```
"""
    (folder / "README.md").write_text(text, encoding="utf-8")
