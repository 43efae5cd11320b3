"""One LoCoMo conversation into one memory of its own, by the product's own path; kept in a folder, it is imported once.

Takes the sample as it stands in the file and shared models; gives a pipeline over its store. A file's name holds a hash
of all that decides its content but the code: data, models, their settings. An import that was killed goes on where it
stopped. Knows nothing about questions.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from seem.config import Config
from seem.errors import ModelError
from seem.models.adapters import MANIFEST, find_adapter
from seem.pipeline import CHUNK, Pipeline
from seem.sources import locomo
from seem.sources.drafts import Problem
from seem.store.store import Store
from seem.wiring import Parts
from training.benchmarks.locomo_methods import Imported, KnownQuestions
from training.replay import weights_hash


def models_only(config: Config, *, extract: bool) -> Parts:
    """Give the parts that all conversations share; without ``extract``, passages are only stored and indexed."""
    if extract:
        return Parts(config)
    plain = replace(config, extract=replace(config.extract, engine="none"), judge=replace(config.judge, candidates=0))
    return Parts(plain)


def import_sample(
    raw: Mapping[str, Any], models: Parts, folder: Path, data: str, told: Callable[[str], None]
) -> Imported:
    """Import a sample into a store in ``folder``, or open the one that is there. ``data`` is the hash of the file."""
    name = str(raw["sample_id"])
    base = folder / f"{name}-{_key(name, models, data)}"
    encoder = KnownQuestions(models.encoder)
    store = Store(base.with_suffix(".db"))
    parts = Parts(models.config, store=store, encoder=encoder, extractor=models.extractor, judge=models.judge)
    pipeline = Pipeline(parts)
    problems: list[Problem] = []
    drafts = list(locomo.read(raw, problems))
    clock = _Clock(base.with_suffix(".json"), name, told)
    if len(store.passages(name)) < len(drafts):
        pipeline.remember(name, drafts, progress=clock.progress)
    waiting = len(store.pending(name, len(drafts)))
    while waiting and parts.extractor is not None:
        pipeline.retry(name, limit=CHUNK)
        left = len(store.pending(name, len(drafts)))
        clock.progress(len(drafts) - left, len(drafts))
        if left >= waiting:
            break
        waiting = left
    _repair(pipeline, name)
    return Imported(pipeline, encoder, name, clock.save(), tuple(p.why for p in problems), counts(pipeline, name))


def _repair(pipeline: Pipeline, memory: str) -> None:
    """Index anew what an import killed between storing and indexing left without vectors."""
    with pipeline.states.state(memory) as state:
        whole = len(state.vectors["passage"]) == len(state.passages)
    if not whole:
        pipeline.reindex(memory)


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


class _Clock:
    """The seconds of an import, over all the runs that it took, and what is told while it runs."""

    def __init__(self, path: Path, name: str, told: Callable[[str], None]) -> None:
        self._path = path
        self._before = float(json.loads(path.read_text())["seconds"]) if path.exists() else 0.0
        self._begun = time.monotonic()
        self._worked = False
        self._name = name
        self._told = told
        # Where the rate counts from: the first report, since models are loaded before it.
        self._start: tuple[int, float] | None = None

    def progress(self, done: int, total: int) -> None:
        self._worked = True
        seconds = time.monotonic() - self._begun
        first, since = self._start = self._start or (done, seconds)
        rate = (done - first) / max(1e-9, seconds - since)
        left = f"{(total - done) / rate / 60:.1f} min left" if rate else "…"
        self._told(f"{self._name}: {done}/{total} passages, {self._before + seconds:.0f} s, {left}")
        self.save()

    def save(self) -> float:
        # An import that was there already costs nothing new.
        total = self._before + (time.monotonic() - self._begun if self._worked or not self._path.exists() else 0.0)
        self._path.write_text(json.dumps({"seconds": total}))
        return total


def to_stderr(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


def _key(name: str, models: Parts, data: str) -> str:
    config = models.config
    adapters = [_adapter(part.adapter) for part in (config.extract, config.judge, config.encoder)]
    decides = [
        name,
        data,
        models.extractor.name if models.extractor else "none",
        [models.judge.name, models.judge.threshold] if models.judge else "none",
        models.encoder.fingerprint,
        asdict(config.decoder),
        asdict(config.extract),
        asdict(config.judge),
        asdict(config.fuse),
        adapters,
    ]
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]


def _adapter(adapter: str) -> list[str]:
    """Give weights and manifest: settings may be tuned anew, and weights trained anew, under the same version."""
    try:
        return [weights_hash(adapter), (find_adapter(adapter) / MANIFEST).read_text(encoding="utf-8")]
    except ModelError:
        return []
