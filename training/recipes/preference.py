"""Preference tuning of a tuned student: ``python -m training.recipes.preference --config configs/train/preference.yaml``.

TRL's DPOTrainer over pairs from ``training.recipes.pairs``: the teacher's label is preferred to what the student wrote in its place, and an
anchor keeps the label likely in itself. The reference is the adapter that the run begins with. Knows nothing about what a completion means.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from datasets import Dataset
from transformers import EarlyStoppingCallback, set_seed
from trl.trainer.dpo_config import DPOConfig
from trl.trainer.dpo_trainer import DPOTrainer

from seem.errors import InputError
from seem.models.base import find_base
from training.corpus import Split, split
from training.recipes.pairs import read_pairs
from training.recipes.settings import PreferenceSettings, load_preference_settings
from training.recipes.student import common_arguments, load_student, run


class Chooser(DPOTrainer):
    """DPOTrainer over rows of token ids: its own reading of texts would take look-alikes of special tokens in them for such."""

    def _prepare_dataset(self, dataset: Any, *arguments: Any, **named: Any) -> Any:
        return dataset


def rows(settings: PreferenceSettings, name: Split, tokenizer: Any) -> list[dict[str, list[int]]]:
    """Give the rows of one split's pairs, those left out that are longer than ``max_length + max_tokens``."""
    path = Path(settings.pairs) / f"{name}.jsonl"
    found = [p.row(tokenizer) for p in read_pairs(path, (c.id for c in split(name, Path(settings.corpus))))]
    limit = settings.max_length + settings.max_tokens
    kept = [r for r in found if len(r["prompt_ids"]) + max(len(r["chosen_ids"]), len(r["rejected_ids"])) <= limit]
    if not kept:
        raise InputError(f"no pair of {path} fits into {limit} tokens; raise max_length")
    return kept


def train(settings: PreferenceSettings) -> Path:
    """Run or resume one preference tuning; give the adapter's folder."""
    set_seed(settings.seed)
    arguments = DPOConfig(
        **common_arguments(settings),
        beta=settings.beta,
        loss_type=["sigmoid", "sft"],
        loss_weights=[1.0, settings.anchor],
        max_length=settings.max_length + settings.max_tokens,
    )
    base = find_base(settings.base)
    model, tokenizer = load_student(settings, base)
    shown = rows(settings, "train", tokenizer)
    dev = rows(settings, "dev", tokenizer)
    trainer = Chooser(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(shown),
        eval_dataset=Dataset.from_list(random.Random(settings.seed).sample(dev, min(settings.dev_pairs, len(dev)))),
        processing_class=tokenizer,
        callbacks=[EarlyStoppingCallback(settings.patience)],
    )
    return run(trainer, settings, base, name="preference")


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="configs/train/preference.yaml or one like it")
    parser.add_argument("--output", help="another folder for the adapter than the one in the file")
    arguments = parser.parse_args()
    settings = load_preference_settings(arguments.config)
    if arguments.output:
        settings = dataclasses.replace(settings, output=arguments.output)
    print(f"adapter written to {train(settings)}")


if __name__ == "__main__":
    main()
