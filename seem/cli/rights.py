"""The commands that say who may read what: grant and revoke.

Importing this puts them on the program. They are the owner's: a restricted reader cannot run them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

from seem.cli.app import SHARED, app, opened
from seem.cli.output import Run
from seem.errors import InputError, ModelError

Ids = Annotated[list[str] | None, typer.Argument(help="The passages (p_…), unless --all or --filters names them.")]
All = Annotated[bool, typer.Option("--all", help="Every passage of the memory.")]
Filters = Annotated[
    str | None, typer.Option(help='A JSON object: the memory\'s passages it fits, as {"session": "s1"}.')
]


@app.command(epilog=SHARED)
def grant(
    context: typer.Context,
    to: Annotated[list[str], typer.Option("--to", help="Who may read from now on; repeatable, * for everyone.")],
    ids: Ids = None,
    all: All = False,
    filters: Filters = None,
) -> int:
    """Let readers read passages too, from the next call on."""
    run: Run = context.obj
    chosen = _chosen(run, ids, all, filters)
    with opened(run) as memory:
        return _told(run, memory.grant(**chosen, readers=to))


@app.command(epilog=SHARED)
def revoke(
    context: typer.Context,
    of: Annotated[list[str], typer.Option("--from", help="Who may read no more; repeatable, * for all but the owner.")],
    ids: Ids = None,
    all: All = False,
    filters: Filters = None,
) -> int:
    """Take from readers the right to read passages, from the next call on."""
    run: Run = context.obj
    chosen = _chosen(run, ids, all, filters)
    with opened(run) as memory:
        return _told(run, memory.revoke(**chosen, readers=of))


def _chosen(run: Run, ids: Sequence[str] | None, all: bool, filters: str | None) -> dict[str, Any]:
    if sum((bool(ids), all, filters is not None)) != 1:
        raise InputError("say which passages: their ids, or --all, or --filters")
    return {"passages": ids} if ids else {**run.options.ids, "filters": _read(filters) if filters else None}


def _read(filters: str) -> Mapping[str, Any]:
    try:
        told = json.loads(filters)
    except ValueError as error:
        raise InputError(f"--filters is no JSON: {error}") from error
    if not isinstance(told, dict) or not told:
        raise InputError(f"--filters must be a JSON object of fields to values, not {filters}")
    return told


def _told(run: Run, told: Mapping[str, Any]) -> int:
    why = next(iter(told["errors"].values()), "")
    failure = ModelError(f"{len(told['errors'])} passages wait for their extraction ({why}); then run: seem retry")

    def show(console: Console) -> None:
        console.print(f"changed {len(told['changed'])} passages, {len(told['again'])} extracted again")

    return run.told(told, show, count=len(told["changed"]), failure=failure if why else None)
