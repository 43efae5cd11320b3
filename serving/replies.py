"""Replies by idempotency key: the same key and body give the same reply and one effect, whatever happens between.

Takes the ledger; the mark that a request runs is durable before its effect, the reply before it is sent. A mark that a
dead server left is taken over: what it had stored is known by its content and not stored twice. Where something is
deleted, replies about that memory are erased too. Knows nothing about routes.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from serving import ledger as t
from serving.errors import ApiError
from serving.ledger import Ledger, now

LONGEST = 255


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered."""

    status: int
    body: str


class Replies:
    """The replies of all tenants."""

    def __init__(self, ledger: Ledger, *, hours: float) -> None:
        """Take the ledger; replies are kept for ``hours``."""
        self._ledger = ledger
        self._kept = timedelta(hours=hours)
        self._run = secrets.token_hex(8)

    def begin(self, tenant: str, key: str, request: bytes) -> Reply | None:
        """Mark the request as running, or give its reply; raise ApiError where it runs, or was another request."""
        if not 1 <= len(key) <= LONGEST:
            raise ApiError(422, "invalid_idempotency_key", f"an Idempotency-Key has 1 to {LONGEST} characters")
        digest = hashlib.sha256(request).hexdigest()
        r = t.replies.c
        mine = (r.tenant == tenant) & (r.key == key)
        with self._ledger.write() as connection:
            connection.execute(sa.delete(t.replies).where(r.created_at < self._oldest()))
            row = connection.execute(sa.select(t.replies).where(mine)).one_or_none()
            if row is None:
                values = {"tenant": tenant, "key": key, "digest": digest, "run": self._run, "created_at": now()}
                connection.execute(sa.insert(t.replies).values(values))
                return None
            if row.digest != digest:
                raise ApiError(
                    422,
                    "idempotency_key_reused",
                    "this Idempotency-Key was sent before with another request; take a new key for a new request",
                )
            if row.status is None and row.run != self._run:
                connection.execute(sa.update(t.replies).where(mine).values(run=self._run))
                return None
        if row.status is None:
            raise ApiError(409, "still_running", "a request with this Idempotency-Key is still running", retry_after=1)
        if row.body is None:
            raise ApiError(
                410,
                "reply_erased",
                "the request took effect once; its reply was erased, since something of this memory was deleted since",
            )
        return Reply(row.status, row.body)

    def finish(self, tenant: str, key: str, reply: Reply, memory: str) -> None:
        """Keep the reply; ``memory`` is the one that it tells of."""
        values = {"status": reply.status, "body": reply.body, "memory": memory}
        self._change(tenant, key, sa.update(t.replies).values(values))

    def drop(self, tenant: str, key: str) -> None:
        """Forget a request that had no effect, so that it can be tried again."""
        self._change(tenant, key, sa.delete(t.replies))

    def erase(self, tenant: str, memory: str | None) -> None:
        """Erase what replies tell of a memory, or of all of the tenant's, without residue."""
        r = t.replies.c
        told = (r.tenant == tenant) & r.body.is_not(None)
        # A reply that names no memory may tell of any.
        told &= sa.true() if memory is None else r.memory.in_([memory, ""])
        with self._ledger.write() as connection:
            erased = connection.execute(sa.update(t.replies).where(told).values(body=None)).rowcount
        if erased:
            self._ledger.purge()

    def _change(self, tenant: str, key: str, statement: sa.Update | sa.Delete) -> None:
        with self._ledger.write() as connection:
            connection.execute(statement.where(t.replies.c.tenant == tenant, t.replies.c.key == key))

    def _oldest(self) -> str:
        return (datetime.now(UTC) - self._kept).isoformat(timespec="milliseconds")
