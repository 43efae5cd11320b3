"""What every request passes: its id, the limit on its size, its metrics and its log line, and the net under failures.

Takes an ASGI app, gives one. Bodies are read here, but for imports, which are streamed. Knows nothing about routes.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving.errors import MEDIA_TYPE, ApiError, api_error, problem
from serving.metrics import Metrics

STREAMED = ("/v1/import",)
# Asked every few seconds by machines, and never interesting in a trace.
UNTRACED = ("/livez", "/readyz", "/metrics")
_log = logging.getLogger("seem.serving")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class Gate:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, metrics: Metrics, *, body_kb: int) -> None:
        """Let bodies of at most ``body_kb`` KiB through."""
        self._app = app
        self._metrics = metrics
        self._most = body_kb * 1024

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("x-request-id", "")
        request_id = asked if _REQUEST_ID.fullmatch(asked) else secrets.token_hex(12)
        state = scope.setdefault("state", {})
        state["request_id"] = request_id
        if scope["path"] in UNTRACED:
            await self._serve(scope, receive, send, request_id)
            return
        with self._metrics.telemetry.request(_method(scope), Headers(scope=scope)):
            await self._serve(scope, receive, send, request_id)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        state = scope["state"]
        begun, status = time.monotonic(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = request_id
            await send(message)

        try:
            await self._app(scope, await self._bounded(scope, receive), sent)
        except ApiError as error:
            await _refuse(error, request_id, sent)
            state["code"] = error.code
        except Exception as error:
            _log.error("request failed", exc_info=error, extra={"request_id": request_id})
            if not status:
                await _refuse(api_error(error), request_id, sent)
            state["code"] = "internal"
        finally:
            self._tell(scope, status, time.monotonic() - begun)

    async def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """Read the body up to the limit, and give a ``receive`` that tells it whole."""
        if scope["path"] in STREAMED:
            return receive
        told = Headers(scope=scope).get("content-length", "")
        if told.isdecimal() and int(told) > self._most:
            raise self._too_large()
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return receive
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._most:
                raise self._too_large()
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def whole() -> Message:
            return waiting.pop() if waiting else await receive()

        return whole

    def _too_large(self) -> ApiError:
        return ApiError(
            413,
            "too_large",
            f"the request is larger than {self._most // 1024} KiB; send less at a time, or use /v1/import",
            limit=self._most,
        )

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        state: dict[str, Any] = scope["state"]
        # Unknown paths share one label: anybody could make any number of them.
        route = getattr(scope.get("route"), "path", "") or "other"
        method = _method(scope)
        self._metrics.requests.labels(route, method, str(status)).inc()
        self._metrics.request_seconds.labels(route).observe(seconds)
        if scope["path"] not in UNTRACED:
            self._metrics.telemetry.answered(method, route, status, seconds)
        if "code" in state:
            self._metrics.failures.labels(state["code"]).inc()
        told: dict[str, Any] = {name: state[name] for name in ("request_id", "tenant", "key", "code") if name in state}
        extra = {**told, "method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
        _log.info("request", extra=extra)


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in ("GET", "POST", "PUT", "PATCH", "DELETE") else "other"


async def _refuse(error: ApiError, request_id: str, send: Send) -> None:
    body = json.dumps(problem(error, request_id)).encode()
    length = str(len(body)).encode()
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", length)]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
