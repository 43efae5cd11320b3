"""Memories as text for a terminal: the original words with the evidence lit up, then the events and facts of it.

Takes the dicts that ``Memory`` gives. Stored texts are data: control characters and changes of direction are shown,
never obeyed. Knows nothing about how anything was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from seem.store.words import STOP_WORDS, tokens

ASKED = "bold black on yellow"
TOLD = "bold cyan"
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_WORD = re.compile(r"[^\W_]+(?:['’\-.][^\W_]+)*")

Item = Mapping[str, Any]


def clean(text: str) -> str:
    """Give the text without what would move a cursor or turn the line around."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def lit(text: str, question: str, facts: Sequence[Item] = ()) -> Text:
    """Light up the question's words and those of the facts that cite the text."""
    asked = set(tokens(question)) - STOP_WORDS
    told = {t for fact in facts for end in ("subject", "object") for t in tokens(fact[end])} - STOP_WORDS
    shown = Text(clean(text))
    for match in _WORD.finditer(shown.plain):
        found = set(tokens(match.group()))
        if found & asked:
            shown.stylize(ASKED, *match.span())
        elif found & told:
            shown.stylize(TOLD, *match.span())
    return shown


def found(console: Console, question: str, told: Item, *, explain: bool = False) -> None:
    """Show what a search found: passages, then events and facts with their sources."""
    if not told["results"]:
        console.print("Nothing found.")
        return
    number = {item["id"]: n for n, item in enumerate(told["results"], 1)}
    for item in told["results"]:
        facts = [f for f in told["facts"] if item["id"] in f["passages"]]
        _heading(console, item, f"[{number[item['id']]}] ")
        console.print(Padding(lit(item["memory"], question, facts), (0, 0, 0, 4)))
        if explain:
            ranks = ", ".join(f"{name} {rank:g}" for name, rank in item["score_details"].items())
            console.print(f"    score {item['score']:.4f}; ranks: {ranks}", style="dim")
    _section(console, "Events", [f"{f['summary']} {_cited(f, number)}" for f in told["frames"] if f["summary"]])
    _section(console, "Facts", [f"{fact(f)} {_cited(f, number)}" for f in told["facts"]])


def answered(console: Console, question: str, told: Item) -> None:
    """Show an answer and what it rests on."""
    console.print(Text(clean(told["answer"]), style="bold green"))
    console.print()
    found(console, question, told)


def added(console: Console, results: Sequence[Item]) -> None:
    """Show what became of messages: the words, the event and the facts made of them."""
    for item in results:
        _heading(console, item, f"{item['event']:5} ")
        console.print(Padding(Text(clean(item["memory"])), (0, 0, 0, 4)))
        if item["frame"]:
            console.print(Padding(Text("event  " + clean(item["frame"]["summary"]), style="green"), (0, 0, 0, 4)))
        for told in item["facts"]:
            console.print(Padding(Text("fact   " + clean(fact(told)), style="cyan"), (0, 0, 0, 4)))


def listed(console: Console, results: Sequence[Item]) -> None:
    """Show passages in order."""
    for item in results:
        _heading(console, item, "")
        console.print(Padding(Text(clean(item["memory"])), (0, 0, 0, 4)))
    console.print(f"{len(results)} passages", style="dim")


def item(console: Console, told: Item) -> None:
    """Show one passage, frame or fact whole."""
    if "memory" in told:
        _heading(console, told, "")
        console.print(Padding(lit(told["memory"], "", told["facts"]), (0, 0, 0, 4)))
        _section(console, "Event", [told["frame"]["summary"]] if told["frame"] else [])
        _section(console, "Facts", [fact(f) for f in told["facts"]])
    elif "summary" in told:
        console.print(Text(clean(told["summary"])))
        _pairs(console, {f"event {n}": _slots(e) for n, e in enumerate(told["events"], 1)})
        _pairs(console, {"passages": ", ".join(told["passages"])})
    else:
        console.print(Text(clean(fact(told))))
        _pairs(console, {"passages": ", ".join(told["passages"]), "superseded by": told["superseded_by"] or "-"})


def history(console: Console, changes: Sequence[Item]) -> None:
    """Show what happened to an item, oldest first."""
    for change in changes:
        line = Text(f"{change['created_at'][:19]}  {change['event']:9}", style="bold")
        for mark, text in (("-", change["old_memory"]), ("+", change["new_memory"])):
            line.append(f"\n    {mark} {clean(text)}" if text else "", style="none")
        console.print(line)


def pairs(console: Console, values: Mapping[str, Any]) -> None:
    """Show names and values, one a line."""
    _pairs(console, values)


def fact(told: Item) -> str:
    """Give a fact as a line, with its validity."""
    since = f" (from {told['valid_at']}" if told["valid_at"] else ""
    until = f" until {told['invalid_at']}" if told["invalid_at"] and since else ""
    return f"{told['subject']} {told['relation']} {told['object']}" + (f"{since}{until})" if since else "")


def _heading(console: Console, item: Item, lead: str) -> None:
    when = f"{item['time'][:16].replace('T', ' ')}  " if item["time"] else ""
    line = Text(lead, style="bold").append(when, style="blue").append(clean(item["speaker"]), style="bold magenta")
    console.print(line.append(f"  {item['id']}", style="dim"))


def _section(console: Console, title: str, lines: Iterable[str]) -> None:
    lines = list(lines)
    if lines:
        console.print(f"\n{title}", style="bold")
        for line in lines:
            console.print(Padding(Text("• " + clean(line)), (0, 0, 0, 2)))


def _pairs(console: Console, values: Mapping[str, Any]) -> None:
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        console.print(Text(f"{name:{width}}  ", style="dim").append(clean(str(value)), style="none"), soft_wrap=True)


def _slots(event: Item) -> str:
    slots = {**event, "participants": ", ".join(event["participants"]), "time": (event["time"] or {}).get("text")}
    return "; ".join(f"{name}: {value}" for name, value in slots.items() if value)


def _cited(told: Item, number: Mapping[str, int]) -> str:
    return "".join(f"[{number[p]}]" for p in told["passages"] if p in number)
