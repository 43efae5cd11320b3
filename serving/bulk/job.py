"""A bulk import as a Ray Data job: files are cut and read in parallel, sorted by memory, and imported shard by shard.

Takes files and how to open the memory, gives counts; runs on the Ray cluster that is there, or on one of its own. A memory
is written by one worker, in the order of the files. Exactly-once comes from the passages' keys, not from Ray.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seem.errors import SeemError
from seem.memory import Memory
from serving.bulk.importer import Importer
from serving.bulk.pieces import PIECE_BYTES, Piece, cut, rows
from serving.bulk.report import Report

NOTHING = -1
Heard = Callable[[Report, Mapping[str, Any]], None]


class UnfinishedError(SeemError):
    """Some shards could not be imported; the same command again goes on with them."""


def run(
    files: Sequence[Path],
    folder: Path,
    open_memory: Callable[[], Memory],
    *,
    workers: int,
    shards: int,
    owner: Mapping[str, str] | None = None,
    gpus: float = 0,
    heard: Heard | None = None,
    piece_bytes: int = PIECE_BYTES,
) -> Counter[str]:
    """Import the files' lines; give how many were added, known, merged, left out, and how many wait for a model.

    ``open_memory`` runs in each worker, ``owner`` holds the ids of lines that name nobody. What was done is kept in
    ``folder``; raise UnfinishedError where a shard could not be imported.
    """
    owner = dict(owner or {})
    pieces = cut(files, piece_bytes)
    report = Report(folder, files, shards, owner)
    failed: dict[int, str] = {}
    if pieces and len(report.done) < shards:
        for told in _results(pieces, open_memory, owner, report, workers, gpus):
            if told["error"]:
                failed[told["shard"]] = told["error"]
            else:
                report.take(told)
            if heard is not None:
                heard(report, told)
    if failed:
        raise UnfinishedError(
            f"{len(failed)} of {shards} shards could not be imported ({next(iter(failed.values()))}); run it again"
        )
    report.finish()
    return report.told


def _results(
    pieces: Sequence[Piece],
    open_memory: Callable[[], Memory],
    owner: Mapping[str, str],
    report: Report,
    workers: int,
    gpus: float,
) -> Iterator[dict[str, Any]]:
    # Ray would tell its makers that it runs.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    import ray.data

    own = not ray.is_initialized()
    if own:
        # On a cluster of our own: a CPU a worker, and one for reading and sorting.
        size = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": workers + 1, "include_dashboard": False}
        ray.init(log_to_driver=False, configure_logging=False, **size)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        items = [dataclasses.asdict(piece) for piece in pieces]
        given = {"shards": report.shards, "done": frozenset(report.done), "owner": owner}
        lines = ray.data.from_items(items, override_num_blocks=len(items)).flat_map(_read, fn_kwargs=given)
        told = lines.groupby("shard", num_partitions=report.shards).map_groups(
            Importer,
            fn_constructor_args=(open_memory, owner),
            batch_format="numpy",
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_gpus=gpus or None,
        )
        for row in told.iter_rows():
            result = json.loads(row["told"])
            if result["shard"] != NOTHING:
                yield result
    finally:
        if own:
            ray.shutdown()


def _read(item: dict[str, Any], shards: int, done: frozenset[int], owner: Mapping[str, str]) -> list[dict[str, Any]]:
    # Ray sorts no rows that have no columns: where nothing is left to do, one row says so.
    nothing = {"shard": NOTHING, "piece": 0, "file": "", "line": 0, "memory": "", "why": "", "data": b""}
    return list(rows(Piece(**item), shards, done, owner)) or [nothing]
