"""What each worker of a bulk import does: the rows of one shard into the store, memory by memory, in the order of the files.

Takes rows, gives one row of counts and problems. The write path is that of every other passage: ``Memory.add_drafts``.
Knows nothing about Ray.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from seem.errors import SeemError
from seem.memory import Memory
from seem.scope import Scope
from seem.sources.drafts import Problem, to_drafts
from seem.sources.files import parse
from serving.bulk.pieces import ids_of

BATCH = 128

Rows = Mapping[str, npt.NDArray[Any]]


class Importer:
    """A worker, with models and store of its own."""

    def __init__(self, open_memory: Callable[[], Memory], owner: Mapping[str, str]) -> None:
        """Open the memory; its models load with the first passage."""
        self._memory = open_memory()
        self._owner = owner

    def __call__(self, shard: Rows) -> dict[str, npt.NDArray[Any]]:
        """Import all rows of one shard; a store that is away ends the shard, not the job."""
        problems: list[dict[str, Any]] = []
        told: Counter[str] = Counter()
        error = ""
        lines = [dict(zip(shard, values, strict=True)) for values in zip(*shard.values(), strict=True)]
        lines.sort(key=lambda line: (line["memory"], line["piece"], line["line"]))
        try:
            for memory, rows in itertools.groupby(lines, key=lambda line: str(line["memory"])):
                if memory:
                    self._import(memory, list(rows), told, problems)
                else:
                    problems += [_problem(row, str(row["why"])) for row in rows if row["why"]]
        except SeemError as failure:
            error = str(failure)
        told["left_out"] = len(problems) - told["waiting"]
        result = {"shard": int(lines[0]["shard"]), "error": error, "told": dict(told), "problems": problems}
        return {"told": np.array([json.dumps(result, ensure_ascii=False)])}

    def _import(
        self, memory: str, rows: list[dict[str, Any]], told: Counter[str], problems: list[dict[str, Any]]
    ) -> None:
        # Keys of lines without an id count equal texts, so all lines of a memory are read as one conversation.
        refused: list[Problem] = []
        messages = [parse(row["data"]) for row in rows]
        taken: list[int] = []

        def numbered() -> Iterator[tuple[int, Any]]:
            for number, message in enumerate(messages):
                taken.append(number)
                yield number, message

        drafts = []
        for draft in to_drafts(numbered(), refused):
            number = taken[-1]
            owned = replace(draft, metadata={**draft.metadata, **ids_of(messages[number], self._owner)})
            drafts.append((rows[number], owned))
        problems += [_problem(rows[problem.line], problem.why) for problem in refused]
        for start in range(0, len(drafts), BATCH):
            batch = drafts[start : start + BATCH]
            results = self._memory.add_drafts([draft for _, draft in batch], Scope(memory, {}))["results"]
            for (row, _), item in zip(batch, results, strict=True):
                told["known" if item["event"] == "NOOP" else "added"] += 1
                told["merged"] += item["event"] == "MERGE"
                if item["status"] in ("pending", "failed"):
                    told["waiting"] += 1
                    why = item["error"] or "its extraction failed before; seem retry tries again"
                    problems.append(_problem(row, f"stored, but not extracted yet: {why}"))
        # The next memory needs the room.
        self._memory.pipeline.states.evict(memory)


def _problem(row: Mapping[str, Any], why: str) -> dict[str, Any]:
    return {"file": str(row["file"]), "line": int(row["line"]), "why": why}
