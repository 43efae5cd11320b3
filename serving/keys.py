"""API keys: made, checked, rotated with an overlap, revoked. A key belongs to a tenant and names scopes and principals.

Takes the ledger; gives callers. The key itself is shown once and never stored. Knows nothing about HTTP.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Row

from seem.errors import InputError, NotFoundError
from seem.rights import principals_of
from serving import ledger as t
from serving.ledger import Ledger, now

SCOPES = ("read", "write", "delete", "export", "chat", "audit")
# What a key may do where nothing is said: all but reading who did what.
USUAL = tuple(scope for scope in SCOPES if scope != "audit")
_PREFIX = "seem"
_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a tenant's key. ``principals`` are the readers that the key stands for, for rights per passage."""

    tenant: str
    key_id: str
    scopes: frozenset[str]
    principals: tuple[str, ...]
    requests_per_minute: int | None = None
    passages: int | None = None

    @property
    def actor(self) -> str:
        """Name the caller in the audit trail: the key, and whom it stands for."""
        return f"key:{self.key_id}" + (f" for {','.join(self.principals)}" if self.principals else "")


class Keys:
    """The keys of all tenants."""

    def __init__(self, ledger: Ledger) -> None:
        """Take the ledger."""
        self._ledger = ledger

    def create(
        self,
        tenant: str,
        *,
        name: str = "",
        scopes: Collection[str] = USUAL,
        principals: Sequence[str] = (),
        days: float | None = None,
    ) -> tuple[str, str]:
        """Make a key, and the tenant where it is new; give the key's id and the key, which nobody can show again."""
        principals_of(principals)
        unknown = sorted(set(scopes) - set(SCOPES))
        if unknown or not scopes:
            raise InputError(f"scopes are {', '.join(SCOPES)}; got {unknown[0] if unknown else 'none'}")
        if not _TENANT.fullmatch(tenant):
            raise InputError(f"a tenant is named by a-z, 0-9, - and _, at most 63 characters; got {tenant!r}")
        if days is not None and not 0 < days < 100_000:
            raise InputError(f"days must lie between 0 and 100000, not {days:g}")
        key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        row = {
            "id": key_id,
            "tenant": tenant,
            "name": name,
            "hash": _hash(secret),
            "scopes": json.dumps(sorted(scopes)),
            "principals": json.dumps(list(principals)),
            "created_at": now(),
            "expires_at": None if days is None else _in(timedelta(days=days)),
        }
        with self._ledger.write() as connection:
            if connection.scalar(sa.select(t.tenants.c.id).where(t.tenants.c.id == tenant)) is None:
                connection.execute(sa.insert(t.tenants).values(id=tenant, created_at=now()))
            connection.execute(sa.insert(t.keys).values(row))
        return key_id, f"{_PREFIX}_{key_id}_{secret}"

    def rotate(self, key_id: str, *, overlap_hours: float = 24.0) -> tuple[str, str]:
        """Make a successor with the same rights; the old key works for the overlap, then no more."""
        row = self._row(key_id)
        if row.revoked_at is not None:
            raise InputError(f"the key {key_id!r} is revoked; create a new one")
        new = self.create(
            row.tenant, name=row.name, scopes=json.loads(row.scopes), principals=json.loads(row.principals)
        )
        ends = _in(timedelta(hours=overlap_hours))
        with self._ledger.write() as connection:
            earlier = min(ends, row.expires_at) if row.expires_at else ends
            connection.execute(sa.update(t.keys).where(t.keys.c.id == key_id).values(expires_at=earlier))
        return new

    def revoke(self, key_id: str) -> None:
        """End a key at once."""
        self._row(key_id)
        with self._ledger.write() as connection:
            connection.execute(sa.update(t.keys).where(t.keys.c.id == key_id).values(revoked_at=now()))

    def listed(self, tenant: str | None = None) -> list[dict[str, Any]]:
        """Describe the keys, never their secrets."""
        query = sa.select(t.keys).order_by(t.keys.c.tenant, t.keys.c.created_at)
        with self._ledger.read() as connection:
            rows = connection.execute(query if tenant is None else query.where(t.keys.c.tenant == tenant)).all()
        return [
            {
                "id": row.id,
                "tenant": row.tenant,
                "name": row.name,
                "scopes": json.loads(row.scopes),
                "principals": json.loads(row.principals),
                "created_at": row.created_at,
                "expires_at": row.expires_at,
                "status": "revoked" if row.revoked_at else "expired" if _over(row) else "active",
            }
            for row in rows
        ]

    def limit(self, tenant: str, *, requests_per_minute: int | None = None, passages: int | None = None) -> None:
        """Give a tenant its own limits; ``None`` means those of the configuration."""
        if any(value is not None and value < 1 for value in (requests_per_minute, passages)):
            raise InputError("a limit is at least 1; to shut a tenant out, revoke its keys")
        change = (
            sa.update(t.tenants)
            .where(t.tenants.c.id == tenant)
            .values(requests_per_minute=requests_per_minute, passages=passages)
        )
        with self._ledger.write() as connection:
            if connection.execute(change).rowcount == 0:
                raise NotFoundError(f"there is no tenant {tenant!r}; creating a key makes one")

    def passages(self, tenant: str) -> int | None:
        """Give how many passages a tenant may keep; ``None``: as configured."""
        with self._ledger.read() as connection:
            return connection.scalar(sa.select(t.tenants.c.passages).where(t.tenants.c.id == tenant))

    def tenants(self) -> list[str]:
        """Name the tenants."""
        with self._ledger.read() as connection:
            return list(connection.scalars(sa.select(t.tenants.c.id).order_by(t.tenants.c.id)))

    def caller(self, key: str) -> Caller | None:
        """Give whose key it is; ``None`` where it is no key, or one that has ended."""
        prefix, _, rest = key.partition("_")
        key_id, _, secret = rest.partition("_")
        if prefix != _PREFIX or not secret:
            return None
        query = (
            sa.select(t.keys, t.tenants.c.requests_per_minute, t.tenants.c.passages)
            .join_from(t.keys, t.tenants, t.keys.c.tenant == t.tenants.c.id)
            .where(t.keys.c.id == key_id)
        )
        with self._ledger.read() as connection:
            row = connection.execute(query).one_or_none()
        # Compared even where there is no such key, so that its absence cannot be timed.
        right = secrets.compare_digest(row.hash if row else _hash(""), _hash(secret))
        if row is None or not right or row.revoked_at is not None or _over(row):
            return None
        return Caller(
            row.tenant,
            row.id,
            frozenset(json.loads(row.scopes)),
            tuple(json.loads(row.principals)),
            row.requests_per_minute,
            row.passages,
        )

    def _row(self, key_id: str) -> Row[Any]:
        with self._ledger.read() as connection:
            row = connection.execute(sa.select(t.keys).where(t.keys.c.id == key_id)).one_or_none()
        if row is None:
            raise NotFoundError(f"there is no key {key_id!r}; see: python -m serving.admin keys list")
        return row


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _over(row: Row[Any]) -> bool:
    return row.expires_at is not None and row.expires_at <= now()


def _in(span: timedelta) -> str:
    return (datetime.now(UTC) + span).isoformat(timespec="milliseconds")
