"""``python -m serving.bulk FILE… --config configs/serve.yaml --tenant acme --report DIR``: flags to a bulk import."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from seem.config import Config
from seem.errors import SeemError
from seem.memory import Memory
from seem.scope import IDS
from serving.bulk import job
from serving.bulk.report import Report
from serving.config import ServeConfig, tenant_settings


def main() -> int:
    """Import; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m serving.bulk", description="Import JSON lines with many workers.")
    parser.add_argument("files", nargs="+", type=Path, help="JSON lines as of `seem export`, with user_id or its kin")
    parser.add_argument("--config", type=Path, help="a YAML file; see configs/serve.yaml")
    parser.add_argument("--tenant", required=True, help="whose memories they are")
    parser.add_argument("--report", type=Path, required=True, help="a folder for what is done and what was left out")
    parser.add_argument("--workers", type=int, default=2, help="each loads its own models (default: 2)")
    parser.add_argument("--shards", type=int, default=64, help="what a worker takes at a time (default: a 64th)")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs a worker, e.g. 0.5")
    for name in IDS:
        parser.add_argument(f"--{name.replace('_', '-')}", help="for lines that name nobody")
    given = parser.parse_args()
    owner = {name: value for name in IDS if (value := getattr(given, name)) is not None}
    begun = time.monotonic()

    def heard(report: Report, told: Mapping[str, Any]) -> None:
        done = report.told["added"] + report.told["known"]
        state = told["error"] or f"{done} passages, {len(report.done)} of {report.shards} shards"
        sys.stderr.write(f"{time.monotonic() - begun:8.0f} s  {state}\n")

    try:
        # Where each value came from does not travel to the workers.
        settings = dataclasses.replace(ServeConfig.load_file(given.config).settings, origins={})
        told = job.run(
            given.files,
            given.report,
            partial(_open, tenant_settings(settings, given.tenant)),
            workers=given.workers,
            shards=given.shards,
            owner=owner,
            gpus=given.gpus,
            heard=heard,
        )
    except (SeemError, OSError) as error:
        sys.stderr.write(f"bulk import: {error}\n")
        return 1
    sys.stdout.write(", ".join(f"{name} {count}" for name, count in sorted(told.items())) + "\n")
    return 0


def _open(settings: Config) -> Memory:
    return Memory(settings)


if __name__ == "__main__":
    sys.exit(main())
