"""Any other memory behind HTTP, so that it can be measured beside ours on the same questions.

Three requests, JSON in and out, at the address given with ``--http``::

    POST /reset   {"memory": id}                                            begin an empty memory
    POST /add     {"memory": id, "passages": [{"id", "text", "speaker", "session", "time", "image"}, …]}
                  -> {"tokens_in": n, "tokens_out": n, "bytes": n}          each may be left out
    POST /search  {"memory": id, "question": text, "k": n}
                  -> {"passages": [id, …]}                                  at most k count, best first

``time`` is ISO 8601 or null. Ids that were never added are refused. The address is called a method's name; the passages
are put into a context by the same code, under the same budget, as every method's. Knows nothing about scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from seem.errors import ModelError
from seem.types import Passage

TIMEOUT = 600.0
BATCH = 256


class RemoteMemory:
    """One memory at an address. ``told`` sums up what the address says of its cost."""

    def __init__(self, url: str, memory: str) -> None:
        """Begin an empty memory."""
        self._url = url.rstrip("/")
        self._memory = memory
        self._known: set[str] = set()
        self.told: dict[str, int] = {}
        self._post("reset", {})

    def add(self, passages: Sequence[tuple[str, Passage]]) -> None:
        """Add passages under their labels."""
        for start in range(0, len(passages), BATCH):
            rows = passages[start : start + BATCH]
            reply = self._post("add", {"passages": [_row(label, passage) for label, passage in rows]})
            for name in ("tokens_in", "tokens_out"):
                if isinstance(reply.get(name), int):
                    self.told[name] = self.told.get(name, 0) + reply[name]
            if isinstance(reply.get("bytes"), int):
                self.told["bytes"] = reply["bytes"]
            self._known.update(label for label, _ in rows)

    def search(self, question: str, k: int) -> list[str]:
        """Give at most ``k`` labels, best first."""
        found = self._post("search", {"question": question, "k": k}).get("passages")
        if not isinstance(found, list) or not all(isinstance(label, str) for label in found):
            raise ModelError(f"{self._url}/search must answer with a list of ids under passages")
        if unknown := [label for label in found if label not in self._known]:
            raise ModelError(f"{self._url}/search gave the id {unknown[0]!r}, which was never added")
        return list(dict.fromkeys(found))[:k]

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        address = f"{self._url}/{path}"
        try:
            reply = httpx.post(address, json={"memory": self._memory, **body}, timeout=TIMEOUT)
            reply.raise_for_status()
            told = reply.json() if reply.content else {}
        except (httpx.HTTPError, ValueError) as error:
            raise ModelError(f"{address} did not answer: {error}; check --http and that the method runs") from error
        return told if isinstance(told, dict) else {}


def _row(label: str, passage: Passage) -> dict[str, Any]:
    return {
        "id": label,
        "text": passage.text,
        "speaker": passage.speaker,
        "session": passage.session,
        "time": passage.time.isoformat() if passage.time else None,
        "image": passage.image,
    }
