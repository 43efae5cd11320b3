"""Results kept in a file, one a line, so that a benchmark that was killed or is run again asks only what is new.

Takes a path, or none for a run that keeps nothing; keys are strings, values JSON. A last line that a kill left
unfinished is cut off. Knows nothing about what is kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import seem
from seem.errors import InputError

_SEEM = Path(seem.__file__).parent
# What decides which passages are found, beside the stored memory and the settings.
_READING = (
    "pipeline.py",
    "state.py",
    "read/*.py",
    "graph/*.py",
    "store/vectors.py",
    "store/lexical.py",
    "store/words.py",
)
_BENCHMARK = ("methods.py", "graph_method.py", "http_method.py")


class Kept:
    """A file of results, or a mapping that is forgotten."""

    def __init__(self, path: Path | None = None) -> None:
        """Read what the file holds."""
        self._path = path
        self._known: dict[str, Any] = _read(path) if path is not None and path.exists() else {}

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def get(self, key: str, compute: Callable[[], Any]) -> Any:
        """Give the kept result of ``key``, or compute and keep it."""
        if key not in self._known:
            self.put(key, compute())
        return self._known[key]

    def put(self, key: str, value: Any) -> None:
        """Keep a result."""
        self._known[key] = value
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, value], ensure_ascii=False) + "\n")


def digest(*told: Any) -> str:
    """Give a short hash of JSON values."""
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


@cache
def reading_code() -> str:
    """Give the hash of the code that decides which passages are found: results of other code are no results."""
    files = [path for pattern in _READING for path in sorted(_SEEM.glob(pattern))]
    files += [Path(__file__).parent / name for name in _BENCHMARK]
    return digest([path.read_text(encoding="utf-8") for path in files])


def _read(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    try:
        known = dict(json.loads(line) for line in whole.split("\n")[:-1])
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} holds a line that is no kept result ({error}); delete the file") from error
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return known
