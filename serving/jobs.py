"""Long work with progress: imports and exports, kept in the ledger, resumed where a server died in the middle.

A job is durable, its file included, before it is acknowledged. An import goes through batch by batch; keys of content
make the batch that a crash cut short harmless. Knows nothing about routes.
"""

from __future__ import annotations

import itertools
import json
import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Row

from seem.errors import NotFoundError, SeemError
from serving import ledger as t
from serving.ledger import Ledger, now
from serving.metrics import Metrics
from serving.usage import Usage, usage

_log = logging.getLogger("seem.serving")
ENDED = ("done", "failed", "erased")
HELD = "the file held words that were deleted since, so the import was ended; send what remains again"


class Stopped(Exception):
    """The server shuts down; the job goes on at its next start."""


class Ended(Exception):
    """The job's file held words that were deleted since."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job, as its worker sees it. ``step`` tells progress, and raises Stopped where the server shuts down."""

    id: str
    tenant: str
    memory: str
    request: dict[str, Any]
    file: Path
    step: Callable[[int, int | None], None]

    @property
    def principals(self) -> list[str] | None:
        """The readers in whose name it runs; ``None``: the owner."""
        return self.request.get("principals") or None


Worker = Callable[[Job], dict[str, Any]]


class Jobs:
    """The jobs of all tenants, one at a time."""

    def __init__(self, ledger: Ledger, folder: Path, metrics: Metrics, *, hours: float) -> None:
        """Keep files in ``folder``; ended jobs go after ``hours``."""
        self._ledger = ledger
        self._folder = folder
        self._metrics = metrics
        self._kept = timedelta(hours=hours)
        self._workers: dict[str, Worker] = {}
        self._ready = threading.Condition()
        self._closed = False
        self._running = ""
        self._ended: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)
        self._sweep()
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)

    def worker(self, kind: str, run: Worker) -> None:
        """Say how jobs of a kind are done."""
        self._workers[kind] = run

    def start(self) -> None:
        """Begin with what was left behind."""
        self._thread.start()

    def file(self, job_id: str) -> Path:
        """Give where a job's file lies."""
        return self._folder / job_id

    def new_id(self) -> str:
        """Give the id of a job to be."""
        return f"j_{secrets.token_hex(12)}"

    def create(self, job_id: str, tenant: str, kind: str, memory: str, request: dict[str, Any]) -> dict[str, Any]:
        """Put a job in the line; durable when this returns."""
        at = now()
        row = {
            "id": job_id,
            "tenant": tenant,
            "kind": kind,
            "memory": memory,
            "request": json.dumps(request),
            "status": "queued",
            "created_at": at,
            "updated_at": at,
        }
        with self._ledger.write() as connection:
            connection.execute(sa.insert(t.jobs).values(row))
        with self._ready:
            self._ready.notify()
        return self.get(tenant, job_id)

    def get(self, tenant: str, job_id: str, principals: Sequence[str] = ()) -> dict[str, Any]:
        """Describe a job; raise NotFoundError where the tenant has none of that id, or the caller's principals none."""
        with self._ledger.read() as connection:
            row = connection.execute(
                sa.select(t.jobs).where(t.jobs.c.tenant == tenant, t.jobs.c.id == job_id)
            ).one_or_none()
        if row is None or not _of(row, principals):
            raise NotFoundError(f"there is no job {job_id!r}; ended jobs are forgotten after a while")
        return _told(row)

    def listed(self, tenant: str, limit: int, principals: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Describe a tenant's jobs that are the caller's, the latest first; to the owner all are."""
        query = sa.select(t.jobs).where(t.jobs.c.tenant == tenant).order_by(t.jobs.c.created_at.desc())
        with self._ledger.read() as connection:
            mine = (row for row in connection.execute(query) if _of(row, principals))
            return [_told(row) for row in itertools.islice(mine, limit)]

    def erase(self, tenant: str, memory: str | None) -> None:
        """Erase exports of a memory in which something was deleted, or of all of the tenant's."""
        j = t.jobs.c
        exports = (j.tenant == tenant) & (j.kind == "export") & j.status.in_(("running", "done"))
        exports &= sa.true() if memory is None else j.memory == memory
        with self._ledger.write() as connection:
            ids = list(connection.scalars(sa.select(j.id).where(exports)))
            connection.execute(sa.update(t.jobs).where(exports).values(status="erased", updated_at=now()))
        for job_id in ids:
            self.file(job_id).unlink(missing_ok=True)

    def files(self) -> list[Path]:
        """Name the files of all jobs."""
        return sorted(self._folder.iterdir())

    def end_imports(self, tenant: str, memory: str | None, holds: Callable[[Path], bool]) -> None:
        """End imports into a memory (``None``: any of the tenant's) whose file holds what is being erased; the one that runs stops after its batch."""
        j = t.jobs.c
        waiting = (j.tenant == tenant) & (j.kind == "import") & j.status.in_(("queued", "running"))
        waiting &= sa.true() if memory is None else j.memory == memory
        with self._ledger.read() as connection:
            ids = list(connection.scalars(sa.select(j.id).where(waiting)))
        for job_id in ids:
            if not self.file(job_id).exists() or not holds(self.file(job_id)):
                continue
            with self._ready:
                self._ended.add(job_id)
            self._set(job_id, status="erased", error=HELD)
            with self._ready:
                while self._running == job_id:
                    self._ready.wait()
            self.file(job_id).unlink(missing_ok=True)

    def close(self) -> None:
        """Stop after the batch that is being done."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._ready:
                while not self._closed and (row := self._next()) is None:
                    self._ready.wait(60.0)
                if self._closed or row is None:
                    return
                # Named under the lock: whoever ends it from now on waits for it.
                self._running = row.id
            try:
                self._run(row)
            except Stopped:
                return
            finally:
                with self._ready:
                    self._running = ""
                    self._ready.notify_all()

    def _next(self) -> Row[Any] | None:
        j = t.jobs.c
        old = (datetime.now(UTC) - self._kept).isoformat(timespec="milliseconds")
        with self._ledger.write() as connection:
            ended = j.status.in_(ENDED) & (j.updated_at < old)
            for job_id in connection.scalars(sa.select(j.id).where(ended)).all():
                self.file(job_id).unlink(missing_ok=True)
            connection.execute(sa.delete(t.jobs).where(ended))
            return connection.execute(
                sa.select(t.jobs).where(j.status.in_(("queued", "running"))).order_by(j.created_at, j.id).limit(1)
            ).one_or_none()

    def _run(self, row: Row[Any]) -> None:
        usage.set(Usage(tenant=row.tenant, background=True))
        self._begin(row.id)

        def step(done: int, total: int | None) -> None:
            self._set(row.id, done=done, total=total)
            if self._closed:
                raise Stopped
            if row.id in self._ended:
                raise Ended

        job = Job(row.id, row.tenant, row.memory, json.loads(row.request), self.file(row.id), step)
        try:
            result = self._workers[row.kind](job)
            status = "done" if self._finish(row.id, json.dumps(result)) else "erased"
        except Stopped:
            raise
        except Ended:
            status = "erased"
        except SeemError as error:
            self._set(row.id, status="failed", error=str(error))
            status = "failed"
        except Exception as error:
            _log.exception("job failed", extra={"job": row.id, "kind": type(error).__name__})
            self._set(row.id, status="failed", error="the server failed; give the operator the job's id")
            status = "failed"
        self._metrics.jobs.labels(row.kind, status).inc()

    def _begin(self, job_id: str) -> None:
        waiting = (t.jobs.c.id == job_id) & t.jobs.c.status.in_(("queued", "running"))
        with self._ledger.write() as connection:
            connection.execute(sa.update(t.jobs).where(waiting).values(status="running", updated_at=now()))

    def _finish(self, job_id: str, result: str) -> bool:
        """Mark a job as done, unless it was erased while it ran: its file then goes."""
        running = (t.jobs.c.id == job_id) & (t.jobs.c.status == "running")
        done = sa.update(t.jobs).where(running).values(status="done", result=result, updated_at=now())
        with self._ledger.write() as connection:
            finished = connection.execute(done).rowcount == 1
        if not finished:
            self.file(job_id).unlink(missing_ok=True)
        return finished

    def _sweep(self) -> None:
        """Remove files that no job knows: of uploads that broke off when a server died."""
        with self._ledger.read() as connection:
            known = set(connection.scalars(sa.select(t.jobs.c.id)))
        for file in self._folder.iterdir():
            if file.name not in known:
                file.unlink()

    def _set(self, job_id: str, **values: Any) -> None:
        with self._ledger.write() as connection:
            connection.execute(sa.update(t.jobs).where(t.jobs.c.id == job_id).values(**values, updated_at=now()))


def _of(row: Row[Any], principals: Sequence[str]) -> bool:
    """Tell whether a job is one of a caller with these principals; none at all: of the owner."""
    return not principals or sorted(json.loads(row.request).get("principals") or ()) == sorted(principals)


def _told(row: Row[Any]) -> dict[str, Any]:
    return {
        "job_id": row.id,
        "event_id": row.id,
        "kind": row.kind,
        "status": row.status,
        "done": row.done,
        "total": row.total,
        "result": json.loads(row.result) if row.result else None,
        "error": row.error,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }
