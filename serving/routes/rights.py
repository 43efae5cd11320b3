"""Rights over HTTP: who may read which passages from the next request on. For the owner's keys alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from seem.memory import Memory
from seem.scope import scope
from serving import schemas
from serving.access import Owners, Serving
from serving.keys import Caller
from serving.routes.writing import IdempotencyKey, owner, written
from serving.service import Effect, Service

router = APIRouter(prefix="/v1", tags=["rights"])


@router.post("/grant", response_model=schemas.Changed)
async def grant(
    request: Request, service: Serving, caller: Owners, body: schemas.Rights, key: IdempotencyKey = None
) -> Response:
    """Let readers read passages too."""
    return await _changed(request, service, caller, body, key, lambda memory: memory.grant, erased=False)


@router.post("/revoke", response_model=schemas.Changed)
async def revoke(
    request: Request, service: Serving, caller: Owners, body: schemas.Rights, key: IdempotencyKey = None
) -> Response:
    """Take the right to read passages from readers; kept replies and exports of the memory go."""
    return await _changed(request, service, caller, body, key, lambda memory: memory.revoke, erased=True)


async def _changed(
    request: Request,
    service: Service,
    caller: Caller,
    body: schemas.Rights,
    key: str | None,
    verb: Callable[[Memory], Callable[..., dict[str, Any]]],
    *,
    erased: bool,
) -> Response:
    def change(memory: Memory) -> Effect:
        named = bool(body.ids() or body.filters)
        touched = {scope(body.filters, **body.ids()).memory} if named else {owner(memory, i) for i in body.passages}
        told = verb(memory)(body.passages, readers=body.readers, filters=body.filters, actor=caller.actor, **body.ids())
        whose = touched.pop() if len(touched) == 1 else ""
        return Effect(told, memory=whose, waiting=len(told["errors"]), erased=erased)

    return await written(request, service, caller, key, change)
