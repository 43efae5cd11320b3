"""Logs as JSON lines: what happened, when, to which request and tenant. Never content: no text, no query, no body.

Knows nothing about who logs.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

# What a record may tell beside its message; anything else that is attached to it stays out.
_FIELDS = (
    "request_id",
    "tenant",
    "key",
    "method",
    "route",
    "status",
    "ms",
    "code",
    "kind",
    "count",
    "job",
    "models",
    "why",
)


class JsonLines(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line."""
        told: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        told |= {name: vars(record)[name] for name in _FIELDS if name in vars(record)}
        if record.exc_info and record.exc_info[1] is not None:
            # The place, not the message: an exception may quote what somebody wrote.
            frames = self.formatException(record.exc_info).splitlines()
            told["exception"] = type(record.exc_info[1]).__name__
            told["trace"] = [line.strip() for line in frames if line.startswith("  File ")]
        return json.dumps(told, ensure_ascii=False, default=str)


def set_up(level: str = "INFO") -> None:
    """Send every log of this process to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # Its access log would tell every request a second time, query strings included.
    logging.getLogger("uvicorn.access").disabled = True
    for noisy in ("httpx", "httpcore", "mcp"):
        logging.getLogger(noisy).setLevel("WARNING")
