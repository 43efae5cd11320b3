"""A process that writes a memory on scripted models until it is killed, and says what was acknowledged."""

from __future__ import annotations

import random
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from seem.memory import Memory
from tests.flows.people import memory, said

USER: Any = {"user_id": "ana"}


def open_memory(folder: Path) -> Memory:
    return memory(folder)


def text(run: int, number: int) -> str:
    """Give a text that no other run has."""
    return f"Ana{run} keeps KEPT-{run}-{number}-END near bee{number % 3}"


def write(folder: Path, run: int, pipe: Connection) -> None:
    """Add, correct and forget at random; each message is a verb that returned, or one that begins."""
    rng = random.Random(run)
    live: dict[str, str] = {}
    with open_memory(folder) as opened:
        pipe.send_bytes(b"ready")
        for number in range(10_000):
            words = text(run, number)
            choice = rng.random()
            if choice < 0.6 or len(live) < 2:
                wait = rng.random() < 0.7
                told = opened.add(said(words, name=f"Ana{run}"), **USER, wait=wait)["results"]
                live[told[0]["id"]] = words
                pipe.send_bytes(f"add {words}".encode())
                continue
            item = rng.choice(sorted(live))
            old = live.pop(item)
            if choice < 0.8:
                pipe.send_bytes(f"updating {old}\t{words}".encode())
                opened.update(item, words)
                live[item] = words
                pipe.send_bytes(f"update {old}\t{words}".encode())
            else:
                pipe.send_bytes(f"forgetting {old}".encode())
                opened.forget(item)
                pipe.send_bytes(f"forget {old}".encode())


def write_some(folder: Path, worker: int, count: int) -> None:
    """Add ``count`` passages, and forget every fourth again."""
    with open_memory(folder) as opened:
        for number in range(count):
            told = opened.add(f"worker {worker} says {number}", **USER)["results"][0]
            assert told["error"] is None, told["error"]
            if number % 4 == 3:
                opened.forget(told["id"])
