"""How a write is answered: once per Idempotency-Key, with the reply that was kept where it is a repeat.

Takes a request and a verb with its effect; gives a response. Knows no particular verb.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import Header, Request
from starlette.responses import Response

from seem.memory import Memory
from serving.keys import Caller
from serving.service import Effect, Service

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="The same key with the same request gives the same reply and one effect, for a day.",
    ),
]


async def written(
    request: Request, service: Service, caller: Caller, key: str | None, verb: Callable[[Memory], Effect]
) -> Response:
    """Do the write and give its reply."""
    whole = f"{request.method} {request.url.path}?{request.url.query}\n".encode() + await request.body()
    reply, again = await service.write(caller, key, whole, verb)
    headers = {"Idempotency-Replayed": "true"} if again else {}
    return Response(reply.body, reply.status, headers, media_type="application/json")


def counts(told: dict[str, Any]) -> tuple[int, int]:
    """Give how many passages of an add are new, and how many wait for their extraction."""
    results = told["results"]
    return sum(item["event"] != "NOOP" for item in results), sum(item["status"] == "pending" for item in results)


def owner(memory: Memory, item_id: str, principals: Sequence[str] | None = None) -> str:
    """Give the memory of a passage, frame or fact as the caller knows it; raise NotFoundError where there is none."""
    if principals is not None:
        return memory.pipeline.access.memory_of(item_id)
    store = memory.parts.store
    if item_id.startswith("f_"):
        return store.frame(item_id).memory
    return store.fact(item_id).memory if item_id.startswith("k_") else store.passage(item_id).memory
