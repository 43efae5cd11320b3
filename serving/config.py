"""Every setting of the server: one frozen tree, read from a YAML file; the memory's own settings lie in a file beside it.

To add a setting, add a field. Knows nothing about what the settings do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from seem.config import Config
from seem.errors import ConfigError
from seem.settings import Leaves, build, flatten, read_yaml, setting

TENANT = "{tenant}"


@dataclass(frozen=True, slots=True)
class Http:
    """Where to listen, and how long a shutdown waits for what is being served."""

    host: str = "127.0.0.1"
    port: int = setting(8765, low=0, high=65535)
    drain_seconds: int = setting(20, low=1, high=3600)


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest request that is taken. ``page`` is the longest page of a list."""

    body_kb: int = setting(2048, low=1, high=1_048_576)
    import_mb: int = setting(256, low=1, high=65_536)
    messages: int = setting(256, low=1, high=100_000)
    text_chars: int = setting(100_000, low=100, high=10_000_000)
    query_chars: int = setting(8000, low=10, high=1_000_000)
    page: int = setting(200, low=1, high=10_000)


@dataclass(frozen=True, slots=True)
class Tenant:
    """What a tenant may do where its own row says nothing else; ``open`` counts the stores that are held open."""

    requests_per_minute: int = setting(600, low=1, high=10_000_000)
    passages: int = setting(1_000_000, low=1, high=10_000_000_000)
    open: int = setting(64, low=1, high=100_000)


@dataclass(frozen=True, slots=True)
class Batching:
    """How rows of all tenants come together: a batch is cut at its rows, or ``wait_ms`` after its oldest row came."""

    wait_ms: int = setting(5, low=0, high=1000)
    encoder_rows: int = setting(64, low=1, high=4096)
    decoder_rows: int = setting(16, low=1, high=4096)


@dataclass(frozen=True, slots=True)
class Load:
    """When to say no. ``waiting`` requests queue beside ``threads`` running ones, for reads, answers and writes each.

    ``backlog`` is how many stored passages may wait for their extraction; ``memory_mb`` what loaded memories may take.
    """

    threads: int = setting(16, low=1, high=1024)
    waiting: int = setting(64, low=0, high=100_000)
    backlog: int = setting(20_000, low=1, high=100_000_000)
    memory_mb: int = setting(2048, low=1, high=10_000_000)


@dataclass(frozen=True, slots=True)
class Keep:
    """How long replies to idempotency keys, and finished jobs with their exports, are kept."""

    reply_hours: int = setting(24, low=1, high=8760)
    job_hours: int = setting(24, low=1, high=8760)


@dataclass(frozen=True, slots=True)
class Upstream:
    """The OpenAI-compatible endpoint behind the chat proxy; without ``base_url`` there is no proxy."""

    base_url: str = setting("", pattern=r"(https?://.+)?", says="an http(s) address")
    api_key_env: str = "OPENAI_API_KEY"
    timeout_seconds: int = setting(120, low=1, high=3600)
    context_tokens: int = setting(1000, low=64, high=100_000)


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Where OpenTelemetry spans and metrics go, as OTLP over HTTP; nowhere without ``otlp_endpoint``.

    ``content`` puts queries and memories into spans; without it there is no word of them.
    """

    otlp_endpoint: str = setting("", pattern=r"(https?://.+)?", says="an http(s) address")
    content: bool = False


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """The whole tree. ``memory`` names the file of the memory's settings, beside this one; empty: the defaults."""

    memory: str = ""
    http: Http = Http()
    limits: Limits = Limits()
    tenant: Tenant = Tenant()
    batching: Batching = Batching()
    load: Load = Load()
    keep: Keep = Keep()
    upstream: Upstream = Upstream()
    telemetry: Telemetry = Telemetry()
    settings: Config = field(default_factory=Config, metadata={"derived": True})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], settings: Config) -> Self:
        """Build from nested mappings and the memory's settings; raise ConfigError with every problem."""
        problems: list[str] = []
        return cls._build("The server's configuration", flatten(values, "dict", problems), problems, settings)

    @classmethod
    def load_file(cls, path: Path | None) -> Self:
        """Build from a YAML file (none: the defaults) and the memory's file that it names, with the environment."""
        problems: list[str] = []
        leaves = read_yaml(path, problems) if path is not None else {}
        named = leaves.get("memory", ("", ""))[0]
        beside = path.parent / named if path is not None and isinstance(named, str) and named else None
        name = "The server's configuration" if path is None else f"The configuration file {str(path)!r}"
        return cls._build(name, leaves, problems, Config.load(beside))

    @classmethod
    def _build(cls, name: str, leaves: Leaves, problems: list[str], settings: Config) -> Self:
        config = build(cls, leaves, problems, {"server": "http", "listen": "http"})
        url = settings.store.url
        if url and TENANT not in url:
            problems.append(f"store.url: every tenant has a store of its own, so the address must hold {TENANT}")
        if problems:
            raise ConfigError(f"{name} cannot be used:" + "".join(f"\n  {problem}" for problem in problems))
        return dataclasses.replace(config, settings=settings)

    @property
    def folder(self) -> Path:
        """The folder of everything that the server keeps."""
        return self.settings.data_dir


def tenant_settings(settings: Config, tenant: str) -> Config:
    """Give the memory's settings with the store of one tenant."""
    store = dataclasses.replace(settings.store, url=settings.store.url.replace(TENANT, tenant))
    return dataclasses.replace(settings, data_dir=settings.data_dir / "tenants" / tenant, store=store)
