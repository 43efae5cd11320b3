"""``python -m serving.vllm --config configs/vllm.yaml``: print the command that serves base and adapters with vLLM, or run it.

Takes the memory's configuration; gives vLLM's base folder, and each adapter that is configured as a LoRA module under the
name that ``seem.models.served`` asks for. vLLM is not installed by any extra: it brings a torch of its own. Knows nothing
about what is generated.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from pathlib import Path
from urllib.parse import urlsplit

from seem.config import Config
from seem.errors import ConfigError, SeemError
from seem.models.adapters import find_adapter, read_manifest
from seem.models.base import find_base
from seem.models.served import module_name
from seem.wiring import ON_DECODER

# The ranks that vLLM has kernels for.
RANKS = (8, 16, 32, 64, 128, 256)


def command(config: Config, memory_share: float = 0.8) -> list[str]:
    """Give the words of the command; raise ConfigError where nothing is configured to be decoded there."""
    address = urlsplit(config.decoder.base_url)
    if not address.hostname:
        raise ConfigError(
            "decoder.base_url is empty: name the address that vLLM shall listen on, as configs/vllm.yaml does"
        )
    base = find_base(config.decoder.model)
    modules, ranks = [], []
    for section, engine in ON_DECODER.values():
        chosen = getattr(config, section)
        if chosen.engine == engine:
            folder = find_adapter(chosen.adapter).resolve()
            manifest = read_manifest(folder)
            modules.append(f"{module_name(manifest)}={folder}")
            ranks.append(_rank(folder))
    if not modules:
        raise ConfigError("no task is configured to run on the decoder; set extract.engine or answer.engine to local")
    rank = next((r for r in RANKS if r >= max(ranks)), max(ranks))
    words = ["vllm", "serve", str(base.folder), "--served-model-name", base.name]
    words += ["--host", address.hostname, "--port", str(address.port or 80), "--dtype", "bfloat16"]
    words += ["--enable-lora", "--max-loras", str(len(modules)), "--max-lora-rank", str(rank)]
    words += ["--lora-modules", *modules]
    # The grammars use llguidance's own terminals.
    words += ["--structured-outputs-config.backend", "guidance", "--gpu-memory-utilization", str(memory_share)]
    return words


def _rank(folder: Path) -> int:
    return int(json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))["r"])


def main() -> int:
    """Print the command, or become it."""
    parser = argparse.ArgumentParser(prog="python -m serving.vllm", description="vLLM with our adapters.")
    parser.add_argument("--config", type=Path, help="the memory's settings; see configs/vllm.yaml")
    parser.add_argument("--memory-share", type=float, default=0.8, help="of the GPU's memory, for vLLM")
    parser.add_argument("--run", action="store_true", help="run it instead of printing it")
    given = parser.parse_args()
    try:
        words = command(Config.load(given.config), given.memory_share)
    except SeemError as error:
        sys.stderr.write(f"serving.vllm: {error}\n")
        return 1
    if given.run:
        os.execvp(words[0], words)
    sys.stdout.write(shlex.join(words) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
