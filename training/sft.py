"""LoRA tuning of the decoder for any task: ``python -m training.sft --config configs/train/extract.yaml``.

TRL's SFTTrainer over rows from ``training.examples`` (loss on the completion only). Resumes after a kill from its last checkpoint; writes curves
(TensorBoard), adapter, manifest, resolved configuration, metrics and card. Knows nothing about what a task's completion means.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import yaml
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from seem.errors import ConfigError
from seem.models.adapters import WEIGHTS, Manifest, tokenizer_fingerprint, weights_version
from seem.models.base import BaseModel, find_base, pick_device, pick_dtype, quantization
from training.answer_examples import answer_examples
from training.card import write_card
from training.corpus import split
from training.examples import Built, Example, extract_examples
from training.settings import Settings, load_settings

BUILDERS: dict[str, Callable[..., Built]] = {"extract": extract_examples, "answer": answer_examples}


def build(settings: Settings, tokenizer: Any) -> tuple[list[Example], list[Example], dict[str, int]]:
    """Give the training examples of all epochs (each epoch a fresh variant), the dev examples, and what was lost."""
    builder = BUILDERS.get(settings.task)
    if builder is None:
        raise ConfigError(f"task {settings.task!r} is unknown; tasks: {', '.join(BUILDERS)}")
    train = split("train", Path(settings.corpus))
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
    return examples, rng.sample(dev, min(settings.eval_turns, len(dev))), counts


def load_model(settings: Settings, base: BaseModel) -> Any:
    """Load the base and put fresh LoRA weights on its linear layers."""
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
    return get_peft_model(model, lora)


def train(settings: Settings) -> Path:
    """Run or resume one training; give the adapter's folder."""
    set_seed(settings.seed)
    output = Path(settings.output)
    output.mkdir(parents=True, exist_ok=True)
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
    model = load_model(settings, base)
    cpu = pick_device(settings.device) == "cpu"
    arguments = SFTConfig(
        output_dir=str(output / "run"),
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
        # Rows of several short examples, kept apart by their positions. Batches of like lengths would be all-null or all-event batches here, since
        # «none» is the shortest answer, and the decision would swing with them.
        packing=settings.packing,
        packing_strategy="bfd",
        bf16=not cpu and pick_dtype("cuda") == torch.bfloat16,
        use_cpu=cpu,
        seed=settings.seed,
        logging_steps=5,
        eval_strategy="steps",
        eval_steps=settings.save_steps * 2,
        save_steps=settings.save_steps,
        save_total_limit=2,
        report_to=["tensorboard"],
        dataloader_pin_memory=not cpu,
    )
    os.environ.setdefault("TENSORBOARD_LOGGING_DIR", str(output / "run" / "curves"))
    trainer: Any = SFTTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list([e.row() for e in examples]),
        eval_dataset=Dataset.from_list([e.row() for e in dev]),
        processing_class=tokenizer,
    )
    begun = time.monotonic()
    trainer.train(resume_from_checkpoint=_last_checkpoint(output / "run"))
    seconds = time.monotonic() - begun
    metrics = {**trainer.evaluate(), "seconds": seconds, "examples": len(examples), "curve": trainer.state.log_history}
    trainer.model.save_pretrained(output)
    halve(output / WEIGHTS)
    manifest = Manifest(
        settings.task, base.name, base.fingerprint, tokenizer_fingerprint(base.folder), weights_version(output)
    )
    manifest.write(output)
    (output / "metrics.json").write_text(json.dumps(metrics, indent=1), encoding="utf-8")
    write_card(output, settings, manifest, metrics, counts)
    return output


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
