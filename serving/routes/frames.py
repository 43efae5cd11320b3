"""Frames over HTTP: who said what of them, and their correction by hand; thin handlers over ``Memory``.

A key that stands for restricted readers sees the grounds of what it may read, and corrects nothing: others read a frame
too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from seem.memory import Memory
from serving import schemas
from serving.access import Reads, Serving, Writes
from serving.errors import ApiError
from serving.keys import Caller
from serving.routes.writing import IdempotencyKey, written
from serving.service import Effect, Service

router = APIRouter(prefix="/v1", tags=["frames"])


@router.get("/memories/{memory_id}/grounds", response_model=schemas.Reply)
async def grounds(service: Serving, caller: Reads, memory_id: str) -> Any:
    """Give a passage, frame or fact with who said what and when, which version holds and which lost."""
    return await service.read(caller, lambda memory: memory.show(memory_id, principals=caller.principals or None))


@router.post("/frames/merge", response_model=schemas.Frames)
async def merge(
    request: Request, service: Serving, caller: Writes, body: schemas.Merge, key: IdempotencyKey = None
) -> Response:
    """Join frames into the oldest of them, for good."""
    return await _corrected(request, service, caller, key, lambda memory: memory.merge(body.frames, actor=caller.actor))


@router.post("/frames/{frame_id}/split", response_model=schemas.Frames)
async def split(
    request: Request, service: Serving, caller: Writes, frame_id: str, body: schemas.Split, key: IdempotencyKey = None
) -> Response:
    """Move passages of a frame into a frame of their own, for good."""
    return await _corrected(
        request, service, caller, key, lambda memory: memory.split(frame_id, body.passages, actor=caller.actor)
    )


@router.post("/passages/{passage_id}/reassign", response_model=schemas.Frames)
async def reassign(
    request: Request,
    service: Serving,
    caller: Writes,
    passage_id: str,
    body: schemas.Reassign,
    key: IdempotencyKey = None,
) -> Response:
    """Move a passage into another frame, or into one of its own, for good."""
    return await _corrected(
        request, service, caller, key, lambda memory: memory.reassign(passage_id, body.frame, actor=caller.actor)
    )


@router.post("/memories/{memory_id}/undo", response_model=schemas.Frames)
async def undo(
    request: Request, service: Serving, caller: Writes, memory_id: str, key: IdempotencyKey = None
) -> Response:
    """Take back the last split, merge or reassign of a frame or passage."""
    return await _corrected(request, service, caller, key, lambda memory: memory.undo(memory_id, actor=caller.actor))


async def _corrected(
    request: Request, service: Service, caller: Caller, key: str | None, verb: Callable[[Memory], dict[str, Any]]
) -> Response:
    if caller.principals:
        raise ApiError(403, "not_the_owner", "frames are corrected by the owner alone; use a key without principals")
    return await written(request, service, caller, key, lambda memory: Effect(verb(memory)))
