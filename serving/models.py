"""The models of one server, each loaded once and shared by all tenants, behind lanes that batch their rows.

Two networks, two lanes: the decoder with its adapters (extract, answer, fuse, parse), the encoder with its (retrieval,
judge). A prompted engine has no lane: its endpoint batches; of a cascade the student alone has one, so that nobody waits
for another's teacher. Gives the parts of a memory, all but the store. Knows nothing about requests.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from seem.config import Config
from seem.memory import Memory
from seem.models.protocols import (
    Encoder,
    ExtractItem,
    Extractor,
    Fuser,
    Judge,
    JudgeInput,
    QueryParser,
    Reader,
    Vectors,
)
from seem.types import Extraction, Fact
from seem.wiring import Parts, behind
from serving.config import Batching
from serving.lane import Lane
from serving.metrics import Metrics
from serving.usage import current

if TYPE_CHECKING:
    from seem.models.greedy import Generated


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
        encoder, judge = self._parts.encoder, self._parts.judge
        self.encoding.task("encode", lambda rows: list(encoder.encode(rows)))
        self.encoder: Encoder = LanedEncoder(encoder, self.encoding)
        if judge is not None and self._parts.config.judge.engine == "local":
            self.encoding.task("judge", lambda pairs: list(judge.score(pairs)))
        laned = LanedJudge(judge, self.encoding) if judge and self._parts.config.judge.engine == "local" else judge
        self._reading: dict[str, Any] = {"encoder": self.encoder, "judge": laned, "router": self._parts.router}
        self.generating = self._queued()
        # Not asked for where nothing generates here: asking would load the base model.
        if "decoder" in vars(self._parts):
            self._parts.decoder.observe = self._generated
        self._warm_up()
        self.loaded = True

    def reload(self) -> dict[str, str]:
        """Take up the decoder's adapters that now lie where the configuration names them; give the names of what serves.

        Rows that a lane has not begun go to the new ones. Raise ModelError where one does not fit: all is then as before.
        """
        told = self._parts.reload()
        self.generating = self._queued()
        return told

    def parts(self, config: Config) -> Parts:
        """Give the parts of one tenant's memory: these models, and the store of its configuration."""
        return Parts(config, **self._reading, **self.generating)

    def _queued(self) -> dict[str, Any]:
        """Give what generates, by the names of ``Parts``, behind the decoder's lane where it runs on the decoder."""
        parts, config = self._parts, self._parts.config
        extractor, reader, parser = parts.extractor, parts.reader, parts.parser
        # What it has told is kept per tenant, around this.
        fuser = parts.fuser.fuser
        if extractor is not None and config.extract.engine == "local":
            extractor = behind(extractor, self._laned)
        if reader is not None and config.answer.engine == "local":
            self.decoding.task("answer", _answering(reader))
            reader = LanedReader(reader, self.decoding)
        if config.fuse.engine == "tuned":
            self.decoding.task("fuse", fuser.fuse)
            fuser = LanedFuser(fuser, self.decoding)
        if parser is not None and config.parse.engine == "tuned":
            self.decoding.task("parse", _parsing(parser))
            parser = LanedParser(parser, self.decoding)
        return {"extractor": extractor, "reader": reader, "fuser": fuser, "parser": parser}

    def _laned(self, extractor: Extractor) -> Extractor:
        self.decoding.task("extract", extractor.extract)
        return LanedExtractor(extractor, self.decoding)

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


class LanedFuser:
    """The fuser behind the decoder's lane."""

    def __init__(self, fuser: Fuser, lane: Lane) -> None:
        self.name = fuser.name
        self._lane = lane

    def fuse(self, groups: Sequence[Sequence[JudgeInput]]) -> list[str]:
        """Give one summary a group."""
        return self._lane.submit("fuse", groups)


class LanedParser:
    """The parser of questions behind the decoder's lane."""

    def __init__(self, parser: QueryParser, lane: Lane) -> None:
        self.name = parser.name
        self._lane = lane

    def parse(self, question: str) -> list[Fact]:
        """Give the patterns of the facts that would answer it."""
        (found,) = self._lane.submit("parse", [question])
        return list(found)


def _answering(reader: Reader) -> Callable[[list[Any]], Sequence[Any]]:
    """Give how a batch of questions is read: at once where the reader can, else one by one."""
    together = getattr(reader, "answer_all", None)
    return together if together is not None else lambda rows: [reader.answer(*row) for row in rows]


def _parsing(parser: QueryParser) -> Callable[[list[Any]], Sequence[Any]]:
    return lambda rows: [parser.parse(question) for question in rows]
