"""One case into one memory of its own, by the product's own path; kept in a folder, it is imported once.

Takes a case and shared models; gives a pipeline over its store. A file's name holds a hash of all that decides its
content but the code: data, models, their settings. An import that was killed goes on where it stopped. Knows nothing
about questions.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from seem.config import Config
from seem.errors import ModelError
from seem.models.adapters import MANIFEST, find_adapter
from seem.models.protocols import Encoder, Vectors
from seem.pipeline import CHUNK, Pipeline
from seem.store.store import Store
from seem.wiring import Parts
from training.benchmarks.cases import Case
from training.benchmarks.meter import peak_bytes, reset_peak, tokens
from training.evaluate.replay import weights_hash

Item = TypeVar("Item")


class KnownQuestions:
    """An encoder that encodes each question once, alone, and remembers how long that took.

    Methods share the vector, and each is charged its cost.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors: dict[str, Vectors] = {}
        self.seconds: dict[str, float] = {}
        self.fingerprint = encoder.fingerprint
        self.dimension = encoder.dimension

    def learn(self, question: str) -> None:
        """Encode a question, once."""
        if question not in self._vectors:
            begun = time.perf_counter()
            self._vectors[question] = self._encoder.encode([question])
            self.seconds[question] = time.perf_counter() - begun

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode; a question that is known alone is not encoded again."""
        known = self._vectors.get(texts[0]) if len(texts) == 1 else None
        return self._encoder.encode(texts) if known is None else known


@dataclass(frozen=True, slots=True)
class Cost:
    """What filling a memory took, and its size. Tokens are the generating model's; None where nobody counted."""

    seconds: float
    bytes: int | None
    tokens_in: int | None = None
    tokens_out: int | None = None
    peak_bytes: int | None = None
    part_seconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """A case in its memory. ``key`` stands for all that decided its content; ``cost`` counts earlier runs too."""

    pipeline: Pipeline
    encoder: KnownQuestions
    memory: str
    key: str
    label: str
    parts: int
    cost: Cost
    problems: tuple[str, ...]
    counts: Mapping[str, int]


def models_only(config: Config, *, extract: bool) -> Parts:
    """Give the parts that all cases share; without ``extract``, passages are only stored and indexed."""
    if extract:
        return Parts(config)
    without = replace(config, extract=replace(config.extract, engine="none"))
    return Parts(replace(without, judge=replace(config.judge, engine="none")))


def import_case(case: Case, models: Parts, folder: Path, *, parts: int = 1) -> Imported:
    """Import a case into a store in ``folder``, or open the one that is there.

    With ``parts``, whole sessions arrive in that many turns, each finished before the
    next: a memory that grows, not one that is filled.
    """
    key = _key(case, models, parts)
    base = folder / f"{case.id}-{key}"
    encoder = KnownQuestions(models.encoder)
    store = Store(folder / f"{base.name}.db")
    own = Parts(
        models.config,
        store=store,
        encoder=encoder,
        extractor=models.extractor,
        judge=models.judge,
        router=models.router,
    )
    # What else generates shares the base model, where it is loaded, and its tokens are counted with it.
    if "decoder" in vars(models):
        own.decoder = models.decoder
    pipeline = Pipeline(own)
    with _Clock(folder / f"{base.name}.json", case, models) as clock:
        there = len(store.passages(case.id))
        done = 0
        for part in in_parts(case.drafts, parts, lambda draft: draft.session):
            if there < done + len(part):
                clock.begin(done, there)
                pipeline.remember(case.id, part, progress=clock.progress)
                clock.part()
            done += len(part)
        _finish(pipeline, case, clock)
        _repair(pipeline, case.id)
        cost = clock.cost(stored_bytes(store))
    return Imported(pipeline, encoder, case.id, key, case.label, parts, cost, case.problems, counts(pipeline, case.id))


def in_parts(items: Sequence[Item], parts: int, session: Callable[[Item], str]) -> list[list[Item]]:
    """Cut items into at most ``parts`` runs of whole sessions, of about equal length."""
    cut: list[list[Item]] = [[]]
    for number, item in enumerate(items):
        full = number >= len(cut) * len(items) / parts
        if full and len(cut) < parts and session(cut[-1][-1]) != session(item):
            cut.append([])
        cut[-1].append(item)
    return cut


def stored_bytes(store: Store) -> int:
    """Give the size of a SQLite store's content: pages in use, those still in the log included."""
    with store.reading() as connection:
        told = [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in _PAGES]
    size, count, free = (int(number) for number in told)
    return size * (count - free)


