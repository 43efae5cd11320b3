"""The commands that show the grounds of an item and correct frames by hand: show, split, merge, reassign, undo.

Importing this puts them on the program. What a hand has put apart or together, no later import changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from seem.cli import render
from seem.cli.app import SHARED, app, opened
from seem.cli.output import Run

Told = Mapping[str, Any]
FrameId = Annotated[str, typer.Argument(help="A frame (f_…).")]
PassageId = Annotated[str, typer.Argument(help="A passage (p_…).")]
Actor = Annotated[str, typer.Option(help="Who corrects; noted in the history.")]


@app.command(epilog=SHARED)
def show(
    context: typer.Context, id: Annotated[str, typer.Argument(help="A passage (p_…), frame (f_…) or fact (k_…).")]
) -> int:
    """Show an item with its grounds: who said what and when, which version holds, which lost."""
    run: Run = context.obj
    with opened(run) as memory:
        told = memory.show(id, principals=run.options.principals)
    return run.told(told, lambda console: _show(console, told))


@app.command(epilog=SHARED)
def split(
    context: typer.Context,
    frame: FrameId,
    passages: Annotated[list[str], typer.Argument(help="Those of its passages that tell of something else.")],
    actor: Actor = "",
) -> int:
    """Move passages of a frame into a frame of their own, for good."""
    run: Run = context.obj
    with opened(run) as memory:
        return _told(run, memory.split(frame, passages, actor=actor))


@app.command(epilog=SHARED)
def merge(
    context: typer.Context,
    frames: Annotated[list[str], typer.Argument(help="Two frames (f_…) or more that tell of one occurrence.")],
    actor: Actor = "",
) -> int:
    """Join frames into the oldest of them, for good."""
    run: Run = context.obj
    with opened(run) as memory:
        return _told(run, memory.merge(frames, actor=actor))


@app.command(epilog=SHARED)
def reassign(
    context: typer.Context,
    passage: PassageId,
    frame: Annotated[str | None, typer.Argument(help="Where it belongs; none: a frame of its own.")] = None,
    actor: Actor = "",
) -> int:
    """Move a passage into another frame, for good."""
    run: Run = context.obj
    with opened(run) as memory:
        return _told(run, memory.reassign(passage, frame, actor=actor))


@app.command(epilog=SHARED)
def undo(
    context: typer.Context,
    id: Annotated[str | None, typer.Argument(help="The frame or passage whose last correction to take back.")] = None,
    actor: Actor = "",
) -> int:
    """Take back the last split, merge or reassign: of an item, else of the memory."""
    run: Run = context.obj
    with opened(run) as memory:
        return _told(run, memory.undo(id, **({} if id else run.options.ids), actor=actor))


def _told(run: Run, told: Told) -> int:
    def show_frames(console: Console) -> None:
        for frame in told["frames"]:
            console.print(Text(frame["id"], style="bold"))
            render.item(console, frame)

    return run.told(told, show_frames, count=len(told["frames"]))


def _show(console: Console, told: Told) -> None:
    render.item(console, told)
    if told["kind"] == "passage":
        parts = [told["frame"]] if told["frame"] else []
        for part in [*parts, *told["facts"]]:
            console.print()
            console.print(Text(part["id"], style="bold"))
            _grounds(console, part)
    else:
        _grounds(console, told)


def _grounds(console: Console, told: Told) -> None:
    """Show every version of a frame's slots, or of a fact, and what ended what."""
    if "versions" in told and "summary" in told:
        for n, event in enumerate(told["versions"], 1):
            for slot, said in event["slots"].items():
                console.print(Text(f"event {n}, {slot}", style="dim"))
                _lines(console, said)
        return
    _lines(console, told["versions"])
    if told["ended_by"]:
        console.print(Text("ended by  " + render.clean(render.fact(told["ended_by"]))))
    for ended in told["ended"]:
        console.print(Text("ended     " + render.clean(render.fact(ended))))


def _lines(console: Console, said: list[Told]) -> None:
    for version in said:
        mark = "holds" if version["holds"] else "lost "
        when = f"{version['time'][:16].replace('T', ' ')}  " if version["time"] else ""
        value = ", ".join(_words(version["value"]))
        line = Text(f"  {mark}  ", style="green" if version["holds"] else "dim").append(when, style="blue")
        line.append(render.clean(version["speaker"]), style="bold magenta").append(f"  {render.clean(value)}")
        console.print(line.append(f"  {version['passage']}", style="dim"), soft_wrap=True)


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        told = (value[name] for name in ("subject", "relation", "object", "text", "start", "end") if name in value)
        yield " ".join(dict.fromkeys(str(word) for word in told if word))
    else:
        yield from [value] if isinstance(value, str) else value
