"""The cascade: the tuned extractor for every passage, a prompted one for those of which it is not sure, and a tally of what that costs.

Takes a student, a teacher and the confidence below which the teacher is asked; gives extractions, each with the name of the model that made it.
Where the teacher fails, the student's extraction stands and is counted: no passage waits for an endpoint. Knows nothing about the models.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from seem.errors import ModelError, StoreError
from seem.models.protocols import ExtractItem, Extractor
from seem.types import Extraction

if TYPE_CHECKING:
    from seem.models.chat import Reply

TALLY_FILE = "cascade.json"
CONCURRENCY = 8
# An endpoint that is away is left alone for a while, so that an import does not wait for it passage by passage.
FAILURES_IN_A_ROW = 5
REST_SECONDS = 60.0

Fate = Literal["answered", "failed", "held"]


@dataclass(frozen=True, slots=True)
class Tally:
    """Passages extracted, of them those that were doubtful, and what became of these; replies with their tokens and cost.

    ``held`` counts doubtful passages that were not sent since the endpoint had just failed, ``uncounted`` replies of
    which the server did not tell the tokens.
    """

    passages: int = 0
    doubtful: int = 0
    answered: int = 0
    failed: int = 0
    held: int = 0
    replies: int = 0
    uncounted: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        """Sum two tallies."""
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Tally)))

    @property
    def share(self) -> float:
        """Give the share of the passages that the teacher extracted."""
        return self.answered / self.passages if self.passages else 0.0


class Meter:
    """The tally of one store, kept in a file that several processes may add to. Prices are for a million tokens."""

    def __init__(self, path: Path, price_in: float = 0.0, price_out: float = 0.0) -> None:
        """Name the file; it is made when something is added."""
        self._path = path
        self._prices = (price_in, price_out)
        self._owed = Tally()
        self._lock = threading.Lock()

    def reply(self, reply: Reply) -> None:
        """Note what one reply took; it is written with the next batch."""
        known = reply.tokens_in is not None and reply.tokens_out is not None
        tokens_in, tokens_out = reply.tokens_in or 0, reply.tokens_out or 0
        cost = (tokens_in * self._prices[0] + tokens_out * self._prices[1]) / 1e6
        with self._lock:
            self._owed += Tally(
                replies=1, uncounted=int(not known), tokens_in=tokens_in, tokens_out=tokens_out, cost=cost
            )

    def add(self, batch: Tally) -> None:
        """Add a batch and the replies noted so far to the file."""
        with self._lock:
            self._owed += batch
            try:
                _write(self._path, self._owed)
            except OSError:
                # A full disk must not cost the passage its extraction; what is owed is written with the next batch.
                return
            self._owed = Tally()


class CascadeExtractor:
    """A student with a teacher behind it."""

    def __init__(self, student: Extractor, teacher: Extractor, *, below: float, meter: Meter) -> None:
        """Ask ``teacher`` where the student's confidence lies below ``below``."""
        self.student = student
        self.name = f"{student.name}, {teacher.name} below {below:g}"
        self._teacher = teacher
        self._below = below
        self._meter = meter
        self._lock = threading.Lock()
        self._failures = 0
        self._rests_until = 0.0

    def over(self, wrap: Callable[[Extractor], Extractor]) -> CascadeExtractor:
        """Give the same cascade with ``wrap`` around its student alone."""
        return CascadeExtractor(wrap(self.student), self._teacher, below=self._below, meter=self._meter)

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        """Extract a batch; one extraction each, in order. Raise ModelError where the student cannot be run."""
        said = self.student.extract(items, progress=progress)
        doubtful = [n for n, extraction in enumerate(said) if extraction.confidence < self._below]
        told = self._asked([items[n] for n in doubtful])
        fates = [fate for fate, _ in told]
        count = {fate: fates.count(fate) for fate in ("answered", "failed", "held")}
        self._meter.add(Tally(len(items), len(doubtful), count["answered"], count["failed"], count["held"]))
        better = {n: found for n, (_, found) in zip(doubtful, told, strict=True) if found is not None}
        return [better.get(n, extraction) for n, extraction in enumerate(said)]

    def _asked(self, items: Sequence[ExtractItem]) -> list[tuple[Fate, Extraction | None]]:
        if not items:
            return []
        with ThreadPoolExecutor(min(CONCURRENCY, len(items))) as pool:
            return list(pool.map(self._tried, items))

    def _tried(self, item: ExtractItem) -> tuple[Fate, Extraction | None]:
        with self._lock:
            if time.monotonic() < self._rests_until:
                return "held", None
        try:
            (found,) = self._teacher.extract([item])
        except ModelError:
            with self._lock:
                self._failures += 1
                if self._failures >= FAILURES_IN_A_ROW:
                    self._failures, self._rests_until = 0, time.monotonic() + REST_SECONDS
            return "failed", None
        with self._lock:
            self._failures = 0
        return "answered", found


def read_tally(path: Path) -> Tally | None:
    """Read the file of a meter; ``None`` where there is none, StoreError where it is no tally."""
    try:
        return Tally(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"the cascade's tally {path} cannot be read: {error}; move it away to count anew") from error


def _write(path: Path, more: Tally) -> None:
    """Add to the file under a lock, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            before = read_tally(path) or Tally()
        except StoreError:
            before = Tally()
        draft = path.with_name(path.name + ".new")
        draft.write_text(json.dumps(asdict(before + more)) + "\n", encoding="utf-8")
        os.replace(draft, path)
