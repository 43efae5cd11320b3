"""The models of one server, each loaded once and shared by all tenants, behind lanes that batch their rows.

Two networks, two lanes: the decoder with its adapters (extract, answer), the encoder with its (retrieval, judge). A
prompted engine has no lane: its endpoint batches. Gives the parts of a memory, all but the store. Knows nothing about
requests.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from seem.config import Config
from seem.memory import Memory
from seem.models.protocols import Encoder, ExtractItem, Extractor, Judge, JudgeInput, Reader, Vectors
from seem.types import Extraction
from seem.wiring import Parts
from serving.config import Batching
from serving.lane import Lane
from serving.metrics import Metrics
from serving.usage import current

if TYPE_CHECKING:
    from seem.models.decoder import Generated


class Models:
    """Every model of a configuration, on first use or by ``load``."""

    def __init__(self, parts: Parts, batching: Batching, metrics: Metrics) -> None:
        """Take the parts that the models come from; their store is never opened."""
        self._parts = parts
        wait = batching.wait_ms / 1000
        self.encoding = Lane("encoder", rows=batching.encoder_rows, wait=wait, metrics=metrics)
        self.decoding = Lane("decoder", rows=batching.decoder_rows, wait=wait, metrics=metrics)
        self.loaded = False

    def load(self) -> None:
        """Load every model now, and what a first search would load; raise ModelError where one is missing."""
        encoder = self._parts.encoder
        self.encoding.task("encode", lambda rows: list(encoder.encode(rows)))
        self.encoder: Encoder = LanedEncoder(encoder, self.encoding)
        self._extractor = self._parts.extractor
        judge = self._judge = self._parts.judge
        self._reader = self._parts.reader
        config = self._parts.config
        if self._extractor is not None and config.extract.engine == "local":
            self.decoding.task("extract", self._extractor.extract)
            self._extractor = LanedExtractor(self._extractor, self.decoding)
        if judge is not None and config.judge.engine == "local":
            self.encoding.task("judge", lambda pairs: list(judge.score(pairs)))
            self._judge = LanedJudge(judge, self.encoding)
        if self._reader is not None and config.answer.engine == "local":
            self.decoding.task("answer", _answering(self._reader))
            self._reader = LanedReader(self._reader, self.decoding)
        # Not asked for where nothing generates here: asking would load the base model.
        if "decoder" in vars(self._parts):
            self._parts.decoder.observe = self._generated
        self._warm_up()
        self.loaded = True

    def parts(self, config: Config) -> Parts:
        """Give the parts of one tenant's memory: these models, and the store of its configuration."""
        return Parts(
            config,
            encoder=self.encoder,
            extractor=self._extractor,
            judge=self._judge,
            reader=self._reader,
            router=self._parts.router,
            # What it has told is kept per tenant, around this.
            fuser=self._parts.fuser.fuser,
            parser=self._parts.parser,
        )

    def _generated(self, made: Sequence[Generated]) -> None:
        self.decoding.count(sum(one.prompt_tokens for one in made), sum(one.tokens for one in made))

    def _warm_up(self) -> None:
        config = self._parts.config
        passing = dataclasses.replace(config, store=dataclasses.replace(config.store, url="sqlite://"))
        with Memory(parts=self.parts(passing)) as memory:
            memory.add("Libraries load on first use.", user_id="nobody", infer=False)
            memory.search("What loads?", user_id="nobody")

    def close(self) -> None:
        """Finish what is queued and let go."""
        self.encoding.close()
        self.decoding.close()


class LanedEncoder:
    """The encoder behind its lane."""

    def __init__(self, encoder: Encoder, lane: Lane) -> None:
        self.fingerprint = encoder.fingerprint
        self.dimension = encoder.dimension
        self._lane = lane

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Give float32 vectors of shape ``(len(texts), dimension)``, each of length 1."""
        current().embedded_texts += len(texts)
        rows = self._lane.submit("encode", texts)
        return np.stack(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)


class LanedExtractor:
    """The extractor behind the decoder's lane."""

    def __init__(self, extractor: Extractor, lane: Lane) -> None:
        self.name = extractor.name
        self._lane = lane

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        """Extract a batch; one extraction each, in order."""
        return self._lane.submit("extract", items, progress)


class LanedJudge:
    """The judge behind the encoder's lane."""

    def __init__(self, judge: Judge, lane: Lane) -> None:
        self.name = judge.name
        self.threshold = judge.threshold
        self._lane = lane

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> npt.NDArray[np.float64]:
        """Give the calibrated probability, shape ``(len(pairs),)``."""
        return np.array(self._lane.submit("judge", pairs), dtype=np.float64)


class LanedReader:
    """The reader behind the decoder's lane."""

    def __init__(self, reader: Reader, lane: Lane) -> None:
        self.name = reader.name
        self._lane = lane

    def answer(self, question: str, context: str) -> str:
        """Answer from the context alone."""
        (text,) = self._lane.submit("answer", [(question, context)])
        return str(text)


def _answering(reader: Reader) -> Callable[[list[Any]], Sequence[Any]]:
    """Give how a batch of questions is read: at once where the reader can, else one by one."""
    together = getattr(reader, "answer_all", None)
    return together if together is not None else lambda rows: [reader.answer(*row) for row in rows]
