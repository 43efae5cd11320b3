"""What holds for every command: whose memory, which configuration, text or JSON; wherever it stands on the line.

Takes the words of the command line, gives them with these options first, and the settings that they amount to. Knows no
command.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from seem.config import Config

DEFAULT_USER = "default"
_VALUED = ("--user-id", "--agent-id", "--run-id", "--as", "--config", "--data-dir", "-u")
_FLAGS = ("--json",)


@dataclass(frozen=True, slots=True)
class Options:
    """The options that every command shares; no id at all means the user «default»."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    config: Path | None = None
    data_dir: Path | None = None
    json: bool = False
    principals: tuple[str, ...] | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The ids that were given."""
        ids = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}
        return {name: told for name, told in ids.items() if told is not None}

    @property
    def ids(self) -> dict[str, Any]:
        """The ids that are meant."""
        return self.given or {"user_id": DEFAULT_USER}

    @property
    def meant(self) -> dict[str, Any]:
        """The ids that are meant, and the reader."""
        return {**self.ids, "principals": self.principals}

    def settings(self) -> Config:
        """Read the configuration; raise ConfigError with every problem in it."""
        config = Config.load(self.config)
        if self.data_dir is None:
            return config
        origins = MappingProxyType({**config.origins, "data_dir": "option"})
        return dataclasses.replace(config, data_dir=self.data_dir.expanduser().absolute(), origins=origins)


def hoist(words: Sequence[str]) -> list[str]:
    """Put the shared options first, so that they may stand before or after the command; what follows ``--`` stays."""
    first: list[str] = []
    rest: list[str] = []
    n = 0
    while n < len(words):
        word = words[n]
        if word == "--":
            rest += words[n:]
            break
        if word in _VALUED and n + 1 < len(words):
            first += words[n : n + 2]
            n += 1
        elif word in _FLAGS or word.startswith(tuple(f"{name}=" for name in _VALUED[:-1])):
            first.append(word)
        elif word.startswith("-u") and len(word) > 2:
            first += ["-u", word[2:]]
        else:
            rest.append(word)
        n += 1
    return first + rest
