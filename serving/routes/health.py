"""Health and metrics, without a key: is the process alive, can it serve, and how does it fare."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response

from serving.access import Serving

router = APIRouter(tags=["health"])


@router.get("/livez")
async def live() -> Any:
    """The process answers."""
    return {"status": "alive"}


@router.get("/readyz")
async def ready(service: Serving) -> Any:
    """Models are loaded, the store can be reached, and nobody has asked for a shutdown; else 503 says what is not."""
    service.check_ready()
    await run_in_threadpool(service.check_store)
    return {"status": "ready"}


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(service: Serving) -> Response:
    """Give what Prometheus scrapes."""
    await run_in_threadpool(service.tenants.evict)
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
