"""A closed network and a machine without a GPU: everything works from what is installed, or one sentence says what to do."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from seem.config import Config
from seem.errors import ConfigError, ModelError
from seem.models.base import cache_folder, find_base, pick_device

ROOT = Path(__file__).parents[2]


def apart() -> list[str]:
    """Give what starts a command in a network of its own without routes; nothing where this system forbids it."""
    command = ["unshare", "--user", "--map-root-user", "--net"]
    allowed = (
        shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    )
    return command if allowed else []


def test_serving_adding_asking_and_forgetting_reach_for_no_network(tmp_path: Path) -> None:
    """O-34: empty hub caches, no routes, and every attempt noted."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "SEEM_", "TRANSFORMERS_"))}
    own = {"HF_HOME": str(tmp_path / "hf"), "HOME": str(tmp_path), "SEEM_CACHE": str(cache_folder())}
    ran = subprocess.run(
        [*apart(), sys.executable, "-m", "tests.robustness.offline", str(tmp_path)],
        cwd=ROOT, env={**inherited, **own}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    told: dict[str, Any] = json.loads(next(line for line in ran.stderr.splitlines() if line.startswith('{"http"')))
    assert told["tried"] == []
    assert told["http"] == {"status": "done", "found": 1, "deleted": 1}
    assert told["cli"] == [0, 0, 0]


@pytest.mark.parametrize("name", ["nobody/no-such-model", "/no/such/folder", "no such name"])
def test_a_model_that_is_not_there_is_named_at_once_and_not_fetched(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """O-34: within seconds, without retries, with the way to supply it."""
    tried: list[Any] = []
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(socket.socket, "connect", lambda _self, address: tried.append(address))
    begun = time.monotonic()
    with pytest.raises(ModelError, match="name a folder that holds it"):
        find_base(name)
    assert tried == [] and time.monotonic() - begun < 30


def test_a_gpu_that_is_not_there_is_refused_before_the_first_request(tmp_path: Path) -> None:
    """O-36 (a): asked for by name it is an error of the configuration; «auto» takes the CPU."""
    path = tmp_path / "c.yaml"
    path.write_text("decoder: {device: 'cuda:7', quantize: 4bit, attention: flash}\n")
    with pytest.raises(ConfigError) as caught:
        Config.load(path)
    assert "cuda:7" in str(caught.value) and "decoder.attention: unknown" in str(caught.value)
    with pytest.raises(ModelError, match="set device: auto or cpu"):
        pick_device("cuda:7")
    assert pick_device("auto") in ("cpu", "cuda")
