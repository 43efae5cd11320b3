"""LoRA tuning of the encoder for retrieval: ``python -m training.retriever --config configs/train/retriever.yaml``.

Draws each question of the train split to its evidence (``training.retriever.pairs``) and away from the other texts of
the batch and from hard negatives; keeps the epoch with the best dense recall@10 on dev and stops where none follows.
Resumes after a kill from its last checkpoint; writes curves, adapter, manifest, metrics and card.
``python -m training.retriever.evaluate`` then says whether to switch it on.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import yaml
from torch.nn.functional import cross_entropy
from torch.utils.tensorboard import SummaryWriter
from transformers import set_seed

from seem.errors import ConfigError
from seem.models.adapters import Manifest, tokenizer_fingerprint, weights_version
from seem.models.base import BaseModel, find_base
from seem.models.encoder import TASK, WINDOW, SentenceEncoder
from seem.models.protocols import Vectors
from training.card import data_hash, write_card
from training.corpus import Conversation, split
from training.retriever.evaluate import DECIDES, compare, recalls, table
from training.retriever.network import CHECKPOINT, TunedNetwork, write_checkpoint
from training.retriever.pairs import Sample, epoch, queries
from training.retriever.settings import RetrieverSettings, load_retriever_settings


class Trainee:
    """The network with fresh LoRA weights, drawn from questions to their texts."""

    def __init__(self, settings: RetrieverSettings, base: BaseModel, steps: int) -> None:
        """Load the base; ``steps`` is the length of the schedule."""
        self.settings = settings
        self.network = TunedNetwork(
            base,
            settings.lora,
            steps=steps,
            learning_rate=settings.learning_rate,
            warmup=settings.warmup,
            weight_decay=settings.weight_decay,
            device=settings.device,
            checkpointing=settings.gradient_checkpointing,
        )

    def step(self, samples: Sequence[Sample]) -> float:
        """Learn from one batch; give its loss."""
        self.network.train()
        texts = [s.right for s in samples] + [w for s in samples for w in s.wrong]
        asked = self.network.embed([s.query.question for s in samples], max_tokens=self.settings.max_tokens)
        told = self.network.embed([t.words for t in texts], max_tokens=self.settings.max_tokens)
        logits = asked @ told.T / self.settings.temperature
        own = torch.eye(len(samples), len(texts), dtype=torch.bool)
        right_too = torch.tensor(
            [[t.conversation == s.query.conversation and t.turn in s.query.spared for t in texts] for s in samples]
        )
        # Other texts of the evidence, and of what happened with it, are neither right nor wrong here.
        logits = logits.masked_fill((right_too & ~own).to(logits.device), float("-inf"))
        return self.network.learn(cross_entropy(logits, torch.arange(len(samples), device=logits.device)))

    def encode(self, texts: Sequence[str], batch_size: int = 64) -> Vectors:
        """Give unit vectors without learning, shape (texts, width)."""
        self.network.train(False)
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        with torch.inference_mode():
            parts = [
                self.network.embed([texts[n] for n in order[start : start + batch_size]], max_tokens=WINDOW).cpu()
                for start in range(0, len(order), batch_size)
            ]
        back = torch.argsort(torch.tensor(order))
        vectors: Vectors = torch.cat(parts)[back].float().numpy()
        return vectors


def fit(
    settings: RetrieverSettings, base: BaseModel, train: Sequence[Conversation], dev: Sequence[Conversation]
) -> dict[str, Any]:
    """Train or go on training; leave the adapter of the best epoch in the output folder and give the run's numbers."""
    output, run = Path(settings.output), Path(settings.output) / "run"
    encoder = SentenceEncoder(settings.base, device=settings.device)
    known = queries(train, encoder, pool=settings.pool)
    bare = float(recalls(dev, encoder.encode, ("passage",))[DECIDES].mean())
    epochs = [
        epoch(known, seed=settings.seed + n, batch_size=settings.batch_size, negatives=settings.negatives)
        for n in range(settings.epochs)
    ]
    plan = [(n, batch) for n, batches in enumerate(epochs) for batch in batches]
    print(f"{len(known)} questions, {len(plan)} steps; dev {DECIDES} without the adapter {bare:.4f}", flush=True)
    trainee = Trainee(settings, base, len(plan))
    done, history = read_checkpoint(run, trainee)
    curves = SummaryWriter(str(run / "curves"), purge_step=done)
    begun = time.monotonic()
    for number, (n, batch) in enumerate(plan[done:], start=done + 1):
        if over(history, settings.patience):
            break
        loss = trainee.step(batch)
        curves.add_scalar("train/loss", loss, number)
        if number % 10 == 0:
            print(f"step {number}/{len(plan)} loss {loss:.4f} {time.monotonic() - begun:.0f}s", flush=True)
        last = number == len(plan) or plan[number][0] != n
        if last:
            recall = float(recalls(dev, trainee.encode, ("passage",))[DECIDES].mean())
            curves.add_scalar(f"dev/{DECIDES}", recall, number)
            print(f"epoch {n + 1}: dev {DECIDES} {recall:.4f}", flush=True)
            if recall > max(history, default=float("-inf")):
                trainee.network.save(output)
            history.append(recall)
        if last or number % settings.save_steps == 0:
            told = {"settings": dataclasses.asdict(settings), "done": number, "history": history}
            write_checkpoint(run, {**told, **trainee.network.state()})
    curves.close()
    return {"steps": len(plan), "dev_without": bare, "dev_by_epoch": history, "seconds": time.monotonic() - begun}


