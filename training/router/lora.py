"""The router's LoRA head: the encoder's network tuned so that a question's vector tells which arm wins.

Takes a table of questions with their gains; gives an adapter and a linear scorer over its vectors and the signals.
Labels are soft, sigmoid(gain / temperature), ties are left out. Knows nothing about the other candidates.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.tensorboard import SummaryWriter
from transformers import set_seed

from seem.models.base import BaseModel
from seem.models.router import Asked, Floats, Linear
from training.retriever.network import TunedNetwork
from training.router.candidates import Table, folds_of
from training.router.settings import RouterSettings

MAX_TOKENS = 64


class Head(torch.nn.Module):
    """Vector and signals to one logit; starts at 0, which is the cheaper arm."""

    def __init__(self, width: int, signals: int) -> None:
        super().__init__()
        # A unit vector's entries are small beside signals of scale 1.
        self.width, self.scale = width, width**0.5
        self.out = torch.nn.Linear(width + signals, 1)
        torch.nn.init.zeros_(self.out.weight)
        torch.nn.init.zeros_(self.out.bias)

    def forward(self, vectors: torch.Tensor, signals: torch.Tensor) -> torch.Tensor:
        """Give logits, shape (batch,)."""
        logits: torch.Tensor = self.out(torch.cat([self.scale * vectors, signals], dim=1)).squeeze(1)
        return logits

    def scorer(self) -> Linear:
        """Give the head as a scorer over unit vectors."""
        weights = self.out.weight.detach().cpu().double().numpy()[0]
        return Linear(weights[self.width :], weights[: self.width] * self.scale, float(self.out.bias.detach()))


class RouterTrainee:
    """The network with fresh LoRA weights and the head, tuned on one table."""

    def __init__(self, settings: RouterSettings, base: BaseModel, width: int, signals: int, steps: int) -> None:
        """Load the base; ``steps`` is the length of the schedule."""
        self.settings = settings
        self.head = Head(width, signals)
        self.network = TunedNetwork(
            base,
            settings.lora,
            steps=steps,
            learning_rate=settings.learning_rate,
            warmup=settings.warmup,
            weight_decay=settings.weight_decay,
            device=settings.device,
            head=self.head,
            head_learning_rate=settings.head_learning_rate,
        )

    def step(self, batch: Table) -> float:
        """Learn from one batch; give its loss."""
        self.network.train()
        wanted = 1 / (1 + np.exp(-batch.gains / self.settings.temperature))
        logits = self._logits(batch.asked)
        target = torch.tensor(wanted, dtype=torch.float32, device=self.network.device)
        return self.network.learn(binary_cross_entropy_with_logits(logits, target))

    def scores(self, asked: Asked, batch_size: int = 64) -> Floats:
        """Give the logits of questions without learning."""
        self.network.train(False)
        out = np.zeros(len(asked.questions))
        with torch.inference_mode():
            for start in range(0, len(out), batch_size):
                rows = slice(start, start + batch_size)
                part = Asked(asked.signals[rows], asked.vectors[rows], asked.questions[rows])
                out[rows] = self._logits(part).double().cpu().numpy()
        return out

    def _logits(self, asked: Asked) -> torch.Tensor:
        vectors = self.network.embed(asked.questions, max_tokens=MAX_TOKENS)
        signals = torch.tensor(asked.signals, dtype=torch.float32, device=self.network.device)
        logits: torch.Tensor = self.head(vectors, signals)
        return logits


def fit(table: Table, settings: RouterSettings, base: BaseModel, curves: Path | None = None) -> RouterTrainee:
    """Tune on the questions of a table that an arm wins; with a folder, write the loss as curves."""
    told = table.decided()
    set_seed(settings.seed)
    draw = np.random.default_rng(settings.seed)
    orders = [draw.permutation(len(told)) for _ in range(settings.epochs)]
    plan = [o[n : n + settings.batch_size] for o in orders for n in range(0, len(o), settings.batch_size)]
    trainee = RouterTrainee(settings, base, table.asked.vectors.shape[1], table.asked.signals.shape[1], len(plan))
    writer = SummaryWriter(str(curves)) if curves else None
    for number, rows in enumerate(plan, 1):
        loss = trainee.step(told.part(rows))
        if writer:
            writer.add_scalar("train/loss", loss, number)
    if writer:
        writer.close()
    return trainee


def held_out(table: Table, settings: RouterSettings, base: BaseModel, run: Path) -> Floats:
    """Give the score of every question by a head that saw no question of its conversation; each fold is kept in ``run``."""
    scores = np.zeros(len(table))
    for n, (rest, held) in enumerate(folds_of(table.groups, settings.folds), 1):
        kept = run / f"fold-{n}.json"
        if not kept.exists():
            begun = time.monotonic()
            values = fit(table.part(rest), settings, base).scores(table.part(held).asked)
            new = kept.with_suffix(".new")
            new.write_text(json.dumps(values.tolist()), encoding="utf-8")
            os.replace(new, kept)
            print(f"LoRA head, fold {n}/{settings.folds}: {time.monotonic() - begun:.0f} s", flush=True)
        scores[held] = json.loads(kept.read_text(encoding="utf-8"))
    return scores
