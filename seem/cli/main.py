"""``seem``: long-term memory on the command line. Arguments in, text or JSON out, nothing else.

Every error that is meant for people comes as one sentence and a non-zero exit status; nothing is sent anywhere.
Importing this loads no model library.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from seem.cli import demo as demonstration
from seem.cli import forgetting, frames, importing, render, rights, upkeep
from seem.cli.app import SHARED, app, opened
from seem.cli.options import Options, hoist
from seem.cli.output import INTERRUPTED, Run, code_of, err, out, reason
from seem.errors import InputError, ModelError, SeemError
from seem.sources import FORMATS

__all__ = ["app", "forgetting", "frames", "main", "rights", "upkeep"]

Question = Annotated[str, typer.Argument(help="What to ask.")]
Id = Annotated[str, typer.Argument(help="A passage (p_…), frame (f_…) or fact (k_…).")]
TopK = Annotated[int | None, typer.Option("-k", "--top-k", "--limit", help="Passages at most.")]
AsOf = Annotated[
    str | None, typer.Option(help="A day or moment (ISO 8601): answer from what was said and held by then.")
]
Expand = Annotated[str | None, typer.Option(help="The whole story of what is found: auto, always or never.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status."""
    words = hoist(list(sys.argv[1:] if arguments is None else arguments))
    run = Run(Options(json="--json" in itertools.takewhile(lambda word: word != "--", words)))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = int(app(words or ["--help"], standalone_mode=False, obj=run, prog_name="seem") or 0)
        if status == INTERRUPTED:
            # Typer turns the interrupt into this status.
            raise KeyboardInterrupt
        sys.stdout.flush()
        return status
    except typer.TyperException as error:
        program = f"seem {run.command}".strip()
        return run.failed("usage", f"{error.format_message().rstrip('.')}. See: {program} --help", 2)
    except (KeyboardInterrupt, typer.Abort):
        return run.failed(
            "interrupted", "stopped; what was stored is kept, and `seem retry` finishes what waits", INTERRUPTED
        )
    except SeemError as error:
        return run.failed(code_of(error), str(error))
    except BrokenPipeError:
        # Whoever read this had enough; a second complaint at exit would tell nobody anything.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return run.failed("os", reason(error))


@app.command(epilog=SHARED)
def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What to remember; - reads standard input.")],
    speaker: Annotated[str | None, typer.Option(help="Who says it.")] = None,
    session: Annotated[str | None, typer.Option(help="Which conversation it belongs to.")] = None,
    timestamp: Annotated[str | None, typer.Option(help="When it was said: ISO 8601 or unix seconds.")] = None,
    infer: Annotated[bool, typer.Option(help="Make events and facts of it.")] = True,
    reader: Annotated[
        list[str] | None,
        typer.Option(help="Who may read it; repeatable. Everyone, or the one of --as, where nobody is named."),
    ] = None,
) -> int:
    """Remember a text: store it, and make events and facts of it."""
    run: Run = context.obj
    words = sys.stdin.buffer.read().decode("utf-8", "replace") if text == "-" else text
    message = {"role": "user", "content": words, "name": speaker, "session": session}
    with opened(run) as memory:
        who = run.options.principals
        told = memory.add(
            message, **run.options.ids, timestamp=timestamp, infer=infer, readers=reader or (), principals=who
        )
    errors = [item["error"] for item in told["results"] if item["error"]]
    failure = (
        ModelError(f"{errors[0]} (the words are stored and can be found; `seem retry` finishes the rest)")
        if errors
        else None
    )
    return run.told(
        told, lambda console: render.added(console, told["results"]), count=len(told["results"]), failure=failure
    )


@app.command("import", epilog=SHARED)
def import_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file to read, or the folder or zip of an export.")],
    format: Annotated[str, typer.Option("-f", "--format", help=f"One of {', '.join(FORMATS)}.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what it would cost; write nothing.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="The first passages only.")] = None,
    zone: Annotated[
        str | None, typer.Option(help="The time zone of times without one; UTC, but whatsapp demands it.")
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0.001, help="Passages a second, for the estimate.")
    ] = importing.PASSAGES_A_SECOND,
) -> int:
    """Remember a file of messages; the same command again goes on where it was stopped."""
    run: Run = context.obj
    source = importing.read(format, file, zone=zone, limit=limit)
    if dry_run:
        told = importing.estimate(source, rate)
    else:
        with opened(run) as memory:
            told = importing.store(
                memory, source, run.options.ids, quiet=run.options.json, principals=run.options.principals
            )
    failure: SeemError | None = None
    if told.get("errors"):
        why = next(iter(told["errors"].values()))
        failure = ModelError(
            f"{len(told['errors'])} passages are stored, but wait for their extraction ({why}); then run: seem retry"
        )
    elif source.problems:
        failure = InputError(
            f"{len(source.problems)} messages of {str(file)!r} cannot be used and were left out; "
            "mend them and import again"
        )

    def show(console: Console) -> None:
        render.pairs(console, {name: value for name, value in told.items() if name not in ("problems", "errors")})
        for problem in source.problems:
            err().print(f"line {problem.line}: {problem.why}", style="yellow")

    return run.told(told, show, count=len(source.drafts), failure=failure)


