"""One batch decoded greedily, each row under its own grammar; rows that have ended leave the batch.

Takes token ids and requests; gives text with what the network thought of it. Knows nothing about adapters or devices beyond where its tensors lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from transformers import DynamicCache


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
    the best other one that was allowed; 0 where no bias was asked for. ``prompt_tokens`` is the length of the prompt.
    """

    text: str
    finished: bool
    logprob: float
    tokens: int
    forced: int
    first_margin: float = 0.0
    prompt_tokens: int = 0


class Network(Protocol):
    """What a batch needs of the decoder."""

    tokenizer: Any
    device: str

    def forward(self, **inputs: Any) -> Any:
        """Run the network once."""

    def grammar_matcher(self, grammar: str) -> Any:
        """Compile a grammar."""

    def without_adapter(self) -> Any:
        """Give a context in which no adapter is active."""


class GreedyBatch:
    """The state of one batch while it is decoded; rows are compacted as they end."""

    def __init__(
        self, decoder: Network, requests: Sequence[Request], prompts: Sequence[list[int]], max_tokens: int
    ) -> None:
        self.decoder = decoder
        self.prompts = prompts
        self.max_tokens = max_tokens
        self.eos = int(decoder.tokenizer.eos_token_id)
        # Some bases (Qwen3) pad their vocabulary to a round number: what lies beyond the tokenizer's is no token.
        self.vocabulary = len(decoder.tokenizer)
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
            Generated(text(t, skip_special_tokens=True), done, lp / max(1, len(t)), len(t), forced, margin, len(prompt))
            for t, done, lp, forced, margin, prompt in zip(
                self.tokens, self.finished, self.logprob, self.forced, self.margin, self.prompts, strict=True
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
            logits = out.logits[:, -1, : self.vocabulary].float().cpu().numpy()
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
        return allowed[: self.vocabulary]


def _margin(logits: npt.NDArray[np.float32], token: int, allowed: npt.NDArray[np.bool_] | None) -> float:
    others = logits.copy() if allowed is None else np.where(allowed, logits[: len(allowed)], -np.inf)
    others[token] = -np.inf
    return float(np.clip(logits[token] - others.max(), -1e4, 1e4))
