"""What a command says: text for people, one JSON object for programs, one sentence for what went wrong.

Takes data that is computed already. The JSON is ``{status, command, duration_ms, scope, count, data}``, with ``error``
where something failed. Knows nothing about memories.
"""

from __future__ import annotations

import errno
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from seem.cli.options import Options
from seem.errors import ConfigError, InputError, ModelError, NotFoundError, SeemError, StoreError

INTERRUPTED = 130
_CODES: Mapping[type[SeemError], str] = {
    InputError: "input",
    ConfigError: "config",
    ModelError: "model",
    StoreError: "store",
    NotFoundError: "not_found",
}


@dataclass(slots=True)
class Run:
    """One run of one command."""

    options: Options = field(default_factory=Options)
    command: str = ""
    started: float = field(default_factory=time.monotonic)

    def told(
        self, data: Any, show: Callable[[Console], None], *, count: int = 1, failure: SeemError | None = None
    ) -> int:
        """Give the result to people or to programs, and the exit status. ``failure`` is what could not be done."""
        if self.options.json:
            self._print_json(data, count, failure)
        else:
            show(out())
            if failure is not None:
                err().print(f"seem: {failure}", style="red")
        return 1 if failure is not None else 0

    def failed(self, code: str, message: str, status: int = 1) -> int:
        """Tell why nothing came of it; give the exit status."""
        if self.options.json:
            _write({"status": "error", **self._frame(), "error": {"code": code, "message": message}})
        else:
            err().print(f"seem: {message}", style="red")
        return status

    def _print_json(self, data: Any, count: int, failure: SeemError | None) -> None:
        error = {"error": {"code": code_of(failure), "message": str(failure)}} if failure is not None else {}
        _write({"status": "error" if error else "success", **self._frame(), "count": count, "data": data, **error})

    def _frame(self) -> dict[str, Any]:
        spent = round((time.monotonic() - self.started) * 1000)
        return {"command": self.command, "duration_ms": spent, "scope": self.options.ids}


def code_of(error: SeemError) -> str:
    """Give the short name of an error's kind."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), "error")


def reason(error: OSError) -> str:
    """Say in a sentence what the operating system refused."""
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full{where}; free some space, what was stored before is kept"
    return f"{error.strerror or 'the operating system refused'}{where}; check the path and its rights"


def out() -> Console:
    """Give the console for results; texts are data, never markup."""
    return Console(file=sys.stdout, markup=False, emoji=False, highlight=False)


def err() -> Console:
    """Give the console for problems and progress; a sentence stays on one line where it is not a terminal."""
    return Console(file=sys.stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def _write(envelope: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(envelope, ensure_ascii=False, indent=1, default=str) + "\n")
