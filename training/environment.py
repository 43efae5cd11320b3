"""Where a run took place: versions, processor, graphics card, and the commit of the code.

Gives plain values for cards and metrics. Knows nothing about runs.
"""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

_LIBRARIES = ("torch", "transformers", "peft", "trl", "accelerate")
_ROOT = Path(__file__).resolve().parents[1]


def environment() -> dict[str, str]:
    """Give what a reader needs to know about the machine and the code."""
    gpus = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    return {
        "python": platform.python_version(),
        "libraries": ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES),
        "processor": f"{_processor()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads",
        "gpu": ", ".join(gpus) or "none",
        "commit": _commit(),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _commit() -> str:
    """Give the commit, marked where files differ from it; ``none`` outside of a repository."""
    command = ["git", "-C", str(_ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return "none"
    return told.stdout.strip()
