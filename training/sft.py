"""LoRA tuning of the decoder for any task: ``python -m training.sft --config configs/train/extract.yaml``.

TRL's SFTTrainer over rows from ``training.examples.extract`` (loss on the completion only). Resumes after a kill from its last checkpoint, with the same
settings and rows only; writes curves (TensorBoard and PNG), adapter, manifest, resolved configuration, metrics and card. Knows nothing about what a
task's completion means.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import math
import os
import random
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import yaml
from datasets import Dataset
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from peft.utils import load_peft_weights
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, EarlyStoppingCallback, set_seed
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from seem.errors import ConfigError, ModelError
from seem.models.adapters import (
    WEIGHTS,
    Manifest,
    find_adapter,
    read_manifest,
    refuse_unmatched,
    tokenizer_fingerprint,
    weights_version,
)
from seem.models.base import BaseModel, find_base, pick_device, pick_dtype, quantization
from training.card import write_card
from training.corpus import split
from training.cpu_trainer import CompletionTrainer
from training.environment import environment
from training.examples.answer import answer_examples
from training.examples.extract import Built, Example, extract_examples
from training.examples.fuse import fuse_examples
from training.examples.labels import read_labels
from training.examples.parse import parse_examples
from training.loss_plot import LOSSES, draw_losses
from training.settings import Settings, load_settings

BUILDERS: dict[str, Callable[..., Built]] = {
    "extract": extract_examples,
    "fuse": fuse_examples,
    "parse": parse_examples,
    "answer": answer_examples,
}


def build(settings: Settings, tokenizer: Any) -> tuple[list[Example], list[Example], dict[str, int]]:
    """Give the training examples of all epochs (each epoch a fresh variant), the dev examples, and what was lost."""
    builder = BUILDERS.get(settings.task)
    if builder is None:
        raise ConfigError(f"task {settings.task!r} is unknown; tasks: {', '.join(BUILDERS)}")
    train = split("train", Path(settings.corpus))
    if settings.labels:
        train += read_labels(Path(settings.labels), settings.task, Path(settings.corpus))
    rng = random.Random(settings.seed)
    examples: list[Example] = []
    counts: dict[str, int] = {}
    for epoch in range(math.ceil(settings.epochs)):
        built = builder(
            train, tokenizer, max_length=settings.max_length, rename=settings.rename, seed=settings.seed + epoch
        )
        rows = list(built.examples)
        share = min(1.0, settings.epochs - epoch)
        examples += rng.sample(rows, round(len(rows) * share))
        counts = dict(built.counts)
    dev = list(
        builder(
            split("dev", Path(settings.corpus)), tokenizer, max_length=settings.max_length, rename=0.0, seed=0
        ).examples
    )
    if not examples or not dev:
        raise ConfigError(
            f"{settings.corpus} gives {len(examples)} examples and {len(dev)} of dev; both are needed: {counts}"
        )
    # Drawn by itself: what is trained on must not change what is measured.
    return examples, random.Random(settings.seed).sample(dev, min(settings.eval_turns, len(dev))), counts


def load_model(settings: Settings, base: BaseModel) -> Any:
    """Load the base and put LoRA weights on its linear layers: fresh ones, or those of another adapter of the same shape."""
    device = pick_device(settings.device)
    model = AutoModelForCausalLM.from_pretrained(
        base.folder, dtype=pick_dtype(device, settings.dtype), **quantization(settings.quantize)
    )
    layers = list(range(settings.lora.first_layer, model.config.num_hidden_layers))
    lora = LoraConfig(
        task_type="CAUSAL_LM",
        r=settings.lora.r,
        lora_alpha=settings.lora.alpha,
        lora_dropout=settings.lora.dropout,
        target_modules="all-linear"
        if settings.lora.first_layer == 0
        else ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        layers_to_transform=layers if settings.lora.first_layer else None,
    )
    tuned = get_peft_model(model, lora)
    if settings.adapter != "none":
        _begin_with(tuned, settings.adapter, base)
    return tuned


def _begin_with(model: Any, adapter: str, base: BaseModel) -> None:
    """Copy the weights of an adapter, of whatever task; raise ModelError where its base or its shape differs."""
    folder = find_adapter(adapter)
    if read_manifest(folder).base_fingerprint != base.fingerprint:
        raise ModelError(f"adapter {folder} belongs to another base than {base.name!r}; name another, or adapter: none")
    given = load_peft_weights(str(folder), device="cpu")
    places = get_peft_model_state_dict(model)
    refuse_unmatched(folder, sorted(set(places) - set(given)), sorted(set(given) - set(places)))
    if wrong := [name for name, tensor in given.items() if tensor.shape != places[name].shape]:
        raise ModelError(f"adapter {folder} has other ranks ({wrong[0]}); set lora.r as in its training.yaml")
    set_peft_model_state_dict(model, given)


def refuse_endless(examples: Iterable[Example], tokenizer: Any) -> None:
    """Raise ConfigError where a model could not learn to stop: an example does not end in the end token, or hides it."""
    end = tokenizer.eos_token_id
    if end is None:
        raise ConfigError(
            f"the tokenizer of {tokenizer.name_or_path!r} has no end token, so nothing tuned on it would stop; "
            "name another base"
        )
    for example in examples:
        if example.row()["labels"][-1] != end:
            raise ConfigError(
                f"an example of {len(example.input_ids)} tokens does not end in a label that is the end token ({end}); "
                "build it with seem.prompts.encode"
            )


def rows_hash(examples: Iterable[Example]) -> str:
    """Give the SHA-256 over the rows, in their order."""
    digest = hashlib.sha256()
    for e in examples:
        digest.update(json.dumps([e.prompt_length, *e.input_ids]).encode() + b"\n")
    return digest.hexdigest()


def train(settings: Settings) -> Path:
    """Run or resume one training; give the adapter's folder."""
    set_seed(settings.seed)
    output = Path(settings.output)
    checkpoint = _last_checkpoint(output / "run")
    if checkpoint:
        _refuse_other_settings(output, settings)
    (output / "run").mkdir(parents=True, exist_ok=True)
    (output / "training.yaml").write_text(
        yaml.safe_dump(dataclasses.asdict(settings), sort_keys=True), encoding="utf-8"
    )
    base = find_base(settings.base)
    tokenizer = AutoTokenizer.from_pretrained(base.folder)
    examples, dev, counts = build(settings, tokenizer)
    print(
        f"{len(examples)} examples, {sum(len(e.input_ids) for e in examples)} tokens; lost in projection: {json.dumps(counts)}",
        flush=True,
    )
    refuse_endless([*examples, *dev], tokenizer)
    rows = rows_hash(examples)
    _keep_rows(output / "run", rows, resumed=checkpoint is not None)
    cpu = pick_device(settings.device) == "cpu"
    # The arguments first: they tell each process of several which GPU is its own.
    arguments = _arguments(settings, output / "run", cpu=cpu)
    trainer: Any = (CompletionTrainer if cpu and not settings.packing else SFTTrainer)(
        model=load_model(settings, base),
        args=arguments,
        train_dataset=Dataset.from_list([e.row() for e in examples]),
        eval_dataset=Dataset.from_list([e.row() for e in dev]),
        processing_class=tokenizer,
        callbacks=[EarlyStoppingCallback(settings.patience)] if settings.patience else [],
    )
    begun = time.monotonic()
    trainer.train(resume_from_checkpoint=checkpoint)
    seconds = time.monotonic() - begun
    metrics = {
        **trainer.evaluate(),
        "seconds": seconds,
        "examples": len(examples),
        "tokens": sum(len(e.input_ids) for e in examples),
        "rows_sha256": rows,
        "environment": environment(),
        "curve": trainer.state.log_history,
    }
    if trainer.is_world_process_zero():
        _write(trainer, settings, base, metrics, counts)
    trainer.accelerator.wait_for_everyone()
    return output


