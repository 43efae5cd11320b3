"""Steps of ``gpu_check``: each student of ``configs/train/gpu-*.yaml`` trained for a few steps on the model made on the spot, and loaded again.

Takes a configuration as it stands but for base, data and folders; runs the program that its comment names. Knows nothing about quality.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

PROGRAMS = dict.fromkeys(("extract", "fuse", "parse", "answer"), "training.sft") | {
    "on_policy": "training.recipes.on_policy",
    "preference": "training.recipes.preference",
}
TRAINING = Path("configs/train")


def student(step: str, out: Path, *, cpu: bool) -> dict[str, Any]:
    """Train one student, load its adapter again, give steps, losses and times."""
    settings = configuration(step, out, cpu=cpu)
    kind = step.removeprefix("gpu-").removesuffix("-qlora")
    begun = time.perf_counter()
    if kind == "preference":
        _call("training.recipes.pairs", out / f"{step}.yaml")
    _call(PROGRAMS.get(kind, f"training.{kind}"), out / f"{step}.yaml")
    detail: dict[str, Any] = {"training s": round(time.perf_counter() - begun, 1)}
    metrics = json.loads((Path(settings["output"]) / "metrics.json").read_text(encoding="utf-8"))
    losses = [entry["loss"] for entry in metrics.get("curve", []) if isinstance(entry, dict) and "loss" in entry]
    assert all(math.isfinite(loss) for loss in losses), f"the loss is {losses}"
    if losses:
        detail |= {"loss": f"{losses[0]:.3f} to {losses[-1]:.3f}"}
    if "task" in settings:
        detail["wrote"] = _reloaded(settings)
    return detail


def processes(step: str, out: Path, *, cpu: bool) -> dict[str, Any]:
    """Train the extractor in as many processes as there are GPUs (two on a CPU); one folder must come out of them."""
    import torch

    settings = configuration("gpu-extract", out, cpu=cpu, name=step)
    # The trainer for padded batches on a CPU works in one process.
    settings["packing"] = cpu
    (out / f"{step}.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    count = 2 if cpu else torch.cuda.device_count()
    launcher = (
        ["torch.distributed.run", "--standalone", f"--nproc_per_node={count}"]
        if cpu
        else ["accelerate.commands.launch", "--config_file=configs/accelerate/gpus.yaml", f"--num_processes={count}"]
    )
    module = ["-m", "training.sft", "--config", str(out / f"{step}.yaml")]
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", *launcher, *module], check=True)
    return {"processes": count, "training s": round(time.perf_counter() - begun, 1), "wrote": _reloaded(settings)}


def configuration(step: str, out: Path, *, cpu: bool, name: str = "") -> dict[str, Any]:
    """Give a student's configuration with base, data and folders of the check, few examples, and write it down as ``name``, else ``step``."""
    name = name or step
    settings: dict[str, Any] = yaml.safe_load((TRAINING / f"{step}.yaml").read_text(encoding="utf-8"))
    base, trained = str(out / "models" / "decoder"), out / "models" / "gpu-extract"
    ours = {
        "teacher": base,
        "teacher_adapter": "none",
        "adapter": str(trained) if (trained / "seem.json").exists() else "none",
        "pairs": str(out / "models" / "pairs"),
        "max_tokens": 16,
        "save_steps": 1000,
        "folds": 2,
    }
    settings |= {key: value for key, value in ours.items() if key in settings}
    settings |= {
        "base": base,
        "corpus": str(out / "models" / "corpus"),
        "output": str(out / "models" / name),
        "epochs": 1,
    }
    if cpu:
        settings["device"] = "cpu"
        if "gradient_accumulation" in settings:
            settings |= {"batch_size": 4, "gradient_accumulation": 4}
    # What an earlier check left would be gone on from.
    shutil.rmtree(settings["output"], ignore_errors=True)
    (out / f"{name}.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return settings


def _call(module: str, configuration: Path) -> None:
    """Run a training program in this process."""
    sys.argv = [module, "--config", str(configuration)]
    import_module(module).main()


def _reloaded(settings: dict[str, Any]) -> int:
    """Load the adapter as it is served and count the tokens that it writes."""
    from seem.models.decoder import Decoder
    from seem.models.greedy import Request

    decoder = Decoder(settings["base"], device=settings["device"], quantize=settings.get("quantize", "none"))
    decoder.load(settings["output"], task=settings["task"])
    [made] = decoder.generate([Request("Ana: I moved to Riga.\n=>\n")], task=settings["task"], max_tokens=4)
    return made.tokens
