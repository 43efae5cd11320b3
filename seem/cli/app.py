"""What the commands hang on: the program with the options that all of them share, and the memory that they open.

Knows no command. ``open_parts`` is the seam at which tests put scripted models.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from seem.audit import acting
from seem.cli.options import Options
from seem.cli.output import Run
from seem.errors import InputError
from seem.memory import Memory
from seem.wiring import Parts

SHARED = (
    "-u/--user-id, --agent-id, --run-id, --as, --config, --data-dir and --json may stand before or after the command; "
    "see: seem --help"
)
# The commands that no restricted reader can run.
OWNERS = frozenset(
    {
        "audit",
        "promote",
        "retain",
        "verify",
        "reindex",
        "retry",
        "demo",
        "grant",
        "revoke",
        "split",
        "merge",
        "reassign",
        "undo",
    }
)
app = typer.Typer(
    name="seem",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Long-term memory for agents and people, on small local models. "
    "Without -u, --agent-id and --run-id the user id is «default».",
)


def open_parts(options: Options) -> Parts:
    """Give store and models of the configuration; the models load when they are first needed."""
    return Parts(options.settings())


@app.callback()
def shared(
    context: typer.Context,
    user_id: Annotated[
        str | None, typer.Option("-u", "--user-id", help="Whose memory; «default» where no id is given.")
    ] = None,
    agent_id: Annotated[str | None, typer.Option(help="The agent; owns the memory where no user is given.")] = None,
    run_id: Annotated[
        str | None, typer.Option(help="The run or session; narrows, or owns where nobody else does.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file of settings; see: seem config")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the memory lies (default ~/.seem, or $SEEM_HOME).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")] = False,
    principals: Annotated[
        list[str] | None,
        typer.Option("--as", help="Read and write as this reader, to whom only what he may read exists; repeatable."),
    ] = None,
) -> None:
    """Take the options that every command shares."""
    run: Run = context.obj
    run.options = Options(user_id, agent_id, run_id, config, data_dir, json, tuple(principals) if principals else None)
    run.command = context.invoked_subcommand or ""
    if principals and run.command in OWNERS:
        raise InputError(f"`seem {run.command}` works on whole memories, as their owner; leave out --as")


@contextmanager
def opened(run: Run) -> Iterator[Memory]:
    """Give the memory of the shared options, closed afterwards."""
    with Memory(parts=open_parts(run.options)) as memory, acting(f"cli:{os.environ.get('USER') or os.getuid()}"):
        yield memory
