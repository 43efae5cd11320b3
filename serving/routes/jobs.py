"""Imports, exports and their progress over HTTP. A job is durable, its file too, when it is acknowledged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse, Response

from seem.scope import Scope, scope
from seem.sources import FORMATS
from serving import schemas
from serving.access import Exports, Reads, Serving, Writes
from serving.errors import ApiError
from serving.keys import Caller
from serving.routes.memories import Id, Limit
from serving.sizes import page_size

router = APIRouter(prefix="/v1", tags=["jobs"])
Format = Annotated[str, Query(description=f"One of {', '.join(FORMATS)}.")]


@router.post(
    "/import",
    status_code=202,
    response_model=schemas.JobReply,
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {}}}},
)
async def start_import(
    request: Request,
    service: Serving,
    caller: Writes,
    user_id: Id = None,
    agent_id: Id = None,
    run_id: Id = None,
    format: Format = "jsonl",
) -> Response:
    """Remember a file. The same file again is harmless, so no idempotency key is needed."""
    service.check_loaded()
    where = scope(None, user_id=user_id, agent_id=agent_id, run_id=run_id)
    if format not in FORMATS:
        raise ApiError(422, "invalid_input", f"the format is one of {', '.join(FORMATS)}, not {format!r}")
    job_id = service.jobs.new_id()
    await _received(request, service.jobs.file(job_id), service.config.limits.import_mb << 20)
    told = await run_in_threadpool(
        service.jobs.create, job_id, caller.tenant, "import", where.memory, {**_asked(caller, where), "format": format}
    )
    return JSONResponse(told, 202)


@router.post("/export", status_code=202, response_model=schemas.JobReply)
async def start_export(service: Serving, caller: Exports, body: schemas.Whose) -> Response:
    """Write a memory as JSON lines, which /v1/import takes back; fetch them at the job's result."""
    service.check_loaded()
    where = scope(None, **body.ids())
    told = await run_in_threadpool(
        service.jobs.create, service.jobs.new_id(), caller.tenant, "export", where.memory, _asked(caller, where)
    )
    return JSONResponse(told, 202)


@router.get("/jobs", response_model=schemas.Reply)
async def jobs(service: Serving, caller: Reads, limit: Limit = None) -> Any:
    """List the caller's jobs, the latest first: to a key without principals, all of the tenant's."""
    size = page_size(limit, service.config.limits)
    return {"results": await run_in_threadpool(service.jobs.listed, caller.tenant, size, caller.principals)}


@router.get("/jobs/{job_id}", response_model=schemas.JobReply)
@router.get("/events/{job_id}", response_model=schemas.JobReply)
async def job(service: Serving, caller: Reads, job_id: str) -> Any:
    """Tell how far a job is."""
    return await run_in_threadpool(service.jobs.get, caller.tenant, job_id, caller.principals)


@router.get(
    "/jobs/{job_id}/result",
    response_class=FileResponse,
    responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
async def result(service: Serving, caller: Exports, job_id: str) -> Response:
    """Give the lines of an export that is done."""
    told = await run_in_threadpool(service.jobs.get, caller.tenant, job_id, caller.principals)
    if told["kind"] != "export":
        raise ApiError(422, "no_result", "only an export has a file as its result")
    if told["status"] == "erased":
        raise ApiError(410, "export_erased", "the file was erased: something of this memory was deleted; export again")
    if told["status"] != "done":
        raise ApiError(409, "not_done", f"the export is {told['status']}; ask /v1/jobs/{job_id} until it is done")
    name = f"{job_id}.jsonl"
    return FileResponse(service.jobs.file(job_id), media_type="application/x-ndjson", filename=name)


def _asked(caller: Caller, where: Scope) -> dict[str, Any]:
    """Give what a job must know of its caller."""
    return {"ids": dict(where.ids), "actor": caller.actor, "principals": list(caller.principals)}


async def _received(request: Request, path: Path, most: int) -> None:
    """Write the body to the file and on to the disk; leave nothing behind where it is too large or breaks off."""
    size = 0
    try:
        with path.open("wb") as file:
            async for piece in request.stream():
                size += len(piece)
                if size > most:
                    raise ApiError(
                        413, "too_large", f"the file is larger than {most >> 20} MiB; send it in parts", limit=most
                    )
                file.write(piece)
            if not size:
                raise ApiError(422, "invalid_input", "the request has no body; send the file's content")
            file.flush()
            await run_in_threadpool(os.fsync, file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