def over(history: Sequence[float], patience: int) -> bool:
    """Tell whether the best epoch lies ``patience`` epochs back."""
    return bool(history) and len(history) - 1 - history.index(max(history)) >= patience


def train(settings: RetrieverSettings) -> Path:
    """Run or resume one training; give the adapter's folder."""
    set_seed(settings.seed)
    output = Path(settings.output)
    (output / "run").mkdir(parents=True, exist_ok=True)
    (output / "training.yaml").write_text(
        yaml.safe_dump(dataclasses.asdict(settings), sort_keys=True), encoding="utf-8"
    )
    base = find_base(settings.base)
    dev = split("dev", Path(settings.corpus))
    run = fit(settings, base, split("train", Path(settings.corpus)), dev)
    manifest = Manifest(
        TASK, base.name, base.fingerprint, tokenizer_fingerprint(base.folder), weights_version(output), {}
    )
    manifest.write(output)
    tuned = SentenceEncoder(settings.base, adapter=str(output.resolve()), device=settings.device)
    told = compare(recalls(dev, tuned.backbone.embed), recalls(dev, tuned.encode))
    metrics = {"run": run, "dev": told, "data": data_hash(settings.corpus)}
    (output / "metrics.json").write_text(json.dumps(metrics, indent=1), encoding="utf-8")
    draw(run["dev_by_epoch"], run["dev_without"], output / "recall.png")
    numbers = {f"{part} {name}": value for part in ("without", "with") for name, value in told[part].items()}
    numbers |= {name: told[name] for name in ("gain", "gain_low", "gain_high", "questions")}
    write_card(output, settings, manifest, numbers, {}, command="training.retriever")
    print(table(told), flush=True)
    return output


def draw(history: Sequence[float], bare: float, path: Path) -> None:
    """Draw dev's recall by epoch beside that without the adapter."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(range(1, len(history) + 1), history, marker=".", label="with the adapter")
    axes.axhline(bare, color="grey", linewidth=0.8, label="without")
    axes.set(xlabel="epoch", ylabel=f"dev evidence recall, {DECIDES}")
    axes.legend()
    figure.savefig(path, dpi=120)


def read_checkpoint(run: Path, trainee: Trainee) -> tuple[int, list[float]]:
    """Restore a run that was killed; give the steps done and dev's recall by epoch."""
    path = run / CHECKPOINT
    if not path.exists():
        return 0, []
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state["settings"] != dataclasses.asdict(trainee.settings):
        raise ConfigError(
            f"{path} was left by a run with other settings; delete {run} to start anew, or name another output"
        )
    trainee.network.restore(state)
    print(f"going on after step {state['done']}", flush=True)
    return int(state["done"]), list(state["history"])


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="a file in configs/train/")
    parser.add_argument("--output", help="another folder for the adapter than the one in the file")
    arguments = parser.parse_args()
    settings = load_retriever_settings(arguments.config)
    if arguments.output:
        settings = dataclasses.replace(settings, output=arguments.output)
    print(f"adapter written to {train(settings)}")


if __name__ == "__main__":
    main()
