"""The commands that look after a store: counts, checks, indexes, what waits, a copy, the settings.

Importing this puts them on the program. None of them reads or writes a passage for its content.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from seem.cli import exporting, render
from seem.cli.app import SHARED, app, opened
from seem.cli.output import Run
from seem.errors import ModelError, StoreError
from seem.scope import scope
from seem.store.verify import verify as faults
from seem.tiers import saved
from seem.write.cascade import TALLY_FILE, read_tally


@app.command(epilog=SHARED)
def stats(context: typer.Context) -> int:
    """Count what is stored, of one memory if an id is given, else of all; then also what a cascade sent to its endpoint."""
    run: Run = context.obj
    with opened(run) as memory:
        told: dict[str, Any] = memory.stats(**run.options.given, principals=run.options.principals)
        if run.options.principals is None:
            told |= saved(told["raw"], memory.parts.store.raw_characters(_memory(run)), told["passages"])
        whole = not run.options.given and run.options.principals is None
        tally = None if not whole else read_tally(memory.parts.config.data_dir / TALLY_FILE)
    if tally is not None:
        told |= {f"cascade_{name}": value for name, value in {**asdict(tally), "share": round(tally.share, 4)}.items()}
    return run.told(told, lambda console: render.pairs(console, told))


@app.command(epilog=SHARED)
def verify(context: typer.Context) -> int:
    """Check the store against itself; exit status 1 and one sentence a fault where it is unsound."""
    run: Run = context.obj
    with opened(run) as memory:
        wrong = faults(memory.parts.store, _memory(run))
    failure = StoreError(f"{len(wrong)} faults were found") if wrong else None

    def show(console: Console) -> None:
        for sentence in wrong or ["sound"]:
            console.print(render.clean(sentence), soft_wrap=True)

    return run.told({"sound": not wrong, "faults": wrong}, show, count=len(wrong), failure=failure)


@app.command(epilog=SHARED)
def reindex(context: typer.Context) -> int:
    """Make every vector anew, with the configured encoder."""
    run: Run = context.obj
    with opened(run) as memory:
        told = memory.reindex()
    return run.told(told, lambda console: render.pairs(console, told), count=told["vectors"])


@app.command(epilog=SHARED)
def retry(context: typer.Context) -> int:
    """Make events and facts of what still waits: after a crash, or once a missing model is there."""
    run: Run = context.obj
    with opened(run) as memory:
        told = memory.retry()
    why = next(iter(told["failed"].values()), "")
    failure = ModelError(f"{len(told['failed'])} passages still wait: {why}") if why else None
    return run.told(told, lambda console: console.print(f"done {told['done']}"), count=told["done"], failure=failure)


@app.command(epilog=SHARED)
def export(
    context: typer.Context,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file to write.")] = None,
) -> int:
    """Write a memory as JSON lines, which `seem import --format jsonl` takes back."""
    run: Run = context.obj
    with opened(run) as memory:
        lines = exporting.export(memory, scope(None, **run.options.ids).memory, run.options.principals)
        if output is None and run.options.json:
            told: Any = list(lines)
            return run.told(told, lambda console: None, count=len(told))
        count = exporting.write(lines, output)
    if output is None:
        return 0
    return run.told({"file": str(output)}, lambda console: console.print(f"{count} passages in {output}"), count=count)


@app.command(epilog=SHARED)
def config(context: typer.Context) -> int:
    """Show every setting, and whether it came by default, file, env or option."""
    run: Run = context.obj
    settings = run.options.settings()
    flat = {
        f"{section}.{name}": v
        for section, part in settings.to_dict().items()
        if isinstance(part, dict)
        for name, v in part.items()
    }
    values = {"data_dir": str(settings.data_dir)} | flat
    told = {name: {"value": value, "from": settings.origins[name]} for name, value in values.items()}
    rows = {name: f"{part['value']!r:32} {part['from']}" for name, part in told.items()}
    return run.told(told, lambda console: render.pairs(console, rows), count=len(told))


def _memory(run: Run) -> str | None:
    """Give the key of the memory whose ids were given, else none: all of them."""
    return scope(None, **run.options.given).memory if run.options.given else None
