"""Memories over HTTP: add, list, get, correct, delete, history; thin handlers over ``Memory``."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from seem.memory import Memory
from seem.scope import IDS, scope
from serving import schemas
from serving.access import Deletes, Reads, Serving, Writes
from serving.errors import ApiError
from serving.routes.writing import IdempotencyKey, counts, owner, written
from serving.service import Effect
from serving.sizes import check_messages, check_text, page_size

router = APIRouter(prefix="/v1", tags=["memories"])
Id = Annotated[str | None, Query(max_length=512)]
Limit = Annotated[int | None, Query(ge=1, description="Items of a page.")]
After = Annotated[str, Query(max_length=64, description="«next» of the page before.")]
ENTITIES = {"user": "user_id", "agent": "agent_id", "run": "run_id"}


@router.post("/memories", response_model=schemas.Added, responses={202: {"model": schemas.Added}})
async def add(
    request: Request, service: Serving, caller: Writes, body: schemas.Add, key: IdempotencyKey = None
) -> Response:
    """Remember messages. 200 (202 without ``wait``) means that the words are on disk and can be found."""
    count = check_messages(body.messages, service.config.limits)
    check_text(body.metadata, service.config.limits)
    where = scope(None, **body.ids())
    service.digester.check_room(count)

    def verb(memory: Memory) -> Effect:
        service.check_room(caller.tenant, memory, count, caller.passages, restricted=bool(caller.principals))
        told = memory.add(
            body.messages,
            metadata=body.metadata,
            timestamp=body.timestamp,
            infer=body.infer,
            readers=body.readers or (),
            wait=body.wait,
            principals=caller.principals or None,
            **body.ids(),
        )
        return Effect(told, 200 if body.wait else 202, where.memory, *counts(told))

    return await written(request, service, caller, key, verb)


@router.get("/memories", response_model=schemas.Page)
@router.get("/passages", response_model=schemas.Page)
async def get_all(
    service: Serving,
    caller: Reads,
    user_id: Id = None,
    agent_id: Id = None,
    run_id: Id = None,
    limit: Limit = None,
    after: After = "",
) -> Any:
    """List passages in order of arrival."""
    return await _page(service, caller, "passages", limit, after, user_id=user_id, agent_id=agent_id, run_id=run_id)


@router.get("/frames", response_model=schemas.Page)
async def frames(
    service: Serving,
    caller: Reads,
    user_id: Id = None,
    agent_id: Id = None,
    run_id: Id = None,
    limit: Limit = None,
    after: After = "",
) -> Any:
    """List episodic event frames."""
    return await _page(service, caller, "frames", limit, after, user_id=user_id, agent_id=agent_id, run_id=run_id)


@router.get("/facts", response_model=schemas.Page)
async def facts(
    service: Serving,
    caller: Reads,
    user_id: Id = None,
    agent_id: Id = None,
    run_id: Id = None,
    limit: Limit = None,
    after: After = "",
) -> Any:
    """List temporal facts, closed ones included."""
    return await _page(service, caller, "facts", limit, after, user_id=user_id, agent_id=agent_id, run_id=run_id)


@router.get("/memories/{memory_id}", response_model=schemas.Reply)
@router.get("/passages/{memory_id}", response_model=schemas.Reply)
@router.get("/frames/{memory_id}", response_model=schemas.Reply)
@router.get("/facts/{memory_id}", response_model=schemas.Reply)
async def get(service: Serving, caller: Reads, memory_id: str) -> Any:
    """Give one passage (p_…), frame (f_…) or fact (k_…)."""
    return await service.read(caller, lambda memory: memory.get(memory_id, principals=caller.principals or None))


@router.get("/memories/{memory_id}/history", response_model=schemas.Reply)
async def history(service: Serving, caller: Reads, memory_id: str) -> Any:
    """Tell what happened to a passage, frame or fact, oldest first."""
    who = caller.principals or None
    return await service.read(caller, lambda memory: {"results": memory.history(memory_id, principals=who)})


@router.put("/memories/{memory_id}", response_model=schemas.Item)
@router.patch("/memories/{memory_id}", response_model=schemas.Item)
async def update(
    request: Request,
    service: Serving,
    caller: Writes,
    memory_id: str,
    body: schemas.Update,
    key: IdempotencyKey = None,
) -> Response:
    """Give a passage other words, from which frame and facts are made anew, or other metadata."""
    check_text([body.text, body.data, body.metadata], service.config.limits)

    def verb(memory: Memory) -> Effect:
        who = caller.principals or None
        told = memory.update(memory_id, body.text, data=body.data, metadata=body.metadata, principals=who)
        waiting = int(told["status"] == "pending")
        return Effect(told, memory=owner(memory, memory_id, who), waiting=waiting)

    return await written(request, service, caller, key, verb)


@router.delete("/memories/{memory_id}", response_model=schemas.Deleted)
async def delete(
    request: Request, service: Serving, caller: Deletes, memory_id: str, key: IdempotencyKey = None
) -> Response:
    """Delete a passage, or all passages of a frame or fact, with everything that only they support."""

    def verb(memory: Memory) -> Effect:
        whose = owner(memory, memory_id, caller.principals or None)
        elsewhere = service.elsewhere(caller.tenant, whose)
        told = memory.forget([memory_id], principals=caller.principals or None, elsewhere=elsewhere)
        gone = [passage_id for part in told["memories"] for passage_id in part["removed"]["passages"]]
        return Effect({"deleted": gone, "receipt": told}, memory=whose, erased=True)

    return await written(request, service, caller, key, verb)


@router.delete("/memories", response_model=schemas.Deleted)
async def delete_all(
    request: Request,
    service: Serving,
    caller: Deletes,
    user_id: Id = None,
    agent_id: Id = None,
    run_id: Id = None,
    key: IdempotencyKey = None,
) -> Response:
    """Delete all passages that carry the ids given; refused where none is given."""
    ids = _given(user_id=user_id, agent_id=agent_id, run_id=run_id)
    return await _forget_all(request, service, caller, key, ids)


@router.get("/entities", response_model=schemas.Reply)
async def entities(service: Serving, caller: Reads) -> Any:
    """List the users, agents and runs that own a memory."""

    def verb(memory: Memory) -> dict[str, Any]:
        names = (key.partition(":") for key in memory.memories(principals=caller.principals or None))
        kinds = {name: kind for kind, name in ENTITIES.items()}
        return {"results": [{"type": kinds[owner], "id": name} for owner, _, name in names]}

    return await service.read(caller, verb)


@router.delete("/entities/{kind}/{name}", response_model=schemas.Deleted)
async def delete_entity(
    request: Request, service: Serving, caller: Deletes, kind: str, name: str, key: IdempotencyKey = None
) -> Response:
    """Delete the whole memory of a user, agent or run."""
    if kind not in ENTITIES:
        raise ApiError(422, "invalid_input", f"an entity is one of {', '.join(ENTITIES)}, not {kind!r}")
    ids = {ENTITIES[kind]: name}
    return await _forget_all(request, service, caller, key, ids)


@router.post("/reset", response_model=schemas.Deleted)
async def reset(request: Request, service: Serving, caller: Deletes, key: IdempotencyKey = None) -> Response:
    """Delete every memory of this tenant."""
    who = caller.principals or None
    return await written(
        request, service, caller, key, lambda memory: Effect(memory.reset(principals=who), erased=True)
    )


async def _forget_all(
    request: Request, service: Serving, caller: Deletes, key: str | None, ids: dict[str, Any]
) -> Response:
    where = scope(None, **ids)

    def verb(memory: Memory) -> Effect:
        elsewhere = service.elsewhere(caller.tenant, where.memory)
        told = memory.forget(everything=True, principals=caller.principals or None, elsewhere=elsewhere, **ids)
        return Effect(
            {"deleted": told["removed"].get("passages", 0), "receipt": told}, memory=where.memory, erased=True
        )

    return await written(request, service, caller, key, verb)


async def _page(service: Serving, caller: Reads, kind: Any, limit: int | None, after: str, **ids: str | None) -> Any:
    size = page_size(limit, service.config.limits)
    given = _given(**ids)
    scope(None, **given)
    who = caller.principals or None
    return await service.read(caller, lambda memory: memory.page(kind, size, after, **given, principals=who))


def _given(**ids: str | None) -> dict[str, Any]:
    return {name: value for name, value in ids.items() if value is not None and name in IDS}
