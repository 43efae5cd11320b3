"""The commands of a memory's upkeep with a record: forget, retain, promote, audit.

Importing this puts them on the program. What was erased is told as a receipt, never as words.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from seem.cli import exporting, render
from seem.cli.app import SHARED, app, opened
from seem.cli.output import Run
from seem.errors import InputError, ModelError, StoreError
from seem.memory import Memory

PAGE = 1000

Ids = Annotated[list[str] | None, typer.Argument(help="Passages (p_…), or frames (f_…) and facts (k_…) with theirs.")]
Session = Annotated[str | None, typer.Option(help="All of this session.")]
Speaker = Annotated[str | None, typer.Option(help="All that this person said.")]
Before = Annotated[str | None, typer.Option(help="All that was said before: ISO 8601 or unix seconds.")]
All = Annotated[bool, typer.Option("--all", help="All of the memory; needs -u, --agent-id or --run-id.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]


@app.command(epilog=SHARED)
def forget(
    context: typer.Context,
    ids: Ids = None,
    session: Session = None,
    speaker: Speaker = None,
    before: Before = None,
    all: All = False,
    yes: Yes = False,
) -> int:
    """Erase what fits all that is said, with everything that only it supports, and show the receipt."""
    run: Run = context.obj
    if all and not run.options.given:
        raise InputError("--all needs -u, --agent-id or --run-id, so that nothing goes by accident")
    chosen: dict[str, Any] = {"session": session, "speaker": speaker, "before": before, "everything": all}
    _confirm(run, yes, "Erase this for good?")
    with opened(run) as memory:
        told = memory.forget(ids or (), **chosen, **_whose(run, ids), principals=run.options.principals)
    return run.told(
        told, lambda console: _receipt(console, told), count=told["removed"].get("passages", 0), failure=_seen(told)
    )


@app.command(epilog=SHARED)
def retain(
    context: typer.Context,
    older_than: Annotated[str | None, typer.Option(help="Erase passages older than 90d, 12w or 36h.")] = None,
    idle_session: Annotated[str | None, typer.Option(help="Erase sessions whose last passage is older.")] = None,
    keep: Annotated[int | None, typer.Option(min=0, help="Keep so many of the latest passages of each memory.")] = None,
    keep_sessions: Annotated[int | None, typer.Option(min=0, help="Keep so many of the latest sessions.")] = None,
    session: Annotated[
        str | None, typer.Option(help="Only in sessions whose name fits this pattern, such as 'tmp-*'.")
    ] = None,
    clock: Annotated[str | None, typer.Option(help="Age since it was: stored, or said.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what is due; erase nothing.")] = False,
    yes: Yes = False,
) -> int:
    """Apply rules of retention: those given here, else those of the configuration; of one memory, or of all."""
    run: Run = context.obj
    rules: dict[str, Any] = {
        "older_than": older_than,
        "idle_session": idle_session,
        "keep": keep,
        "keep_sessions": keep_sessions,
    }
    rules |= {"session": session, "clock": clock}
    if not dry_run:
        _confirm(run, yes, "Erase what is due for good?")
    with opened(run) as memory:
        told = memory.retain(dry_run=dry_run, **run.options.given, **rules)

    def show(console: Console) -> None:
        for key, numbers in told["rules"].items():
            render.pairs(console, {key: ", ".join(f"{rule} {number}" for rule, number in numbers.items())})
        if told["receipt"]:
            _receipt(console, told["receipt"])
        else:
            console.print(f"{told['due']} passages are due")

    return run.told(told, show, count=told["due"], failure=_seen(told["receipt"]) if told["receipt"] else None)


@app.command(epilog=SHARED)
def promote(
    context: typer.Context,
    ids: Ids = None,
    session: Session = None,
    speaker: Speaker = None,
    before: Before = None,
    all: All = False,
) -> int:
    """Make events and facts of passages that were stored raw, chosen as by `seem forget`."""
    run: Run = context.obj
    chosen: dict[str, Any] = {"session": session, "speaker": speaker, "before": before, "everything": all}
    with opened(run) as memory:
        told = memory.promote(ids or (), **chosen, **_whose(run, ids))
    why = next(iter(told["errors"].values()), "")
    failure = ModelError(f"{len(told['errors'])} passages wait: {why}; then run: seem retry") if why else None
    number = len(told["promoted"])
    return run.told(told, lambda console: console.print(f"promoted {number} passages"), count=number, failure=failure)


@app.command(epilog=SHARED)
def audit(
    context: typer.Context,
    item: Annotated[str | None, typer.Option(help="What happened to this passage, frame or fact.")] = None,
    action: Annotated[
        str | None, typer.Option(help="add, derive, update, delete, delete_memory, correct, share, read …")
    ] = None,
    actor: Annotated[str | None, typer.Option(help="By whom.")] = None,
    since: Annotated[str | None, typer.Option(help="From this moment on.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this moment.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many lines at most.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write JSON lines to this file.")] = None,
) -> int:
    """Tell who did what to which ids, and when; of one memory if an id is given, else of all. No content is kept in it."""
    run: Run = context.obj
    which = {"item": item, "action": action, "actor": actor, "since": since, "until": until}
    with opened(run) as memory:
        lines = itertools.islice(_lines(memory, {**which, **run.options.given}), limit)
        if output is not None:
            count = exporting.write(lines, output)
            return run.told(
                {"file": str(output)}, lambda console: console.print(f"{count} lines in {output}"), count=count
            )
        told = list(lines)
    return run.told(told, lambda console: _trail(console, told), count=len(told))


def _lines(memory: Memory, which: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    after: int | None = 0
    while after is not None:
        page = memory.audit(**which, after=after, limit=PAGE)
        yield from page["results"]
        after = page["next"]


def _whose(run: Run, ids: list[str] | None) -> dict[str, Any]:
    return run.options.given if ids else run.options.ids


def _confirm(run: Run, yes: bool, question: str) -> None:
    if not yes and (run.options.json or not sys.stdin.isatty() or not typer.confirm(question, err=True)):
        raise InputError("nothing was erased; confirm, or give --yes")


def _seen(receipt: Mapping[str, Any]) -> StoreError | None:
    """Give the failure of an erasure of which traces were found."""
    if receipt["clean"] is not False:
        return None
    files = ", ".join(file["file"] for file in receipt["scan"]["files"] if file["hits"])
    return StoreError(f"it is erased, but {files} still holds some of it; delete that file, or export anew")


def _receipt(console: Console, told: Mapping[str, Any]) -> None:
    scan = told["scan"]
    looked = f"{scan['looked_for']} pieces of text in {len(scan['files'])} files of {scan['bytes']} bytes"
    rows = {"removed": _numbers(told["removed"]), "folded again": _numbers(told["refolded"])}
    rows |= {"extracted again": told["again"], "looked for": looked, "found": scan["hits"]}
    render.pairs(console, rows)


def _numbers(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in counts.items() if number) or "nothing"


def _trail(console: Console, lines: list[dict[str, Any]]) -> None:
    for line in lines:
        ids = json.dumps({**line["ids"], **({"removed": line["removed"]} if line["removed"] else {})})
        told = f"{line['at'][:19]}  {line['action']:13} {line['actor'] or '-'}  {line['memory']}  {ids}"
        console.print(render.clean(told), soft_wrap=True)