@app.command(epilog=SHARED)
def search(
    context: typer.Context,
    query: Question,
    top_k: TopK = None,
    threshold: Annotated[float, typer.Option(help="Drop passages that score less.")] = 0.0,
    expand: Expand = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show score and ranks.")] = False,
    as_of: AsOf = None,
) -> int:
    """Find the passages that ground an answer, with their events and facts."""
    run: Run = context.obj
    with opened(run) as memory:
        told = memory.search(
            query,
            **run.options.meant,
            top_k=top_k,
            threshold=threshold,
            expand=expand,
            explain=explain,
            as_of=as_of,
        )
    return run.told(
        told, lambda console: render.found(console, query, told, explain=explain), count=len(told["results"])
    )


@app.command(epilog=SHARED)
def answer(
    context: typer.Context, question: Question, top_k: TopK = None, expand: Expand = None, as_of: AsOf = None
) -> int:
    """Answer a question from memory and show the evidence."""
    run: Run = context.obj
    with opened(run) as memory:
        told = memory.answer(question, **run.options.meant, top_k=top_k, expand=expand, as_of=as_of)
    return run.told(told, lambda console: render.answered(console, question, told), count=len(told["results"]))


@app.command("list", epilog=SHARED)
def list_(context: typer.Context, top_k: TopK = None) -> int:
    """List the passages of a memory in order of arrival."""
    run: Run = context.obj
    with opened(run) as memory:
        told = memory.get_all(**run.options.meant, top_k=top_k)
    return run.told(told, lambda console: render.listed(console, told["results"]), count=len(told["results"]))


@app.command(epilog=SHARED)
def get(context: typer.Context, id: Id) -> int:
    """Show one passage, frame or fact."""
    run: Run = context.obj
    with opened(run) as memory:
        told = memory.get(id, principals=run.options.principals)
    return run.told(told, lambda console: render.item(console, told))


@app.command(epilog=SHARED)
def update(context: typer.Context, id: Id, text: Annotated[str, typer.Argument(help="The right words.")]) -> int:
    """Correct a passage; its events and facts are made anew."""
    run: Run = context.obj
    with opened(run) as memory:
        told = memory.update(id, text, principals=run.options.principals)
    failure = (
        ModelError(f"{told['error']} (the new words are stored; `seem retry` finishes the rest)")
        if told["error"]
        else None
    )
    return run.told(told, lambda console: render.added(console, [told]), failure=failure)


@app.command(epilog=SHARED)
def delete(
    context: typer.Context,
    id: Annotated[str | None, typer.Argument(help="A passage, or a frame or fact with all of its passages.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Everything that carries the ids given.")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")] = False,
) -> int:
    """Delete without residue; what other passages support stays."""
    run: Run = context.obj
    if all == (id is not None):
        raise InputError("say what to delete: either an id, or --all with -u, --agent-id or --run-id")
    if all and not run.options.given:
        raise InputError("--all needs -u, --agent-id or --run-id, so that nothing goes by accident")
    what = f"everything of {', '.join(run.options.given.values())}" if all else str(id)
    if not yes and (run.options.json or not typer.confirm(f"Delete {what} for good?", err=True)):
        raise InputError("nothing was deleted; confirm, or give --yes")
    with opened(run) as memory:
        who = run.options.principals
        told = memory.delete_all(**run.options.meant) if all else memory.delete(str(id), principals=who)
    count = told["deleted"] if all else len(told["deleted"])
    return run.told(told, lambda console: console.print(f"deleted {count} passages"), count=count)


@app.command(epilog=SHARED)
def history(context: typer.Context, id: Id) -> int:
    """Tell what happened to a passage, frame or fact."""
    run: Run = context.obj
    with opened(run) as memory:
        told = memory.history(id, principals=run.options.principals)
    return run.told(told, lambda console: render.history(console, told), count=len(told))


@app.command(epilog=SHARED)
def demo(context: typer.Context) -> int:
    """Turn the sample conversation into events and facts, and answer questions from it, in a temporary folder."""
    run: Run = context.obj
    asked = demonstration.questions()
    folder = run.options.data_dir or Path(tempfile.mkdtemp(prefix="seem-demo-"))
    run.options = replace(run.options, user_id=demonstration.USER, agent_id=None, run_id=None, data_dir=folder)
    console = Console(file=sys.stderr, quiet=True) if run.options.json else out()
    with opened(run) as memory:
        results = demonstration.remember(memory, console)
        answers = demonstration.ask(memory, console, asked)
    told = {"data_dir": str(folder), "remembered": results, "answers": answers}
    return run.told(told, lambda console: demonstration.goodbye(console, folder), count=len(answers))


if __name__ == "__main__":
    sys.exit(main())
