"""Answers marked by a large model behind any OpenAI-compatible endpoint, by the prompts in ``prompts/``.

Takes a configuration (``configs/benchmarks/judge.yaml``) and, for each answer, a prompt's name and the data to mark;
gives right or wrong. Every reply is kept, so that nothing is asked twice. The prompts follow the published rules
(LoCoMo's as in Mem0's harness, LongMemEval's by type of question), in our own words. Knows nothing about questions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from seem.errors import ConfigError
from seem.models.chat import ChatEndpoint, Reply
from seem.prompts.reading import read_object
from seem.prompts.schemas import Schema
from seem.prompts.texts import Messages, fenced
from seem.settings import build, read_yaml, setting
from training.benchmarks.kept import Kept, digest

Form = Literal["label", "yes"]

PROMPTS = Path(__file__).parent / "prompts"
_LABEL: Schema = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "label": {"type": "string", "enum": ["CORRECT", "WRONG"]}},
    "required": ["reason", "label"],
    "additionalProperties": False,
}
_LABEL_WORD = re.compile(r"\b(CORRECT|WRONG)\b")
_TOKENS = {"label": 200, "yes": 10}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Whom to ask. ``api_key_env`` names the variable with the key; ``timeout`` in seconds, ``concurrency`` requests."""

    base_url: str = setting("", pattern=r"https?://.+", says="an http(s) address")
    model: str = setting("", pattern=r".+", says="the model's name at the endpoint")
    api_key_env: str = "OPENAI_API_KEY"
    timeout: float = setting(120.0, low=0.1, high=3600)
    concurrency: int = setting(8, low=1, high=256)


@dataclass(frozen=True, slots=True)
class Judging:
    """The whole configuration."""

    endpoint: Endpoint = Endpoint()


@dataclass(frozen=True, slots=True)
class Marking:
    """One answer to be marked: the prompt's name, how its reply is read, and the data, each piece with its tag."""

    prompt: str
    form: Form
    blocks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Right or wrong; ``readable`` is false where the reply said neither, which counts as wrong."""

    right: bool
    readable: bool


class EndpointJudge:
    """The model that marks."""

    def __init__(self, settings: Endpoint) -> None:
        """Name the endpoint; nothing is asked yet."""
        self.name = settings.model
        self._workers = settings.concurrency
        self._chat = ChatEndpoint(
            settings.base_url,
            settings.model,
            api_key_env=settings.api_key_env,
            timeout=settings.timeout,
            section="endpoint",
        )

    def mark(self, markings: Sequence[Marking], kept: Kept, *, name: str = "") -> list[Mark]:
        """Mark every answer, in order; raise ModelError where the endpoint gives no reply."""
        keys = [digest(self.name, _messages(marking)) for marking in markings]
        missing = {key: marking for key, marking in zip(keys, markings, strict=True) if key not in kept}
        with ThreadPoolExecutor(self._workers) as pool:
            replies = pool.map(self._ask, missing.values())
            shown = tqdm(replies, total=len(missing), desc=f"judge {name}", file=sys.stderr, disable=not missing)
            for key, reply in zip(missing, shown, strict=True):
                kept.put(key, reply.text)
        return [read_mark(str(kept.get(key, str)), marking.form) for key, marking in zip(keys, markings, strict=True)]

    def _ask(self, marking: Marking) -> Reply:
        schema = _LABEL if marking.form == "label" else None
        return self._chat.ask(_messages(marking), schema, name="mark", max_tokens=_TOKENS[marking.form])


def load_judge(path: Path) -> EndpointJudge:
    """Read a configuration; raise ConfigError with every problem in it."""
    problems: list[str] = []
    settings = build(Judging, read_yaml(path, problems), problems, {})
    needed = {"endpoint.base_url": settings.endpoint.base_url, "endpoint.model": settings.endpoint.model}
    told = {problem.split(":")[0] for problem in problems}
    problems += [f"{key}: must be given" for key, value in needed.items() if not value and key not in told]
    if problems:
        raise ConfigError(f"{path}:" + "".join(f"\n  {problem}" for problem in problems))
    return EndpointJudge(settings.endpoint)


def read_mark(reply: str, form: Form) -> Mark:
    """Read a reply: ``yes`` anywhere in it, or the label of its JSON object, or else its last label word."""
    if form == "yes":
        lower = reply.lower()
        return Mark("yes" in lower, bool(re.search(r"\b(?:yes|no)\b", lower)))
    value: dict[str, Any] = read_object(reply).value or {}
    label = str(value.get("label") or "").strip().upper()
    if label not in ("CORRECT", "WRONG"):
        found = _LABEL_WORD.findall(reply)
        label = found[-1] if found else ""
    return Mark(label == "CORRECT", bool(label))


@cache
def _prompt(name: str) -> str:
    return (PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()


def _messages(marking: Marking) -> Messages:
    """Give one user message: the instructions, then the data, each piece in its tag."""
    data = "\n\n".join(fenced(tag, text) for tag, text in marking.blocks)
    return [{"role": "user", "content": f"{_prompt(marking.prompt)}\n\n{data}"}]
