"""A file of another program into a memory: read, its cost told beforehand, stored batch by batch under a progress bar.

Takes a format, a path and an opened memory. Every batch is durable before the next one begins and keys make a repeat
harmless, so the same command goes on where it was stopped. Knows no file format.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from seem import sources
from seem.cli.output import err
from seem.errors import InputError
from seem.memory import Memory
from seem.scope import scope
from seem.sources import Problem
from seem.store.batch import Draft

BATCH = 64
# Seen on two CPU cores with the shipped models; --rate takes what another machine does.
PASSAGES_A_SECOND = 2.0
_TOKENS_A_WORD = 1.35
_TOKENS_AROUND = 60
_TOKENS_WRITTEN = 60


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds: drafts in order, and what cannot be used, by line."""

    drafts: Sequence[Draft]
    problems: Sequence[Problem]


def read(format: str, path: Path, *, zone: str | None, limit: int | None) -> Source:
    """Read a file; raise InputError where it holds nothing to remember."""
    problems: list[Problem] = []
    drafts = list(
        itertools.islice(sources.read(format, path, problems, zone=None if zone is None else _zone(zone)), limit)
    )
    if not drafts:
        why = f": line {problems[0].line}: {problems[0].why}" if problems else ""
        raise InputError(f"the file {str(path)!r} holds nothing to remember{why}")
    return Source(drafts, problems)


def estimate(source: Source, rate: float) -> dict[str, Any]:
    """Estimate passages, tokens that the models will read and write, and seconds; nothing is written."""
    words = [len(draft.text.split()) for draft in source.drafts]
    told = [n for n, draft in enumerate(source.drafts) if draft.infer]
    # The extractor sees each passage with the two before it.
    shown = sum(sum(words[max(0, n - 2) : n + 1]) for n in told)
    return {
        "passages": len(words),
        "extracted": len(told),
        "words": sum(words),
        "tokens": round(shown * _TOKENS_A_WORD) + len(told) * (_TOKENS_AROUND + _TOKENS_WRITTEN),
        "seconds": round(len(told) / rate, 1),
        "problems": listed(source.problems),
    }


def store(
    memory: Memory, source: Source, ids: Mapping[str, str], *, quiet: bool, principals: Sequence[str] | None = None
) -> dict[str, Any]:
    """Remember the drafts batch by batch; give how many were new, known, fused, and the errors of those that wait."""
    where = scope(None, **ids)
    told: dict[str, Any] = {
        "added": 0,
        "known": 0,
        "merged": 0,
        "waiting": 0,
        "errors": {},
        "problems": listed(source.problems),
    }
    total = len(source.drafts)
    hidden = quiet or not sys.stderr.isatty()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=err(), disable=hidden) as progress:
        task = progress.add_task("remembering", total=total)
        for start in range(0, total, BATCH):
            batch = source.drafts[start : start + BATCH]

            def step(done: int, of: int, at: int = start) -> None:
                progress.update(task, completed=at + done)

            for item in memory.add_drafts(batch, where, progress=step, principals=principals)["results"]:
                told["known" if item["event"] == "NOOP" else "added"] += 1
                told["merged"] += item["event"] == "MERGE"
                told["waiting"] += item["status"] in ("pending", "failed")
                if item["error"]:
                    told["errors"][item["id"]] = item["error"]
            progress.update(task, completed=start + len(batch))
    return told


def listed(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Give the problems as plain values."""
    return [{"line": problem.line, "why": problem.why} for problem in problems]


class _Rate(ProgressColumn):
    """Passages a second."""

    def render(self, task: Task) -> Text:
        """Show the speed once it is known."""
        return Text(f"{task.speed:.1f}/s" if task.speed else "", style="dim")


def _zone(name: str) -> tzinfo:
    try:
        return UTC if name.upper() == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(f"there is no time zone {name!r}; write one like Europe/Tallinn, or UTC") from error
