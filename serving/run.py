"""One server process: listens, serves, and on a signal says so, waits for what is being served, and ends.

Takes a service; knows nothing about what it serves.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from types import FrameType

import uvicorn

from serving.app import create_app
from serving.service import Service

# For so long /readyz says «draining» before the door closes, so that a proxy sends its next requests elsewhere.
NOTICE_SECONDS = 1.0


class _Server(uvicorn.Server):
    """Tells the service of the first signal, and closes the door a moment later; a second signal ends at once."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal."""
        self.force_exit = self._service.draining
        self._service.draining = True
        loop = asyncio.get_running_loop()
        loop.call_soon_threadsafe(loop.call_later, NOTICE_SECONDS, setattr, self, "should_exit", True)


def serve(service: Service) -> None:
    """Serve until a signal; print the address once it can be reached."""
    http = service.config.http
    listening = socket.create_server((http.host, http.port), family=_family(http.host), backlog=1024)
    config = uvicorn.Config(
        create_app(service),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=http.drain_seconds,
    )
    host, port = listening.getsockname()[:2]
    sys.stdout.write(f"SEEM listens on http://{host}:{port}\n")
    sys.stdout.flush()
    _Server(config, service).run(sockets=[listening])


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