def _write(trainer: Any, settings: Settings, base: BaseModel, metrics: dict[str, Any], counts: dict[str, int]) -> None:
    """Write adapter, manifest, metrics, plot and card."""
    output = Path(settings.output)
    trainer.accelerator.unwrap_model(trainer.model).save_pretrained(output)
    halve(output / WEIGHTS)
    manifest = Manifest(
        settings.task, base.name, base.fingerprint, tokenizer_fingerprint(base.folder), weights_version(output)
    )
    manifest.write(output)
    (output / "metrics.json").write_text(json.dumps(metrics, indent=1), encoding="utf-8")
    draw_losses(metrics["curve"], output / LOSSES)
    write_card(output, settings, manifest, metrics, counts, rows_hash=metrics["rows_sha256"])


def _arguments(settings: Settings, run: Path, *, cpu: bool) -> SFTConfig:
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(run / "curves")
    return SFTConfig(
        output_dir=str(run),
        num_train_epochs=1,
        per_device_train_batch_size=settings.batch_size,
        per_device_eval_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        gradient_checkpointing=settings.gradient_checkpointing,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        adam_beta2=0.95,
        max_grad_norm=1.0,
        max_length=settings.max_length,
        # Each step's examples are drawn at random, then parted by length into its micro-batches: little padding, and no step of «none» alone, as batches
        # of like lengths would be. Packed rows suit GPUs, where attention knows their seams; on CPU it pays for the whole row.
        train_sampling_strategy="random" if settings.packing else "batch_rebalance",
        packing=settings.packing,
        packing_strategy="bfd",
        bf16=not cpu and pick_dtype("cuda", settings.dtype) == torch.bfloat16,
        use_cpu=cpu,
        seed=settings.seed,
        logging_steps=5,
        eval_strategy="steps",
        # The best weights can only be kept where dev is measured whenever they are saved.
        eval_steps=settings.save_steps * (1 if settings.patience else 2),
        save_steps=settings.save_steps,
        save_total_limit=2,
        load_best_model_at_end=settings.patience > 0,
        metric_for_best_model="eval_loss",
        report_to=["tensorboard"],
        dataloader_pin_memory=not cpu,
    )


