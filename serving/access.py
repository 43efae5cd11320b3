"""Who asks, and may they: the key of a request to its caller, its scope and its rate.

A key with principals is a restricted reader: every verb gets them, and to it the memory is what those may read (see
``docs/access.md``); what only the owner may do is refused. A key without any is the owner's. Knows nothing about what is
asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from serving.errors import ApiError
from serving.keys import Caller
from serving.service import Service

_bearer = HTTPBearer(auto_error=False, description="An API key, as `python -m serving.admin keys create` shows it.")
_header = APIKeyHeader(name="X-API-Key", auto_error=False)


def the_service(request: Request) -> Service:
    """Give the server's parts."""
    return cast(Service, request.app.state.service)


async def _caller(
    request: Request,
    service: Annotated[Service, Depends(the_service)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    header: Annotated[str | None, Depends(_header)],
) -> Caller:
    key = bearer.credentials if bearer else header or ""
    caller = service.keys.caller(key) if key else None
    if caller is None:
        raise ApiError(
            401,
            "unauthorized",
            "the key is unknown, expired or revoked; ask the operator for another"
            if key
            else "a key is needed: send Authorization: Bearer <key>, or X-API-Key",
        )
    request.state.tenant, request.state.key = caller.tenant, caller.key_id
    service.rates.take(caller.tenant, caller.requests_per_minute or service.config.tenant.requests_per_minute)
    return caller


def may(*scopes: str, owner: bool = False) -> Callable[..., Awaitable[Caller]]:
    """Give a dependency that lets callers with these scopes through; with ``owner`` those alone who read everything."""

    async def check(caller: Annotated[Caller, Depends(_caller)]) -> Caller:
        missing = [scope for scope in scopes if scope not in caller.scopes]
        if missing:
            raise ApiError(
                403, "scope_missing", f"this key lacks the scope {missing[0]!r}; use another key, or ask the operator"
            )
        if owner and caller.principals:
            raise ApiError(
                403, "not_the_owner", "this is for the owner of the memories alone; use a key without principals"
            )
        return caller

    return check


Serving = Annotated[Service, Depends(the_service)]
Reads = Annotated[Caller, Depends(may("read"))]
Writes = Annotated[Caller, Depends(may("write"))]
Deletes = Annotated[Caller, Depends(may("delete"))]
Keepers = Annotated[Caller, Depends(may("delete", owner=True))]
Exports = Annotated[Caller, Depends(may("export"))]
Audits = Annotated[Caller, Depends(may("audit", owner=True))]
Owners = Annotated[Caller, Depends(may("write", owner=True))]
Chats = Annotated[Caller, Depends(may("chat"))]
