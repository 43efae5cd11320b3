"""The steps of ``gpu_check.sh``, each run in a process of its own: ``python -m training.gpu.check run STEP --out FOLDER [--cpu]``.

Runs a step, leaves what it measured as FOLDER/STEP.json, and turns those files into a table and ``gpu_check.json``. A library that is missing is
told by name and is no failure. Knows nothing about what a step does; loads no heavy library itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LIBRARIES = (
    "torch transformers peft trl accelerate datasets bitsandbytes faiss llguidance torch_geometric sqlalchemy "
    "snowballstemmer dateparser scipy sklearn tensorboard matplotlib"
).split()
STUDENTS = ("gpu-extract", "gpu-extract-qlora", "gpu-judge", "gpu-on_policy", "gpu-preference", "gpu-fuse", "gpu-parse")
TRAINING = Path(__file__).parents[2] / "configs" / "train"


def steps() -> list[str]:
    """Name all steps in their order: what others build on first, then what is cheap, then each student that has a configuration."""
    found = sorted(path.stem for path in TRAINING.glob("gpu-*.yaml"))
    students = [name for name in STUDENTS if name in found] + [name for name in found if name not in STUDENTS]
    return ["models", "decoder", "quantized", "encoder", "faiss", "pagerank", *students, "processes"]


def run(step: str, out: Path, *, cpu: bool) -> None:
    """Run one step and write down how it went, a failure too."""
    told: dict[str, Any] = {"step": step, "cpu": cpu, "status": "ok", "detail": {}}
    begun = time.perf_counter()
    try:
        if step in ("models", "decoder", "quantized", "encoder", "faiss", "pagerank"):
            name, function = "training.gpu.models", step
        else:
            name, function = "training.gpu.students", "processes" if step == "processes" else "student"
        told["detail"] = getattr(import_module(name), function)(step, out, cpu=cpu)
    except ModuleNotFoundError as error:
        told |= {"status": "missing", "why": f"{error.name} is not installed"}
    except Exception as error:
        traceback.print_exc()
        absent = "not installed" in str(error) or "install " in str(error)
        told |= {"status": "missing" if absent else "failed", "why": f"{type(error).__name__}: {error}"[:400]}
    told["seconds"] = round(time.perf_counter() - begun, 2)
    (out / f"{step}.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


def told(step: str, out: Path) -> dict[str, Any]:
    """Give what a step left; one that left nothing was stopped or never came to run."""
    path = out / f"{step}.json"
    if path.exists():
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found
    began = (out / f"{step}.log").exists()
    why = f"stopped; see {out / step}.log" if began else "left out"
    return {"step": step, "status": "failed" if began else "left out", "seconds": 0.0, "why": why, "detail": {}}


def line(result: dict[str, Any]) -> str:
    """Give one row of the table, without the step's name."""
    detail = ", ".join(f"{key} {value}" for key, value in result["detail"].items())
    return f"{result['status']:9} {result['seconds']:7.1f} s  {result.get('why') or detail}"


def table(names: Sequence[str], out: Path) -> bool:
    """Print all steps and write ``gpu_check.json``; tell whether none failed."""
    results = [told(name, out) for name in names]
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    print("\n" + "\n".join(f"{r['step']:20} {line(r)}" for r in results))
    print(f"missing libraries: {', '.join(missing) or 'none'}")
    whole = {"steps": results, "missing": missing, "python": sys.version.split()[0]}
    (out / "gpu_check.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")
    return all(r["status"] != "failed" for r in results)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("steps", "run", "told", "table"))
    parser.add_argument("names", nargs="*", help="steps")
    parser.add_argument("--out", type=Path, default=Path("runs/gpu-check"))
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    if arguments.verb == "steps":
        print("\n".join(steps()))
    elif arguments.verb == "run":
        run(arguments.names[0], arguments.out.resolve(), cpu=arguments.cpu)
    elif arguments.verb == "told":
        print(line(told(arguments.names[0], arguments.out)))
    elif not table(arguments.names, arguments.out):
        sys.exit(1)


if __name__ == "__main__":
    main()
