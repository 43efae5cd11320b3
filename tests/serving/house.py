"""A server on scripted models, in this process or in one of its own, and callers with keys."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from seem.config import Config
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge, ScriptedReader
from seem.wiring import Parts
from serving.app import create_app
from serving.config import ServeConfig
from serving.service import Service
from serving.telemetry import Telemetry
from tests.flows.people import SAME, SCRIPT


def scripted(folder: Path, **fakes: Any) -> Parts:
    given: dict[str, Any] = {
        "encoder": HashingEncoder(),
        "extractor": ScriptedExtractor(SCRIPT),
        "judge": ScriptedJudge(SAME),
        "reader": ScriptedReader(),
        **fakes,
    }
    return Parts(Config.from_dict({"data_dir": str(folder)}), **given)


def make_service(folder: Path, settings: dict[str, Any] | None = None, **fakes: Any) -> Service:
    parts = scripted(folder, **fakes)
    return Service(ServeConfig.from_dict(settings or {}, parts.config), parts)


class House:
    """A running app, spoken to through ASGI."""

    def __init__(self, service: Service, app: Any) -> None:
        self.service = service
        self.app = app
        self._transport = httpx.ASGITransport(app)

    def client(self, tenant: str = "acme", **options: Any) -> httpx.AsyncClient:
        _, key = self.service.keys.create(tenant, **options)
        return self.bare({"Authorization": f"Bearer {key}"})

    def bare(self, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=self._transport, base_url="http://house", headers=headers, timeout=30)


@asynccontextmanager
async def house(
    folder: Path, settings: dict[str, Any] | None = None, watcher: Telemetry | None = None, **fakes: Any
) -> AsyncIterator[House]:
    service = make_service(folder, settings, **fakes)
    app = create_app(service, watcher)
    inner: Any = app
    while not hasattr(inner, "router"):
        inner = inner._app
    async with inner.router.lifespan_context(inner):
        while not service.models.loaded:
            await asyncio.sleep(0.01)
        yield House(service, app)


def say(*texts: str, name: str = "Ana", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "name": name, "content": text} for text in texts]
    return {"messages": messages, "user_id": "ana", "timestamp": "2024-01-02T10:00+00:00", **more}


async def ended(client: httpx.AsyncClient, job_id: str, seconds: float = 10.0) -> dict[str, Any]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        job: dict[str, Any] = (await client.get(f"/v1/jobs/{job_id}")).json()
        if job["status"] in ("done", "failed"):
            return job
        await asyncio.sleep(0.02)
    raise AssertionError(f"job {job_id} did not end")


def sse(text: str) -> list[tuple[str, Any]]:
    """Read server-sent events."""
    events = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in lines:
            events.append((lines["event"], json.loads(lines["data"])))
    return events
