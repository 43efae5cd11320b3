"""How long one add and one search take: ``python -m training.benchmarks.latency --json OUT``.

A memory of 1,000 corpus turns (their labels as extractions, so that only what is measured runs the models), then single adds with the shipped models and searches with the
shipped encoder, beside a plain dense search in the same run. Knows nothing about quality.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from seem.config import Config
from seem.errors import SeemError
from seem.pipeline import Options, Pipeline
from seem.store.batch import Draft
from seem.types import Extraction
from seem.wiring import Parts
from training.corpus import Conversation, load
from training.examples.answer import LabelExtractor, drafts

MEMORY = "latency"
Item = TypeVar("Item")


def measure(passages: int, searches: int, adds: int, models: Parts) -> dict[str, Any]:
    """Fill a memory, then time searches and adds; give median and 95th percentile in milliseconds."""
    conversations = load()
    with tempfile.TemporaryDirectory(prefix="seem-latency-") as folder:
        config = replace(models.config, data_dir=Path(folder))
        labelled = Pipeline(Parts(config, encoder=models.encoder, extractor=_Labels(conversations), judge=models.judge))
        told = list(itertools.islice(_all(conversations), passages))
        begun = time.perf_counter()
        labelled.remember(MEMORY, told)
        filled = time.perf_counter() - begun
        questions = [q.question for c in conversations for q in c.questions][:searches]
        options = Options()
        labelled.recall(MEMORY, questions[0], options)
        search = _times(lambda q: labelled.recall(MEMORY, q, options), questions)
        with labelled.states.state(MEMORY) as state:
            index = state.vectors["passage"]
        dense = _times(lambda q: index.search(models.encoder.encode([q]), 10), questions)
        labelled.parts.store.close()
        real = Pipeline(Parts(config, encoder=models.encoder, extractor=models.extractor, judge=models.judge))
        warm, *fresh = [replace(d, key=f"again {d.key}", session="again") for d in told[: adds + 1]]
        real.remember(MEMORY, [warm])
        add = _times(lambda d: real.remember(MEMORY, [d]), fresh)
        real.parts.store.close()
    return {
        "passages": len(told),
        "fill_seconds": filled,
        "search_ms": search,
        "dense_search_ms": dense,
        "search_over_dense": search["median"] / dense["median"],
        "add_ms": add,
        "threads": torch.get_num_threads(),
        "load_average": list(os.getloadavg()),
    }


class _Labels(LabelExtractor):
    name = "teacher"

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self._labels: dict[str, Extraction] = {
            f"{c.id}/{t.passage.id}": t.extraction for c in conversations for t in c.turns
        }


def _all(conversations: Sequence[Conversation]) -> Iterator[Draft]:
    for c in conversations:
        for d in drafts(c):
            turn = f"{c.id}/{d.key}"
            yield replace(d, key=turn, session=f"{c.id}/{d.session}", metadata={"turn": turn})


def _times(call: Callable[[Item], Any], items: Sequence[Item]) -> dict[str, float]:
    """Time one call an item in milliseconds."""
    taken = []
    for item in items:
        begun = time.perf_counter()
        call(item)
        taken.append((time.perf_counter() - begun) * 1000)
    cuts = statistics.quantiles(taken, n=20) if len(taken) > 1 else [taken[0]] * 19
    return {"median": statistics.median(taken), "p95": cuts[18], "n": float(len(taken))}


def main() -> int:
    """Read the command line, measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m training.benchmarks.latency", description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--passages", type=int, default=1000)
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--adds", type=int, default=20)
    parser.add_argument("--config", type=Path)
    given = parser.parse_args()
    try:
        report = measure(given.passages, given.searches, given.adds, Parts(Config.load(given.config)))
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for name in ("search_ms", "dense_search_ms", "add_ms"):
        print(f"{name:16} median {report[name]['median']:8.1f}   95th percentile {report[name]['p95']:8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
