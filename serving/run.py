"""One server process: listens, serves, and on a signal says so, waits for what is being served, and ends.

SIGHUP takes up new adapters without a pause. Takes a service; knows nothing about what it serves.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from types import FrameType

import uvicorn

from seem.errors import SeemError
from serving.app import create_app
from serving.service import Service

_log = logging.getLogger("seem.serving")
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
    signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=_reload, args=(service,), daemon=True).start())
    _Server(config, service).run(sockets=[listening])


def _reload(service: Service) -> None:
    try:
        told = service.tenants.reload()
    except SeemError as error:
        service.metrics.reloads.labels("refused").inc()
        _log.error("adapters refused", extra={"why": str(error)})
    else:
        service.metrics.reloads.labels("done").inc()
        _log.info("adapters taken up", extra={"models": told})


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
