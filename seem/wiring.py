"""The only place that picks real backends: a configuration in, the parts of a memory out.

Heavy libraries are imported when a part is first needed, so that a command that only lists passages loads no model.
Knows nothing about the order of stages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from seem.config import Config
from seem.models.protocols import Encoder, Extractor, Fuser, Judge, QueryParser, Reader, Router
from seem.store.store import Store

if TYPE_CHECKING:
    from seem.models.decoder import Decoder
    from seem.write.retell import Kept

LEAST_PROMPTED = 1024
# The parts that may run on the decoder: their section, and the engine that does.
ON_DECODER = {
    "extractor": ("extract", "local"),
    "reader": ("answer", "local"),
    "fuser": ("fuse", "tuned"),
    "parser": ("parse", "tuned"),
}
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
        router: Router | None = None,
        fuser: Fuser | None = None,
        parser: QueryParser | None = None,
    ) -> None:
        """Take a configuration; a part given here replaces the configured one."""
        self.config = config
        self._given_store = store
        self._given_encoder = encoder
        self._given_extractor = extractor
        self._given_judge = judge
        self._given_reader = reader
        self._given_router = router
        self._given_fuser = fuser
        self._given_parser = parser
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
    def fuser(self) -> Kept:
        """What tells frames of several passages; its model is loaded when there is one to tell, its summaries are kept."""
        from seem.write.retell import Kept

        return Kept(lambda: self._made(self._given_fuser, self._fuser))

    @cached_property
    def parser(self) -> QueryParser | None:
        """The parser of questions; ``None`` where the configuration asks for none."""
        return self._made(self._given_parser, self._parser)

    @cached_property
    def router(self) -> Router:
        """What chooses the arm of a question."""
        return self._made(self._given_router, self._router)

    @cached_property
    def decoder(self) -> Decoder:
        """The generating base model, one for all of its adapters."""
        c = self.config.decoder
        if c.base_url:
            from seem.models.served import ServedDecoder

            served = ServedDecoder(c.model, c.base_url, api_key_env=c.api_key_env, batch_size=c.batch_size)
            return cast("Decoder", served)
        from seem.models.decoder import Decoder

        return Decoder(c.model, device=c.device, dtype=c.dtype, quantize=c.quantize, batch_size=c.batch_size)

    def _made(self, given: Given | None, build: Callable[[], Built]) -> Given | Built:
        with self._lock:
            return given if given is not None else build()

    def reload(self) -> dict[str, str]:
        """Load the decoder's adapters that are in use anew from where the configuration names them; give what serves now.

        Whoever holds an old one keeps it. Raise ModelError where a new one does not fit: all is then as before. A part
        that was given, or that does not run on the decoder, is left alone.
        """
        with self._lock:
            made: dict[str, Any] = {}
            for name, (section, engine) in ON_DECODER.items():
                given = vars(self)[f"_given_{name}"] is not None
                if name in vars(self) and not given and getattr(self.config, section).engine == engine:
                    from seem.models.slot import slot

                    fresh = Parts(self.config)
                    fresh.decoder = slot(self.decoder)
                    made[name] = getattr(fresh, name)
            # The name of a part that loads on first use loads it: before anything is replaced.
            told = {name: str(part.name) for name, part in made.items()}
            vars(self).update(made)
            return told

    def take(self, **given: Any) -> None:
        """Use these models from now on, by the names of the constructor; whoever holds an old one keeps it."""
        with self._lock:
            for name, part in given.items():
                setattr(self, f"_given_{name}", part)
                vars(self).pop(name, None)

    def _encoder(self) -> Encoder:
        from seem.models.adapters import shipped_for
        from seem.models.base import find_base
        from seem.models.encoder import TASK, SentenceEncoder

        c = self.config.encoder
        adapter = shipped_for(TASK, find_base(c.model)) if c.adapter == "auto" else c.adapter
        return SentenceEncoder(c.model, device=c.device, adapter=None if adapter == "none" else adapter)

    def _extractor(self) -> Extractor | None:
        c = self.config.extract
        if c.engine == "none":
            return None
        if c.engine == "prompted":
            from seem.write.prompted import PromptedExtractor

            return PromptedExtractor(c.base_url, c.model, api_key_env=c.api_key_env, max_tokens=c.max_tokens)
        from seem.write.extract import TunedExtractor

        student = TunedExtractor(self.decoder, c.adapter, max_tokens=c.max_tokens, null_bias=c.null_bias)
        return student if c.cascade is None else self._cascade(student, c.cascade)

    def _cascade(self, student: Extractor, below: float) -> Extractor:
        from seem.write.cascade import TALLY_FILE, CascadeExtractor, Meter
        from seem.write.prompted import PromptedExtractor

        c = self.config.extract
        meter = Meter(self.config.data_dir / TALLY_FILE, c.price_in, c.price_out)
        # ``max_tokens`` is for lines of the student; the same as JSON takes some three times as many.
        room = max(LEAST_PROMPTED, c.max_tokens)
        teacher = PromptedExtractor(c.base_url, c.model, api_key_env=c.api_key_env, max_tokens=room, heard=meter.reply)
        return CascadeExtractor(student, teacher, below=below, meter=meter)

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

    def _fuser(self) -> Fuser:
        c = self.config.fuse
        if c.engine == "prompted":
            from seem.write.fuse import PromptedFuser

            return PromptedFuser(c.base_url, c.model, api_key_env=c.api_key_env)
        if c.engine == "tuned":
            from seem.write.fuse import TunedFuser

            return TunedFuser(self.decoder, c.adapter, max_tokens=c.max_tokens)
        from seem.write.retell import Composer

        return Composer()

    def _parser(self) -> QueryParser | None:
        c = self.config.parse
        if c.engine == "prompted":
            from seem.read.parse import PromptedQueryParser

            return PromptedQueryParser(c.base_url, c.model, api_key_env=c.api_key_env)
        if c.engine == "tuned":
            from seem.read.parse import TunedQueryParser

            return TunedQueryParser(self.decoder, c.adapter, max_tokens=c.max_tokens)
        return None

    def _router(self) -> Router:
        c = self.config.router
        if c.engine == "prompted":
            from seem.read.route_prompted import PromptedRouter

            return PromptedRouter(c.base_url, c.model, api_key_env=c.api_key_env)
        if c.engine == "tuned":
            from seem.models.router import TunedRouter
            from seem.read.route_signals import NAMES

            return TunedRouter(self.encoder, c.adapter, signals=NAMES)
        from seem.read.route import RuleRouter

        return RuleRouter()


def behind(extractor: Extractor, wrap: Callable[[Extractor], Extractor]) -> Extractor:
    """Put ``wrap`` around what runs in this process: of a cascade around its student, never around the calls to its teacher."""
    from seem.write.cascade import CascadeExtractor

    return extractor.over(wrap) if isinstance(extractor, CascadeExtractor) else wrap(extractor)
