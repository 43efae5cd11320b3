"""The demo: a real conversation into frames and facts by the shipped models, then questions answered with the evidence.

Takes the sample conversation of the repository and an opened memory in a folder of its own. Everything runs on this
machine. Knows nothing about the models.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from seem import sources
from seem.cli import render
from seem.errors import InputError, ModelError
from seem.memory import Memory
from seem.scope import scope
from seem.sources import Problem

USER = "demo"
SAMPLES = Path(__file__).resolve().parents[2] / "data" / "samples"


def questions() -> list[dict[str, Any]]:
    """Read the sample questions; raise InputError where the samples are not there."""
    path = SAMPLES / "questions.json"
    if not path.exists() or not (SAMPLES / "chat.json").exists():
        raise InputError(
            f"the sample conversation is not at {SAMPLES}: it comes with the repository, "
            "not with the installed package; run this from a clone"
        )
    asked: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return asked


def remember(memory: Memory, console: Console) -> list[dict[str, Any]]:
    """Import session by session, showing what is made of it; raise ModelError where the models cannot run."""
    problems: list[Problem] = []
    drafts = list(sources.read("chat", SAMPLES / "chat.json", problems))
    told: list[dict[str, Any]] = []
    for session, group in itertools.groupby(drafts, key=lambda draft: draft.session):
        console.print(Text(f"\n── session {session} ──", style="bold"))
        results = memory.add_drafts(list(group), scope(user_id=USER))["results"]
        render.added(console, results)
        told += results
        failed = next((item["error"] for item in results if item["error"]), None)
        if failed:
            raise ModelError(f"the demo cannot go on: {failed}")
    return told


def ask(memory: Memory, console: Console, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answer the questions; without a model that answers, show the evidence alone and say why."""
    silent = _missing_reader(memory)
    if silent:
        console.print(Text(f"\nNo answers, only their evidence: {silent}", style="yellow"))
    told = []
    for item in asked:
        question = item["question"]
        console.print(Text(f"\n? {question}", style="bold"))
        found = (
            memory.search(question, user_id=USER, top_k=5) if silent else memory.answer(question, user_id=USER, top_k=5)
        )
        if silent:
            render.found(console, question, found)
        else:
            render.answered(console, question, found)
        console.print(Text(f"(expected: {item['answer']})", style="dim"))
        told.append({"question": question, "expected": item["answer"], **found})
    return told


def goodbye(console: Console, folder: Path) -> None:
    """Say where the memory lies and what to try next."""
    shared = f"--data-dir {folder} -u {USER}"
    console.print(Text(f"\nThe memory lies in {folder}. Try next:", style="bold"), soft_wrap=True)
    for line in (
        f'seem {shared} search "Where is the dry bag?"',
        f"seem {shared} list",
        f"seem {shared} stats",
        f"seem {shared} verify",
    ):
        console.print(f"  {line}", soft_wrap=True)


def _missing_reader(memory: Memory) -> str:
    try:
        return "" if memory.parts.reader is not None else "answer.engine is none"
    except ModelError as error:
        return str(error)
