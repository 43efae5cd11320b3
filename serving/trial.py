"""``python -m serving.trial --config configs/serve.yaml``: the load test with common batches and without, side by side.

Starts the configured server on loopback twice, with its batches and with batches of one row, each on an empty data folder
that is removed afterwards; measures both with ``serving.load`` and prints a table. Knows nothing about models.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import yaml

from serving.keys import Keys
from serving.ledger import Ledger
from serving.load import Measured, machine, run, table

PROGRAM = "serving"
TENANT = "trial"
PATIENCE = 900.0
# What is no part of a memory's throughput: how often one tenant may ask.
OPEN = {"requests_per_minute": 10_000_000}
ALONE = {"encoder_rows": 1, "decoder_rows": 1, "wait_ms": 0}


@contextmanager
def served(settings: dict[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """Run a server with these settings on a folder; give its address and a key."""
    file = folder / "serve.yaml"
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    data = folder / "data"
    ledger = Ledger(data)
    _, key = Keys(ledger).create(TENANT)
    ledger.close()
    command = [sys.executable, "-m", PROGRAM, "--config", str(file), "--port", "0"]
    environment = {**os.environ, "SEEM_DATA_DIR": str(data)}
    with (folder / "log.jsonl").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        assert process.stdout is not None
        try:
            said = process.stdout.readline().split()
            if not said:
                raise SystemExit(f"the server did not start: {(folder / 'log.jsonl').read_text()[-2000:]}")
            _await(said[-1])
            yield said[-1], key
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def settings_of(config: Path, batching: dict[str, int] | None) -> dict[str, Any]:
    """Read a server's configuration for a trial, with other batches where they are given."""
    told = yaml.safe_load(config.read_text(encoding="utf-8")) or {}
    if told.get("memory"):
        told["memory"] = str((config.parent / told["memory"]).resolve())
    told["tenant"] = {**told.get("tenant", {}), **OPEN}
    told["batching"] = {**told.get("batching", {}), **(batching or {})}
    return dict(told)


def _await(url: str) -> None:
    until = time.monotonic() + PATIENCE
    while httpx.get(f"{url}/readyz", timeout=60).status_code != 200:
        if time.monotonic() > until:
            raise SystemExit(f"the server at {url} is not ready after {PATIENCE:.0f} s; see its log")
        time.sleep(0.2)


def main() -> int:
    """Measure both; give 1 where something failed."""
    parser = argparse.ArgumentParser(prog="python -m serving.trial", description="Load with and without batches.")
    parser.add_argument("--config", type=Path, default=Path("configs/serve.yaml"))
    parser.add_argument("--clients", default="1,8,32", help="comma-separated")
    parser.add_argument("--verbs", default="add,search", help="comma-separated: add, store, search")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run")
    parser.add_argument("--fill", type=int, default=0, help="passages stored before, without extraction")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    given = parser.parse_args()
    clients, verbs = [int(part) for part in given.clients.split(",")], given.verbs.split(",")
    told: dict[str, Any] = {"config": str(given.config), "fill": given.fill, "before": machine()}
    runs: dict[str, list[Measured]] = {}
    for name, batching in (("batches of one row", ALONE), ("common batches", None)):
        with tempfile.TemporaryDirectory() as folder:
            with served(settings_of(given.config, batching), Path(folder)) as (url, key):
                runs[name] = asyncio.run(run(url, key, verbs, clients, given.seconds, given.fill))
        sys.stdout.write(table(runs[name], name) + "\n\n")
        sys.stdout.flush()
    told |= {"runs": {name: [asdict(one) for one in ran] for name, ran in runs.items()}, "after": machine()}
    if given.json:
        given.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0 if all(one.served and not one.failed for ran in runs.values() for one in ran) else 1


if __name__ == "__main__":
    sys.exit(main())
