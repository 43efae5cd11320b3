"""One run of the teacher: cache, ledger, client, signals and progress around the work, and what it cost at the end.

Takes settings, OUT and a piece of asynchronous work; gives the work's result. Ctrl-C or SIGTERM admits no further
request and waits for those under way. Knows nothing about tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from seem.errors import InputError
from training.teacher.cache import Cache
from training.teacher.client import Teacher
from training.teacher.ledger import Ledger
from training.teacher.settings import Settings

CACHE_FILE = "answers.db"
LEDGER_FILE = "ledger.json"
Result = TypeVar("Result")
_COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TextColumn("{task.fields[money]}"),
    TimeRemainingColumn(),
)


class Meter:
    """The progress bar: done, rejected, spent, and what the rest will cost at the mean so far."""

    def __init__(self, progress: Progress, ledger: Ledger, total: int, what: str) -> None:
        """Show ``total`` pieces of work."""
        self._progress = progress
        self._ledger = ledger
        self._bar = progress.add_task(what, total=total, money="")
        self._total = total
        self._done = 0
        self._unpaid = 0
        self._seen = 0

    def step(self) -> None:
        """Tell that one more is done."""
        now = self._ledger.now
        self._done += 1
        self._unpaid += now.requests == self._seen
        self._seen = now.requests
        paid = self._done - self._unpaid
        rest = now.cost / paid * (self._total - self._done) if paid else 0.0
        money = f"{now.cost:.4f} {self._ledger.price.currency}, about {rest:.4f} to go"
        self._progress.update(self._bar, advance=1, money=money)


def run(
    settings: Settings, out: Path, total: int, what: str, work: Callable[[Teacher, Meter], Awaitable[Result]]
) -> tuple[Result, Ledger]:
    """Run the work; write ``ledger.json`` in OUT whatever happens."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out} cannot be made: {error}.") from error
    cache = Cache(Path(settings.cache).expanduser() if settings.cache else out / CACHE_FILE, str(out.resolve()))
    try:
        return asyncio.run(_run(settings, out, total, what, work, cache))
    finally:
        cache.close()


async def _run(
    settings: Settings,
    out: Path,
    total: int,
    what: str,
    work: Callable[[Teacher, Meter], Awaitable[Result]],
    cache: Cache,
) -> tuple[Result, Ledger]:
    ledger = Ledger(settings.price, cache.spent())
    try:
        async with Teacher(settings.endpoint, cache, ledger) as teacher:
            with _signals(teacher), Progress(*_COLUMNS, console=Console(file=sys.stderr)) as progress:
                return await work(teacher, Meter(progress, ledger, total, what)), ledger
    finally:
        (out / LEDGER_FILE).write_text(json.dumps(told(settings, ledger), indent=1) + "\n")


def told(settings: Settings, ledger: Ledger) -> dict[str, Any]:
    """Give the ledger in plain numbers."""
    return {
        "model": settings.endpoint.model,
        "price": asdict(settings.price),
        "this_run": asdict(ledger.now) | {"from_cache": ledger.cached},
        "all_runs": {
            "requests": ledger.before.requests + ledger.now.requests,
            "tokens_in": ledger.before.tokens_in + ledger.now.tokens_in,
            "tokens_out": ledger.before.tokens_out + ledger.now.tokens_out,
            "cost": ledger.total,
        },
        "tokens_estimated": ledger.estimated,
    }


@contextlib.contextmanager
def _signals(teacher: Teacher) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    caught: list[signal.Signals] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        # Only the main thread can, and not on Windows: elsewhere the process simply ends, and the cache holds what was paid.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, teacher.stop, f"interrupted by {number.name}")
            caught.append(number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
