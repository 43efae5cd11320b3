"""Decoded outputs kept in a file, so that an evaluation that was killed or is run again decodes only what is new.

Wraps a decoder and stands in for it; an output is known by the adapter's version, the prompt, the grammar, the bias and
the token limit. ``Forced`` answers for any bias on the first token from one decoding. Knows nothing about extraction.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from seem.errors import InputError, ModelError
from seem.models.adapters import WEIGHTS, Manifest, find_adapter
from seem.models.decoder import Decoder
from seem.models.greedy import Generated, Request

# Beyond any margin between two logits.
_NEVER = -1e4


class Replay:
    """A decoder's outputs, each decoded once. ``fresh`` and ``seconds`` tell what decoding this run needed."""

    def __init__(self, decoder: Decoder, path: Path | None = None) -> None:
        """Read the outputs that ``path`` holds; without one they are kept in memory only."""
        self._decoder = decoder
        self._path = path
        self._known: dict[str, Generated] = _read(path) if path and path.exists() else {}
        self._version = ""
        self.base = decoder.base
        self.batch_size = decoder.batch_size
        self.fresh = 0
        self.seconds = 0.0

    def load(self, adapter: str, *, task: str) -> Manifest:
        """Load an adapter on the real decoder."""
        manifest = self._decoder.load(adapter, task=task)
        self._version = f"{self.base.fingerprint} {manifest.version} {weights_hash(adapter)}"
        return manifest

    def generate(self, requests: Sequence[Request], *, task: str | None, max_tokens: int) -> list[Generated]:
        """Give the known outputs and decode the others."""
        keys = [self._key(request, task, max_tokens) for request in requests]
        missing = {key: request for key, request in zip(keys, requests, strict=True) if key not in self._known}
        if missing:
            begun = time.monotonic()
            outputs = self._decoder.generate(list(missing.values()), task=task, max_tokens=max_tokens)
            self.seconds += time.monotonic() - begun
            self.fresh += len(missing)
            self._keep(dict(zip(missing, outputs, strict=True)))
        return [self._known[key] for key in keys]

    def _keep(self, outputs: dict[str, Generated]) -> None:
        self._known |= outputs
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps([key, asdict(output)]) + "\n" for key, output in outputs.items())

    def _key(self, request: Request, task: str | None, max_tokens: int) -> str:
        told = [self._version, task, max_tokens, request.prompt, request.grammar, dict(request.first_bias)]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:24]


class Forced:
    """A decoder that never begins with the biased text, and says afterwards where a bias would have chosen it.

    One decoding serves every bias: what follows the first token does not depend on it.
    """

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self.base = replay.base
        self.batch_size = replay.batch_size

    def load(self, adapter: str, *, task: str) -> Manifest:
        """Load an adapter on the real decoder."""
        return self._replay.load(adapter, task=task)

    def generate(self, requests: Sequence[Request], *, task: str | None, max_tokens: int) -> list[Generated]:
        """Give for each request, of one biased text, what its bias makes the decoder say."""
        free = [replace(request, first_bias=dict.fromkeys(request.first_bias, _NEVER)) for request in requests]
        outputs = self._replay.generate(free, task=task, max_tokens=max_tokens)
        return [_decided(request, output) for request, output in zip(requests, outputs, strict=True)]


def _decided(request: Request, output: Generated) -> Generated:
    if len(request.first_bias) != 1:
        raise ModelError(f"a decision between two beginnings has one bias, not {len(request.first_bias)}")
    ((text, bias),) = request.first_bias.items()
    return replace(output, text=text, finished=True, tokens=1, forced=0) if output.first_margin + bias > 0 else output


def weights_hash(adapter: str) -> str:
    """Give the hash of an adapter's weights, as its version may not tell two trainings apart; «none» without them."""
    try:
        return hashlib.sha256((find_adapter(adapter) / WEIGHTS).read_bytes()).hexdigest()[:16]
    except ModelError:
        return "none"


def _read(path: Path) -> dict[str, Generated]:
    """Read the whole lines, and cut off a last one that a kill left unfinished."""
    known: dict[str, Generated] = {}
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            key, fields = json.loads(line)
            known[key] = Generated(**fields)
        except (ValueError, TypeError) as error:
            raise InputError(f"{path}: line {number} is no kept output ({error}); delete the file") from error
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return known