def counts(pipeline: Pipeline, memory: str) -> dict[str, int]:
    """Count what a memory holds."""
    with pipeline.states.state(memory) as state:
        extractions = state.extractions.values()
        return {
            "passages": len(state.passages),
            "extracted": len(extractions),
            "empty": sum(not x.events for x in extractions),
            "events": sum(len(x.events) for x in extractions),
            "frames": len(state.frames),
            "fused_frames": sum(len(f.provenance) > 1 for f in state.frames.values()),
            "facts": len(state.facts),
            "entities": len(state.entities),
            "dropped": sum(x.dropped for x in extractions),
            "truncated": sum(x.truncated for x in extractions),
            "failed": len(pipeline.parts.store.failures(memory)),
        }


_PAGES = ("page_size", "page_count", "freelist_count")


def _finish(pipeline: Pipeline, case: Case, clock: _Clock) -> None:
    """Extract what an import that was killed left waiting."""
    store = pipeline.parts.store
    waiting = len(store.pending(case.id, len(case.drafts)))
    while waiting and pipeline.parts.extractor is not None:
        clock.begin(0, len(case.drafts) - waiting)
        pipeline.retry(case.id, limit=CHUNK)
        left = len(store.pending(case.id, len(case.drafts)))
        clock.progress(len(case.drafts) - left, len(case.drafts))
        if left >= waiting:
            break
        waiting = left


def _repair(pipeline: Pipeline, memory: str) -> None:
    """Index anew what an import killed between storing and indexing left without vectors."""
    with pipeline.states.state(memory) as state:
        whole = len(state.vectors["passage"]) == len(state.passages)
    if not whole:
        pipeline.reindex(memory)


class _Clock:
    """Seconds, tokens and peak memory of an import, over all the runs that it took, and its progress bar."""

    def __init__(self, path: Path, case: Case, models: Parts) -> None:
        self._path = path
        told = json.loads(path.read_text()) if path.exists() else {}
        self._before: dict[str, Any] = {"seconds": 0.0, "part_seconds": []} | told
        self._fresh = not told
        self._models = models
        self._tokens = tokens(models)
        self._started = self._part_started = time.monotonic()
        self._worked = False
        self._offset = 0
        self._bar = tqdm(total=len(case.drafts), desc=f"import {case.id}", unit="passage", file=sys.stderr)
        reset_peak()

    def __enter__(self) -> _Clock:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def begin(self, offset: int, done: int) -> None:
        """Start a part: ``offset`` passages came before it, ``done`` were there already."""
        self._worked = True
        self._offset = offset
        self._part_started = time.monotonic()
        self._bar.update(max(0, done - self._bar.n))

    def part(self) -> None:
        """End a part."""
        self._before["part_seconds"].append(time.monotonic() - self._part_started)

    def progress(self, done: int, total: int) -> None:
        self._bar.update(max(0, self._offset + done - self._bar.n))
        self._path.write_text(json.dumps(self._told()))

    def cost(self, stored: int) -> Cost:
        """Give the whole cost and keep it."""
        told = self._told()
        self._path.write_text(json.dumps(told))
        return Cost(
            told["seconds"],
            stored,
            told.get("tokens_in"),
            told.get("tokens_out"),
            told.get("peak_bytes"),
            tuple(told["part_seconds"]),
        )

    def _told(self) -> dict[str, Any]:
        # An import that was there already costs nothing new.
        if not (self._worked or self._fresh):
            return self._before
        told = {**self._before, "seconds": self._before["seconds"] + time.monotonic() - self._started}
        told["peak_bytes"] = max(peak_bytes(), self._before.get("peak_bytes") or 0)
        now = tokens(self._models)
        if now is not None and self._tokens is not None and (self._fresh or "tokens_in" in self._before):
            for name, number, start in zip(("tokens_in", "tokens_out"), now, self._tokens, strict=True):
                told[name] = self._before.get(name, 0) + number - start
        return told


def _key(case: Case, models: Parts, parts: int) -> str:
    config = models.config
    adapters = [_adapter(part.adapter) for part in (config.extract, config.judge, config.encoder, config.fuse)]
    decides: list[Any] = [
        case.id,
        case.data,
        models.extractor.name if models.extractor else "none",
        [models.judge.name, models.judge.threshold] if models.judge else "none",
        models.encoder.fingerprint,
        asdict(config.decoder),
        asdict(config.extract),
        asdict(config.judge),
        asdict(config.fuse),
        adapters,
    ]
    decides += [parts] if parts > 1 else []
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]


def _adapter(adapter: str) -> list[str]:
    """Give weights and manifest: settings may be tuned anew, and weights trained anew, under the same version."""
    try:
        return [weights_hash(adapter), (find_adapter(adapter) / MANIFEST).read_text(encoding="utf-8")]
    except ModelError:
        return []
