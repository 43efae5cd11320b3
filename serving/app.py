"""The ASGI application: routes, the one error shape, start and stop. Takes a service, gives an app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from seem.errors import SeemError
from serving import errors, schemas
from serving.errors import ApiError, api_error
from serving.gate import Gate
from serving.routes import chat, entities, forgetting, frames, health, jobs, memories, page, questions, rights
from serving.routes.mcp import PATH, McpEndpoint
from serving.service import Service
from serving.telemetry import Telemetry, telemetry

DESCRIPTION = """Long-term memory over HTTP. Send `Authorization: Bearer <key>`.

Every error is `application/problem+json` with a stable `code`; `X-Request-Id` is echoed; 429 (your limit) and 503
(our load) come with `Retry-After`. A write with an `Idempotency-Key` may be sent again."""


def create_app(service: Service, watcher: Telemetry | None = None) -> ASGIApp:
    """Make the application around a service, which starts and stops with it; ``watcher`` replaces the configured one."""
    service.metrics.telemetry = watcher or telemetry(service.config.telemetry)
    body_kb = service.config.limits.body_kb
    mcp = McpEndpoint(service, body_kb=body_kb)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        try:
            async with mcp.run(gate), chat.client(service.config.upstream) as app.state.upstream:
                yield
        finally:
            await run_in_threadpool(service.stop)
            await run_in_threadpool(service.metrics.telemetry.close)

    shapes: dict[int | str, dict[str, Any]] = {
        "4XX": {"model": schemas.Problem, "description": "The request cannot be served as it is."},
        "5XX": {"model": schemas.Problem, "description": "The server cannot serve it now."},
    }
    # No pages of the framework: they fetch scripts from elsewhere.
    app = _Documented(
        title="SEEM",
        version="1",
        description=DESCRIPTION,
        lifespan=lifespan,
        responses=shapes,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    app.router.routes.append(Route(PATH, mcp))
    for room in (memories, frames, rights, entities, forgetting, questions, jobs, chat, health, page):
        app.include_router(room.router)
    for kind in (Exception, SeemError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _told)
    gate = Gate(app, service.metrics, body_kb=body_kb)
    return gate


class _Documented(FastAPI):
    """An app whose document tells errors by the media type that they have."""

    def openapi(self) -> dict[str, Any]:
        """Give the document."""
        fresh = self.openapi_schema is None
        document = super().openapi()
        for verbs in document["paths"].values() if fresh else ():
            for told in verbs.values():
                for code in ("4XX", "5XX"):
                    content = told["responses"][code]["content"]
                    told["responses"][code]["content"] = {errors.MEDIA_TYPE: next(iter(content.values()))}
        return document


async def _told(request: Request, error: Exception) -> Response:
    refusal = _refusal(error)
    request.state.code = refusal.code
    body = errors.problem(refusal, request.state.request_id)
    return JSONResponse(body, refusal.status, errors.headers(refusal), media_type=errors.MEDIA_TYPE)


def _refusal(error: Exception) -> ApiError:
    if isinstance(error, RequestValidationError):
        # Where and why, without the value: it may be what somebody wrote.
        told = [f"{'.'.join(str(part) for part in e['loc'])}: {e['msg']}" for e in error.errors()]
        return ApiError(422, "invalid_request", "; ".join(told[:5]))
    if isinstance(error, HTTPException):
        codes = {404: "no_such_route", 405: "method_not_allowed"}
        details = {404: "there is no such address; see /openapi.json", 405: "this address does not take that method"}
        code = codes.get(error.status_code, "refused")
        return ApiError(error.status_code, code, details.get(error.status_code, str(error.detail)))
    return api_error(error)