def _refuse_other_settings(output: Path, settings: Settings) -> None:
    """Raise ConfigError where the run that left a checkpoint was told something else."""
    kept = output / "training.yaml"
    if kept.exists() and load_settings(kept) != settings:
        raise ConfigError(
            f"{output / 'run'} was left by a run with other settings; delete it to start anew, or name another output"
        )


def _keep_rows(run: Path, rows: str, *, resumed: bool) -> None:
    """Note the hash of the rows; raise ConfigError where a resumed run would go on with others."""
    kept = run / "rows.sha256"
    if resumed and kept.exists() and kept.read_text(encoding="utf-8") != rows:
        raise ConfigError(f"{run} was left by a run on other training rows; delete it to start anew")
    kept.write_text(rows, encoding="utf-8")


def halve(weights: Path) -> None:
    """Keep adapter weights in bfloat16: half the size, and a rounding far below what training noise moves."""
    save_file({k: v.to(torch.bfloat16) for k, v in load_file(weights).items()}, weights, metadata={"format": "pt"})


def _last_checkpoint(run: Path) -> str | None:
    """Give the checkpoint that a killed run left."""
    found = sorted(run.glob("checkpoint-*"), key=lambda folder: int(folder.name.rpartition("-")[2]))
    return str(found[-1]) if found else None


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="a file in configs/train/")
    parser.add_argument("--output", help="another folder for the adapter than the one in the file")
    arguments = parser.parse_args()
    settings = load_settings(arguments.config)
    if arguments.output:
        settings = dataclasses.replace(settings, output=arguments.output)
    print(f"adapter written to {train(settings)}")


if __name__ == "__main__":
    main()
