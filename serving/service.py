"""Everything that one server holds, and the one way in which a request's work is done with it.

Wires ledger, models, tenants, desks and jobs; starts and stops them in order. Knows nothing about HTTP beyond the errors
it raises.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from seem.audit import acting
from seem.errors import SeemError
from seem.memory import Memory
from seem.wiring import Parts
from serving.config import ServeConfig
from serving.desk import Desk
from serving.digester import Digester
from serving.errors import ApiError
from serving.jobs import Job, Jobs
from serving.keys import Caller, Keys
from serving.ledger import Ledger, holding
from serving.metrics import Metrics
from serving.models import Models
from serving.quota import Rates
from serving.replies import LONGEST, Replies, Reply
from serving.tenants import Tenants
from serving.transfer import exported, imported
from serving.usage import Usage, usage

Told = dict[str, Any]


class Texts(Protocol):
    """The texts of an erasure, which nobody is shown."""

    def in_file(self, path: Path) -> bool:
        """Tell whether a file holds any of them."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a write did: its reply, the memory it told of (empty: any), how many passages are new, how many wait."""

    reply: Told
    status: int = 200
    memory: str = ""
    added: int = 0
    waiting: int = 0
    erased: bool = False


class Service:
    """One server's parts."""

    def __init__(self, config: ServeConfig, parts: Parts | None = None) -> None:
        """Open what is kept; ``parts`` replaces the configured models. ``start`` loads them."""
        self.config = config
        self.metrics = Metrics()
        self._stack = ExitStack()
        self._stack.enter_context(holding(config.folder))
        self.ledger = Ledger(config.folder)
        self.keys = Keys(self.ledger)
        self.rates = Rates()
        self.replies = Replies(self.ledger, hours=config.keep.reply_hours)
        self.jobs = Jobs(self.ledger, config.folder / "jobs", self.metrics, hours=config.keep.job_hours)
        self.models = Models(parts or Parts(config.settings), config.batching, self.metrics)
        self.tenants = Tenants(config, self.models, self.metrics)
        self.digester = Digester(self.tenants, self.metrics, most=config.load.backlog)
        desk = {"threads": config.load.threads, "waiting": config.load.waiting}
        self.reading, self.answering, self.writing = (
            Desk(name, **desk, metrics=self.metrics) for name in ("read", "answer", "write")
        )
        for lane in (self.models.encoding, self.models.decoding):
            lane.others = lambda: self.reading.inside + self.answering.inside + self.writing.inside
        self.jobs.worker("import", self._import)
        self.jobs.worker("export", self._export)
        self.draining = False
        self.broken = ""
        self._loading = threading.Thread(target=self._load, name="loading", daemon=True)

    def start(self) -> None:
        """Load the models in the background, then take up what was left behind."""
        self._loading.start()

    def stop(self) -> None:
        """Finish what was acknowledged, then let go of everything."""
        self.draining = True
        self._loading.join()
        for desk in (self.reading, self.answering, self.writing):
            desk.close()
        self.jobs.close()
        self.digester.close()
        self.models.close()
        self.tenants.close()
        self.ledger.close()
        self._stack.close()

    def check_ready(self) -> None:
        """Raise ApiError 503 where no more requests should be sent here."""
        if self.draining:
            raise ApiError(503, "draining", "the server is shutting down", retry_after=5)
        self.check_loaded()

    def check_loaded(self) -> None:
        """Raise ApiError 503 where requests cannot be served."""
        if self.broken:
            raise ApiError(503, "models_missing", self.broken, retry_after=60)
        if not self.models.loaded:
            raise ApiError(503, "loading", "the models are being loaded; try again in some seconds", retry_after=5)

    def check_store(self) -> None:
        """Raise StoreError where what is kept cannot be reached."""
        self.keys.tenants()

    async def read(self, caller: Caller, verb: Callable[[Memory], Told], *, desk: Desk | None = None) -> Told:
        """Give what a verb tells of the caller's memory, with what it cost."""
        self.check_loaded()

        def work() -> Told:
            spent = Usage(tenant=caller.tenant)
            usage.set(spent)
            with self.tenants.memory(caller.tenant) as memory, acting(caller.actor):
                return {**verb(memory), "usage": spent.told()}

        return await (desk or self.reading).run(work)

    async def write(
        self, caller: Caller, key: str | None, request: bytes, verb: Callable[[Memory], Effect]
    ) -> tuple[Reply, bool]:
        """Do a write once per idempotency key; give its reply, and whether that is a repeat."""
        self.check_loaded()
        key = _own(caller, key)

        def work() -> tuple[Reply, bool]:
            if key is not None and (known := self.replies.begin(caller.tenant, key, request)) is not None:
                return known, True
            try:
                effect, reply = self._effect(caller, verb)
            except BaseException:
                if key is not None:
                    self.replies.drop(caller.tenant, key)
                raise
            if effect.erased:
                self.forget_told(caller.tenant, effect.memory or None)
            if key is not None:
                self.replies.finish(caller.tenant, key, reply, effect.memory)
            return reply, False

        return await self.writing.run(work)

    def check_room(self, tenant: str, memory: Memory, adding: int, most: int | None, *, restricted: bool) -> None:
        """Raise ApiError 429 where more passages do not fit; a restricted caller is not told how many there are."""
        try:
            self.tenants.check_room(tenant, memory, adding, most)
        except ApiError as error:
            if not restricted:
                raise
            why = f"{adding} more passages are more than this tenant may keep; ask the operator for more"
            raise ApiError(error.status, error.code, why, retry_after=error.retry_after) from None

    def forget_told(self, tenant: str, memory: str | None) -> None:
        """Erase what replies and exports still tell of a memory in which something was deleted."""
        self.replies.erase(tenant, memory)
        self.jobs.erase(tenant, memory)

    def elsewhere(self, tenant: str, memory: str | None) -> Callable[[Texts], list[Path]]:
        """Give what erases words of a memory (``None``: of any) in replies, exports and imports, and names the files."""

        def erase(texts: Texts) -> list[Path]:
            self.jobs.end_imports(tenant, memory, texts.in_file)
            self.forget_told(tenant, memory)
            return [*self.ledger.files(), *self.jobs.files()]

        return erase

    def _effect(self, caller: Caller, verb: Callable[[Memory], Effect]) -> tuple[Effect, Reply]:
        spent = Usage(tenant=caller.tenant)
        usage.set(spent)
        with self.tenants.memory(caller.tenant) as memory, acting(caller.actor):
            effect = verb(memory)
        self.tenants.changed(caller.tenant, None if effect.erased else effect.added)
        if effect.waiting:
            self.digester.wake(caller.tenant, effect.waiting)
        body = json.dumps({**effect.reply, "usage": spent.told()}, ensure_ascii=False)
        return effect, Reply(effect.status, body)

    def _load(self) -> None:
        try:
            self.models.load()
        except SeemError as error:
            self.broken = str(error)
            return
        except Exception as error:
            self.broken = f"the models could not be loaded ({type(error).__name__}); see the server's log"
            raise
        self.jobs.start()
        for tenant in self.keys.tenants():
            self.digester.wake(tenant, 0)

    def _import(self, job: Job) -> Told:
        allowed = self.keys.passages(job.tenant)
        with self.tenants.memory(job.tenant) as memory, acting(job.request.get("actor", "")):

            def room(adding: int) -> None:
                self.tenants.changed(job.tenant, None)
                self.check_room(job.tenant, memory, adding, allowed, restricted=bool(job.principals))

            return imported(job, memory, room)

    def _export(self, job: Job) -> Told:
        with self.tenants.memory(job.tenant) as memory, acting(job.request.get("actor", "")):
            return exported(job, memory)


def _own(caller: Caller, key: str | None) -> str | None:
    """Give the idempotency key under which a reply is kept: readers of other rights never meet in one."""
    if key is None or not caller.principals or not 1 <= len(key) <= LONGEST:
        return key
    return hashlib.sha256(json.dumps([sorted(caller.principals), key]).encode()).hexdigest()
