"""What is kept and what was done over HTTP: forget with a receipt, retention, promotion, the audit trail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from seem.memory import Memory
from seem.scope import scope
from serving import schemas
from serving.access import Audits, Deletes, Keepers, Owners, Serving
from serving.routes.memories import Id, Limit
from serving.routes.writing import IdempotencyKey, owner, written
from serving.service import Effect
from serving.sizes import page_size

router = APIRouter(prefix="/v1", tags=["forgetting"])
PAGE = 1000


@router.post("/forget", response_model=schemas.Receipt)
async def forget(
    request: Request, service: Serving, caller: Deletes, body: schemas.Forget, key: IdempotencyKey = None
) -> Response:
    """Erase what fits all that is said, here and in kept replies, exports and waiting imports; give an erase receipt."""

    def verb(memory: Memory) -> Effect:
        named = bool(body.whose() or body.filters)
        touched = (
            {scope(body.filters, **body.whose()).memory}
            if named
            else {owner(memory, i, caller.principals or None) for i in body.ids}
        )
        # One memory's replies go with it; where several are touched, all of the tenant's.
        whose = touched.pop() if len(touched) == 1 else None
        who, elsewhere = caller.principals or None, service.elsewhere(caller.tenant, whose)
        told = memory.forget(**body.chosen(), **body.whose(), principals=who, elsewhere=elsewhere)
        return Effect(told, memory=whose or "", waiting=len(told["waiting"]), erased=True)

    return await written(request, service, caller, key, verb)


@router.post("/retain", response_model=schemas.Retained)
async def retain(
    request: Request, service: Serving, caller: Keepers, body: schemas.Retain, key: IdempotencyKey = None
) -> Response:
    """Apply rules of retention: those given, else those of the configuration; of one memory, or of all of the tenant."""

    def verb(memory: Memory) -> Effect:
        whose = scope(None, **body.ids()).memory if body.ids() else None
        elsewhere = service.elsewhere(caller.tenant, whose)
        told = memory.retain(dry_run=body.dry_run, elsewhere=elsewhere, **body.rules(), **body.ids())
        return Effect(told, erased=told["receipt"] is not None)

    return await written(request, service, caller, key, verb)


@router.post("/promote", response_model=schemas.Reply)
async def promote(
    request: Request, service: Serving, caller: Owners, body: schemas.Forget, key: IdempotencyKey = None
) -> Response:
    """Make frames and facts of passages that were stored raw, chosen as for /v1/forget."""
    return await written(
        request, service, caller, key, lambda memory: Effect(memory.promote(**body.chosen(), **body.whose()))
    )


@router.get(
    "/audit",
    response_model=schemas.Trail,
    responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
async def audit(
    service: Serving,
    caller: Audits,
    user_id: Id = None,
    agent_id: Id = None,
    run_id: Id = None,
    item: Id = None,
    action: Id = None,
    actor: Id = None,
    since: Id = None,
    until: Id = None,
    limit: Limit = None,
    after: Annotated[int, Query(ge=0, lt=2**63, description="«next» of the page before.")] = 0,
    format: Literal["json", "jsonl"] = "json",
) -> Any:
    """Tell who did what to which ids, and when, oldest first; no content. ``jsonl`` gives all lines as one export."""
    which = {"item": item, "action": action, "actor": actor, "since": since, "until": until}
    which |= {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    if format == "json":
        size = page_size(limit, service.config.limits)
        return await service.read(caller, lambda memory: memory.audit(**which, after=after, limit=size))
    pages = await service.read(caller, lambda memory: {"pages": list(_pages(memory, which, after))})
    lines = (json.dumps(line, ensure_ascii=False) + "\n" for page in pages["pages"] for line in page)
    return StreamingResponse(lines, media_type="application/x-ndjson")


def _pages(memory: Memory, which: dict[str, Any], after: int | None) -> Iterator[list[dict[str, Any]]]:
    while after is not None:
        page = memory.audit(**which, after=after, limit=PAGE)
        yield page["results"]
        after = page["next"]
