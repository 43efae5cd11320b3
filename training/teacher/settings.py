"""The teacher's configuration: one frozen tree read from YAML, every unknown or impossible setting told at once.

Knows nothing about endpoints.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seem.errors import ConfigError
from seem.settings import build, read_yaml, setting


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Whom to ask. ``api_key_env`` names the variable with the key; ``retries``, ``timeout`` (seconds): of one request."""

    base_url: str = setting("", pattern=r"https?://.+", says="an http(s) address")
    model: str = setting("", pattern=r".+", says="the model's name at the endpoint")
    api_key_env: str = "OPENAI_API_KEY"
    timeout: float = setting(180.0, low=0.1, high=3600)
    retries: int = setting(5, low=0, high=20)
    concurrency: int = setting(16, low=1, high=1024)


@dataclass(frozen=True, slots=True)
class Answers:
    """How answers are asked for: ``attempts`` for one label; a cut-off answer is asked again with twice ``max_tokens``."""

    temperature: float = setting(0.0, low=0, high=2)
    max_tokens: int = setting(2048, low=16, high=65536)
    attempts: int = setting(3, low=1, high=10)


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens, and the most that one OUT may cost in all of its runs (null: no limit)."""

    input: float = setting(0.0, low=0, high=1e6)
    output: float = setting(0.0, low=0, high=1e6)
    currency: str = "USD"
    budget: float | None = setting(None, low=0, high=1e9)


@dataclass(frozen=True, slots=True)
class Writing:
    """New conversations: how many sessions, turns a session, and how freely they are written."""

    sessions: int = setting(5, low=1, high=40)
    turns: int = setting(13, low=2, high=60)
    temperature: float = setting(0.9, low=0, high=2)
    max_tokens: int = setting(8192, low=256, high=65536)
    seed: int = setting(1, low=0, high=1_000_000_000)


@dataclass(frozen=True, slots=True)
class Drift:
    """For ``training.operation.drift``: passages of one check, and the floors of the student's agreement (null: none)."""

    sample: int = setting(100, low=1, high=100_000)
    slot_f1: float | None = setting(None, low=0, high=1)
    fact_f1: float | None = setting(None, low=0, high=1)
    null_accuracy: float | None = setting(None, low=0, high=1)


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole tree. ``cache`` empty: ``answers.db`` in OUT; else a file that several OUTs share."""

    endpoint: Endpoint = Endpoint()
    answers: Answers = Answers()
    price: Price = Price()
    writing: Writing = Writing()
    drift: Drift = Drift()
    cache: str = ""


def load_settings(path: Path) -> Settings:
    """Read a configuration; raise ConfigError with every problem in it."""
    problems: list[str] = []
    elsewhere = {"budget": "price.budget", "model": "endpoint.model", "base_url": "endpoint.base_url"}
    settings = build(Settings, read_yaml(path, problems), problems, elsewhere)
    e = settings.endpoint
    needed = {"endpoint.base_url": e.base_url, "endpoint.model": e.model}
    told = {problem.split(":")[0] for problem in problems}
    problems += [f"{key}: must be given" for key, value in needed.items() if not value and key not in told]
    if settings.price.budget is not None and not (settings.price.input or settings.price.output):
        problems.append("price.budget: a budget needs price.input or price.output")
    if problems:
        raise ConfigError(f"{path}:" + "".join(f"\n  {problem}" for problem in problems))
    return settings
