"""The folder in which a bulk import keeps what is done: it can be killed at any moment and goes on where it was.

``job.json`` says which import it is, ``shards.jsonl`` has a line for each shard that is done, ``problems.jsonl`` one for
each line of the files that was left out or waits. Knows nothing about how shards are imported.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seem.errors import InputError


class Report:
    """What one import has done. One process writes it."""

    def __init__(self, folder: Path, files: Sequence[Path], shards: int, owner: Mapping[str, str]) -> None:
        """Open or make the folder; raise InputError where it tells of another import."""
        folder.mkdir(parents=True, exist_ok=True)
        self.shards = shards
        self._done, self._problems = folder / "shards.jsonl", folder / "problems.jsonl"
        told = [[str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in files]
        job = {"files": told, "shards": shards, "owner": dict(owner)}
        head = folder / "job.json"
        if head.exists():
            if json.loads(head.read_text()) != job:
                raise InputError(
                    f"{folder} tells of another import (other files, shards or owner); name another folder"
                )
        else:
            _write(head, json.dumps(job))
        kept = _lines(self._done)
        self.done = {line["shard"] for line in kept}
        self.told: Counter[str] = Counter()
        for line in kept:
            self.told.update(line["told"])
        # Of a shard that was cut off, only the problems may have been written.
        problems = [line for line in _lines(self._problems) if line["shard"] in self.done]
        _write(self._done, "".join(json.dumps(line) + "\n" for line in kept))
        _write(self._problems, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in problems))

    def take(self, told: Mapping[str, Any]) -> None:
        """Note a shard that is done; durable when this returns."""
        problems = [{"shard": told["shard"], **problem} for problem in told["problems"]]
        _append(self._problems, problems)
        _append(self._done, [{"shard": told["shard"], "told": told["told"]}])
        self.done.add(told["shard"])
        self.told.update(told["told"])

    def finish(self) -> None:
        """Note that the shards that are left had no line."""
        for shard in sorted(set(range(self.shards)) - self.done):
            self.take({"shard": shard, "told": {}, "problems": []})


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    # What follows the last line break was cut off. Texts may hold other breaks than this one.
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in whole]


def _append(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
