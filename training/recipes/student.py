"""A tuned student taken up again: what the second-order recipes (``on_policy``, ``preference``) share.

Takes the recipe's settings; gives the model with its trainable adapter, the trainer's common arguments, and at the end the adapter folder. Under
``accelerate launch`` every process trains and the first alone writes. Knows nothing about losses.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any

import torch
import yaml
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.trainer_utils import get_last_checkpoint

from seem.errors import ConfigError
from seem.models.adapters import WEIGHTS, Manifest, check_fit, find_adapter, tokenizer_fingerprint, weights_version
from seem.models.base import BaseModel, pick_device, pick_dtype, quantization
from training.card import write_card
from training.environment import environment
from training.loss_plot import LOSSES, draw_losses
from training.recipes.settings import Recipe
from training.settings import Settings
from training.sft import halve, load_model

ADAPTER = "default"


def common_arguments(recipe: Recipe) -> dict[str, Any]:
    """Give what every trainer is told; dev is measured at each checkpoint and the best one is kept."""
    cpu = pick_device(recipe.device) == "cpu"
    run = Path(recipe.output) / "run"
    os.environ.setdefault("TENSORBOARD_LOGGING_DIR", str(run / "curves"))
    return {
        "output_dir": str(run),
        "num_train_epochs": recipe.epochs,
        "per_device_train_batch_size": recipe.batch_size,
        "per_device_eval_batch_size": recipe.batch_size,
        "gradient_accumulation_steps": recipe.gradient_accumulation,
        "gradient_checkpointing": recipe.gradient_checkpointing,
        "learning_rate": recipe.learning_rate,
        "lr_scheduler_type": "linear",
        "warmup_steps": recipe.warmup,
        "weight_decay": recipe.weight_decay,
        "max_grad_norm": 1.0,
        "bf16": not cpu and pick_dtype("cuda", recipe.dtype) == torch.bfloat16,
        "use_cpu": cpu,
        "seed": recipe.seed,
        "logging_steps": 1,
        "eval_strategy": "steps",
        "eval_steps": recipe.save_steps,
        "save_steps": recipe.save_steps,
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_loss",
        "report_to": ["tensorboard"],
        "dataloader_pin_memory": not cpu,
    }


def load_student(recipe: Recipe, base: BaseModel) -> tuple[Any, Any]:
    """Give the student, its adapter trainable, and its tokenizer; raise ModelError where the adapter does not fit.

    Call it after the trainer's arguments are made: those tell each process which GPU is its own.
    """
    # Our prompts hold the words of users: a look-alike of a special token in them is text, as it is when they are served.
    tokenizer = AutoTokenizer.from_pretrained(base.folder, padding_side="left", split_special_tokens=True)
    if recipe.adapter == "none":
        told = Settings(
            recipe.task,
            recipe.output,
            quantize=recipe.quantize,
            device=recipe.device,
            dtype=recipe.dtype,
            lora=recipe.lora,
        )
        return load_model(told, base), tokenizer
    folder = find_adapter(recipe.adapter)
    check_fit(folder, task=recipe.task, base=base, tokenizer_folder=base.folder)
    model = load_plain(base, device=recipe.device, dtype=recipe.dtype, quantize=recipe.quantize)
    return PeftModel.from_pretrained(model, str(folder), adapter_name=ADAPTER, is_trainable=True), tokenizer


def load_plain(base: BaseModel, *, device: str, dtype: str, quantize: str) -> Any:
    """Load a base as it is."""
    return AutoModelForCausalLM.from_pretrained(
        base.folder, dtype=pick_dtype(pick_device(device), dtype), **quantization(quantize)
    )


def run(trainer: Any, recipe: Recipe, base: BaseModel, *, name: str) -> Path:
    """Train or go on training after a kill; write adapter, manifest, settings, metrics and card; give the folder.

    ``name`` is the program's and its configuration's.
    """
    output = Path(recipe.output)
    kept = output / "training.yaml"
    told = yaml.safe_dump(dataclasses.asdict(recipe), sort_keys=True)
    newest: Any = get_last_checkpoint
    checkpoint = newest(str(output / "run")) if (output / "run").is_dir() else None
    if checkpoint and kept.exists() and kept.read_text(encoding="utf-8") != told:
        raise ConfigError(
            f"{output / 'run'} was left by a run with other settings; delete {output} to start anew, or name another output"
        )
    first = trainer.is_world_process_zero()
    if first and not checkpoint:
        output.mkdir(parents=True, exist_ok=True)
        kept.write_text(told, encoding="utf-8")
    begun = time.monotonic()
    trainer.train(resume_from_checkpoint=checkpoint)
    metrics = {
        **trainer.evaluate(),
        "seconds": time.monotonic() - begun,
        "examples": len(trainer.train_dataset),
        "environment": environment(),
        "curve": trainer.state.log_history,
    }
    if first:
        # DPO keeps a frozen copy of the adapter beside the trained one.
        trainer.accelerator.unwrap_model(trainer.model).save_pretrained(output, selected_adapters=[ADAPTER])
        halve(output / WEIGHTS)
        manifest = Manifest(
            recipe.task, base.name, base.fingerprint, tokenizer_fingerprint(base.folder), weights_version(output)
        )
        manifest.write(output)
        (output / "metrics.json").write_text(json.dumps(metrics, indent=1), encoding="utf-8")
        draw_losses(trainer.state.log_history, output / LOSSES)
        write_card(output, recipe, manifest, metrics, {}, command=f"training.recipes.{name}", config=name)
    trainer.accelerator.wait_for_everyone()
    return output
