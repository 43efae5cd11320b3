"""Questions over HTTP: search, and answers, whole or as server-sent events (evidence, answer, done)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from seem.errors import ModelError
from seem.memory import Memory
from serving import schemas
from serving.access import Reads, Serving
from serving.errors import api_error, problem
from serving.sizes import check_query

router = APIRouter(prefix="/v1", tags=["questions"])
HEARTBEAT_SECONDS = 10.0
STREAMS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}}


@router.post("/search", response_model=schemas.Found)
async def search(service: Serving, caller: Reads, body: schemas.Search) -> Any:
    """Find what grounds an answer; no model generates anything."""
    check_query(body.query, service.config.limits)
    options = body.model_dump(exclude={"query"}) | {"principals": caller.principals or None}
    return await service.read(caller, lambda memory: memory.search(body.query, **options))


@router.post(
    "/answer",
    response_model=schemas.Answered,
    responses=STREAMS,
)
async def answer(request: Request, service: Serving, caller: Reads, body: schemas.Ask) -> Any:
    """Answer from memory: «Not mentioned» where nothing supports an answer."""
    check_query(body.question, service.config.limits)
    options = body.model_dump(exclude={"question", "stream"}) | {"principals": caller.principals or None}
    if not body.stream:
        verb = service.read(caller, lambda memory: memory.answer(body.question, **options), desk=service.answering)
        return await verb
    # Found before the stream begins, so that what is wrong with the request has a status.
    found = await service.read(caller, lambda memory: _asked(memory, body.question, options))
    return streamed(_events(request, service, caller, body.question, found))


def streamed(events: AsyncIterator[bytes]) -> Response:
    """Give a response of server-sent events that no proxy holds back."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, headers=headers, media_type="text/event-stream")


def _asked(memory: Memory, question: str, options: dict[str, Any]) -> dict[str, Any]:
    if memory.parts.reader is None:
        raise ModelError("no model is configured to answer (answer.engine is none); use search")
    return memory.search(question, **options)


def _read(memory: Memory, question: str, context: str) -> dict[str, Any]:
    reader = memory.parts.reader
    if reader is None:
        raise ModelError("no model is configured to answer (answer.engine is none); use search")
    return {"answer": reader.answer(question, context), "model": reader.name}


async def _events(
    request: Request, service: Serving, caller: Reads, question: str, found: dict[str, Any]
) -> AsyncIterator[bytes]:
    yield _event("evidence", found)
    work = service.read(caller, lambda memory: _read(memory, question, found["context"]), desk=service.answering)
    task = asyncio.ensure_future(work)
    while not (await asyncio.wait({task}, timeout=HEARTBEAT_SECONDS))[0]:
        yield b": still reading\n\n"
    try:
        told = task.result()
    except Exception as error:
        yield _event("error", problem(api_error(error), request.state.request_id))
        return
    yield _event("answer", {"answer": told["answer"], "model": told["model"]})
    spent = {name: told["usage"][name] + count for name, count in found["usage"].items()}
    yield _event("done", {"usage": spent})


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
