"""The only place that picks real backends: a configuration in, the parts of a memory out.

Heavy libraries are imported when a part is first needed, so that a command that only lists passages loads no model.
Knows nothing about the order of stages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from seem.config import Config
from seem.models.protocols import Encoder, Extractor, Judge, Reader
from seem.store.store import Store

if TYPE_CHECKING:
    from seem.models.decoder import Decoder

Given = TypeVar("Given")
Built = TypeVar("Built")


class Parts:
    """Store and models of one configuration, each made on first use and then kept."""

    def __init__(
        self,
        config: Config,
        *,
        store: Store | None = None,
        encoder: Encoder | None = None,
        extractor: Extractor | None = None,
        judge: Judge | None = None,
        reader: Reader | None = None,
    ) -> None:
        """Take a configuration; a part given here replaces the configured one."""
        self.config = config
        self._given_store = store
        self._given_encoder = encoder
        self._given_extractor = extractor
        self._given_judge = judge
        self._given_reader = reader
        self._lock = threading.RLock()

    @cached_property
    def store(self) -> Store:
        """The database."""
        return self._made(self._given_store, lambda: Store(self.config.store.url or self.config.data_dir / "memory.db"))

    @cached_property
    def encoder(self) -> Encoder:
        """The embedding model."""
        return self._made(self._given_encoder, self._encoder)

    @cached_property
    def extractor(self) -> Extractor | None:
        """The extractor; ``None`` where the configuration asks for none: passages are then only stored and indexed."""
        return self._made(self._given_extractor, self._extractor)

    @cached_property
    def judge(self) -> Judge | None:
        """The judge; ``None`` where the configuration asks for no candidates: nothing is fused then."""
        return self._made(self._given_judge, self._judge)

    @cached_property
    def reader(self) -> Reader | None:
        """The model that answers; ``None`` where the configuration asks for none."""
        return self._made(self._given_reader, self._reader)

    @cached_property
    def decoder(self) -> Decoder:
        """The generating base model, one for all of its adapters."""
        from seem.models.decoder import Decoder

        c = self.config.decoder
        return Decoder(c.model, device=c.device, dtype=c.dtype, quantize=c.quantize, batch_size=c.batch_size)

    def _made(self, given: Given | None, build: Callable[[], Built]) -> Given | Built:
        with self._lock:
            return given if given is not None else build()

    def _encoder(self) -> Encoder:
        from seem.models.encoder import SentenceEncoder

        c = self.config.encoder
        return SentenceEncoder(c.model, device=c.device, adapter=None if c.adapter == "none" else c.adapter)

    def _extractor(self) -> Extractor | None:
        c = self.config.extract
        if c.engine == "none":
            return None
        if c.engine == "prompted":
            from seem.write.prompted import PromptedExtractor

            return PromptedExtractor(c.base_url, c.model, api_key_env=c.api_key_env, max_tokens=c.max_tokens)
        from seem.write.extract import TunedExtractor

        return TunedExtractor(self.decoder, c.adapter, max_tokens=c.max_tokens, null_bias=c.null_bias)

    def _judge(self) -> Judge | None:
        c = self.config.judge
        if c.candidates == 0 or c.engine == "none":
            return None
        if c.engine == "prompted":
            from seem.models.prompted_judge import PromptedJudge

            return PromptedJudge(c.base_url, c.model, api_key_env=c.api_key_env)
        if c.adapter == "none":
            return None
        from seem.models.judge import TunedJudge

        return TunedJudge(self.encoder, c.adapter, threshold=c.threshold)

    def _reader(self) -> Reader | None:
        c = self.config.answer
        if c.engine == "none":
            return None
        if c.engine == "endpoint":
            from seem.models.endpoint import EndpointReader

            return EndpointReader(c.base_url, c.model, api_key_env=c.api_key_env, max_tokens=c.max_tokens)
        from seem.read.answer import TunedReader

        return TunedReader(self.decoder, c.adapter, max_tokens=c.max_tokens)
