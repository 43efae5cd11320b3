"""The MCP endpoint beside the API: streamable HTTP at /mcp, each call in the name of its key.

Takes the whole application, which the tools call from inside. A request without a key gets no further than here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from serving.errors import ApiError
from serving.mcp import build, forwarded
from serving.service import Service

PATH = "/mcp"


class McpEndpoint:
    """An ASGI endpoint; ``run`` must be entered before the first request."""

    def __init__(self, service: Service, *, body_kb: int) -> None:
        """Take the service that knows the keys."""
        self._service = service
        self._most = body_kb * 1024
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def run(self, app: ASGIApp) -> AsyncIterator[None]:
        """Serve sessions whose tools call ``app``."""
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://seem", timeout=None) as client:
            server = build(client, forwarded)
            # A page that rebinds its name to this address has no key; proxies give other host names with good reason.
            security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
            server.streamable_http_app(
                stateless_http=True, json_response=True, transport_security=security, max_request_body_size=self._most
            )
            self._sessions = server.session_manager
            async with self._sessions.run():
                yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of a caller with a key."""
        headers = Headers(scope=scope)
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        key = bearer.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "")
        if not key or self._service.keys.caller(key) is None or self._sessions is None:
            raise ApiError(401, "unauthorized", "a key is needed: send Authorization: Bearer <key>, or X-API-Key")
        await self._sessions.handle_request(scope, receive, send)
