"""The decoder behind a server that holds base and adapters: vLLM with our adapters as its LoRA modules (``serving.vllm`` starts it).

Takes the place of ``Decoder``: the same token ids, the same Lark grammars (the server's guidance backend reads them), greedy. The server mixes
adapters in one batch. What it cannot tell is left at 0 (``forced``, ``first_margin``), and a bias holds at every step, not at the first alone; the
tokens that are biased here hardly ever stand later. Confidences come out a little otherwise: measure a cascade's threshold anew. Not yet run on vLLM.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
from transformers import AutoTokenizer

from seem.errors import ModelError
from seem.models.adapters import Manifest, check_fit, find_adapter
from seem.models.base import find_base
from seem.models.greedy import Generated, Request
from seem.prompts.encode import encode_prompt

MOST_BIAS = 100.0


class ServedDecoder:
    """A base model and its adapters over HTTP; safe to use from several threads."""

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        batch_size: int = 64,
        timeout: float = 120.0,
    ) -> None:
        """Name the base, whose tokenizer is read here, and the server; the key is read from the environment variable."""
        self.base = find_base(model)
        self.batch_size = batch_size
        self.tokenizer: Any = AutoTokenizer.from_pretrained(self.base.folder)
        self.observe: Callable[[Sequence[Generated]], None] | None = None
        self._url = base_url
        self._client = openai.OpenAI(
            base_url=base_url, api_key=os.environ.get(api_key_env) or "none", timeout=timeout, max_retries=3
        )
        self._modules: dict[str, str] = {}
        self._manifests: dict[str, Manifest] = {}
        self._lock = threading.Lock()

    def load(self, adapter: str, *, task: str, slot: str = "") -> Manifest:
        """Take up an adapter that the server must hold already, in this version; raise ModelError where it does not."""
        place = slot or task
        with self._lock:
            if place not in self._manifests:
                folder = find_adapter(adapter).resolve()
                manifest = check_fit(folder, task=task, base=self.base, tokenizer_folder=self.base.folder)
                module = module_name(manifest)
                if module not in self._held():
                    raise ModelError(
                        f"the server at {self._url} does not hold {module!r}; start it with what `python -m serving.vllm` prints"
                    )
                self._modules[place], self._manifests[place] = module, manifest
            return self._manifests[place]

    def release(self, slot: str) -> None:
        """Let go of a slot's name; the server keeps what it holds."""
        self._modules.pop(slot, None)
        self._manifests.pop(slot, None)

    def generate(self, requests: Sequence[Request], *, task: str | None, max_tokens: int) -> list[Generated]:
        """Decode every request greedily with the adapter of ``task`` (``None``: the bare base), in order."""
        if task is not None and task not in self._modules:
            raise ModelError(f"no adapter is loaded for task {task!r}; call load() first")
        model = self.base.name if task is None else self._modules[task]
        if not requests:
            return []
        with ThreadPoolExecutor(min(self.batch_size, len(requests))) as pool:
            made = list(pool.map(lambda request: self._ask(request, model, max_tokens), requests))
        if self.observe is not None:
            self.observe(made)
        return made

    def _ask(self, request: Request, model: str, max_tokens: int) -> Generated:
        more: dict[str, Any] = {"add_special_tokens": False}
        if request.grammar:
            more["structured_outputs"] = {"grammar": request.grammar}
        prompt = encode_prompt(self.tokenizer, request.prompt)
        try:
            reply = self._client.completions.create(
                model=model,
                prompt=prompt,
                max_tokens=max_tokens,
                temperature=0,
                logprobs=1,
                logit_bias=self._biased(request),
                extra_body=more,
            )
        except openai.OpenAIError as error:
            raise ModelError(f"the server at {self._url} did not decode with {model!r}: {error}") from error
        [choice] = reply.choices
        told = [p for p in (choice.logprobs.token_logprobs if choice.logprobs else None) or [] if p is not None]
        count = reply.usage.completion_tokens if reply.usage else len(told)
        mean = sum(told) / max(1, len(told))
        return Generated(choice.text, choice.finish_reason == "stop", mean, count, 0, prompt_tokens=len(prompt))

    def _biased(self, request: Request) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for text, bias in request.first_bias.items():
            token = self.tokenizer(text, add_special_tokens=False)["input_ids"][0]
            told[str(token)] = max(-MOST_BIAS, min(MOST_BIAS, bias))
        return told

    def _held(self) -> set[str]:
        try:
            return {model.id for model in self._client.models.list()}
        except openai.OpenAIError as error:
            raise ModelError(
                f"the server at {self._url} does not say what it holds: {error}; check decoder.base_url"
            ) from error


def module_name(manifest: Manifest) -> str:
    """Give the name that a server holds an adapter under; another version has another name."""
    return f"{manifest.task}@{manifest.version}"
