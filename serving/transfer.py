"""Import and export as jobs: JSON lines in, JSON lines out, a batch at a time.

Takes the job and the tenant's memory; a line that cannot be used loses only itself. Knows nothing about HTTP.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from seem import sources
from seem.cli import exporting
from seem.memory import Memory
from seem.scope import scope
from seem.sources import Problem
from serving.jobs import Job

BATCH = 16
# Of the problems of a file, so many are told.
TOLD = 100


def imported(job: Job, memory: Memory, room: Callable[[int], None]) -> dict[str, Any]:
    """Remember the job's file; give how many passages were new, known and fused, and what was left out.

    ``room`` is asked before each batch, and raises where it does not fit.
    """
    problems: list[Problem] = []
    where = scope(None, **job.request["ids"])
    drafts = list(sources.read(job.request["format"], job.file, problems))
    told = {"added": 0, "known": 0, "merged": 0, "waiting": 0}
    for start in range(0, len(drafts), BATCH):
        batch = drafts[start : start + BATCH]
        job.step(start, len(drafts))
        room(len(batch))
        for item in memory.add_drafts(batch, where, principals=job.principals)["results"]:
            told["known" if item["event"] == "NOOP" else "added"] += 1
            told["merged"] += item["event"] == "MERGE"
            told["waiting"] += item["status"] in ("pending", "failed")
    job.step(len(drafts), len(drafts))
    job.file.unlink(missing_ok=True)
    listed = [{"line": p.line, "why": p.why} for p in itertools.islice(problems, TOLD)]
    return {**told, "left_out": len(problems), "problems": listed}


def exported(job: Job, memory: Memory) -> dict[str, Any]:
    """Write what its caller may read of a memory to the job's file, whole or not at all."""
    total = memory.stats(**job.request["ids"], principals=job.principals)["passages"]
    job.step(0, total)
    count = exporting.write(exporting.export(memory, job.memory, job.principals), job.file)
    job.step(count, count)
    return {"passages": count}
