"""The graph over HTTP: the names that facts tell of, and what is known around one of them.

Made of the facts that the caller may read, and of nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query

from seem.memory import Memory
from seem.scope import scope
from serving import schemas
from serving.access import Reads, Serving
from serving.keys import Caller
from serving.routes.memories import Id, Limit
from serving.service import Service
from serving.sizes import check_query, page_size
from serving.surroundings import Surroundings

router = APIRouter(prefix="/v1", tags=["graph"])
# Of a larger memory the oldest facts are told; «partial» says so.
MOST = 50_000


class Named(schemas.Reply):
    """A name with its other spellings, and how many facts tell of it."""

    name: str
    aliases: list[str]
    facts: int


class Names(schemas.Reply):
    """The names that most facts tell of; ``partial`` where the memory holds more facts than were looked at."""

    results: list[Named]
    partial: bool
    usage: schemas.Usage


class Around(schemas.Reply):
    """An entity, its neighbours with their ``distance``, and the facts between them, ``source`` and ``target`` named."""

    entity: Named
    entities: list[Named]
    facts: list[dict[str, Any]]
    more: int
    partial: bool
    usage: schemas.Usage


@router.get("/graph/entities", response_model=Names)
async def names(
    service: Serving,
    caller: Reads,
    user_id: Id = None,
    agent_id: Id = None,
    run_id: Id = None,
    limit: Limit = None,
) -> Any:
    """List the names that most facts tell of."""
    size = page_size(limit, service.config.limits)
    return await _told(service, caller, lambda around: {"results": around.names(size)}, user_id, agent_id, run_id)


@router.get("/graph", response_model=Around)
async def graph(
    service: Serving,
    caller: Reads,
    entity: Annotated[str, Query(min_length=1, description="A name as facts spell it.")],
    user_id: Id = None,
    agent_id: Id = None,
    run_id: Id = None,
    hops: Annotated[int, Query(ge=1, le=2)] = 1,
    limit: Limit = None,
) -> Any:
    """Tell what is known around an entity: its neighbours and the facts between them, closed ones included."""
    check_query(entity, service.config.limits)
    size = page_size(limit, service.config.limits)
    return await _told(
        service, caller, lambda around: around.around(entity, hops=hops, limit=size), user_id, agent_id, run_id
    )


async def _told(
    service: Service,
    caller: Caller,
    tell: Callable[[Surroundings], dict[str, Any]],
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
) -> dict[str, Any]:
    scope(None, user_id=user_id, agent_id=agent_id, run_id=run_id)

    def verb(memory: Memory) -> dict[str, Any]:
        page = memory.page(
            "facts",
            MOST,
            user_id=user_id,
            agent_id=agent_id,
            run_id=run_id,
            principals=caller.principals or None,
        )
        return {**tell(Surroundings(page["results"])), "partial": page["next"] is not None}

    return await service.read(caller, verb)
