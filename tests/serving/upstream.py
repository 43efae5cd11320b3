"""A small upstream on loopback that speaks chat completions, whole and streamed, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Upstream:
    """Use as a context manager; ``says`` is what the model answers, ``status`` other than 200 a refusal."""

    def __init__(self, says: str, *, status: int = 200, breaks: bool = False) -> None:
        self.says = says
        self.status = status
        self.breaks = breaks
        self.asked: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # noqa: N802
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(body | {"authorization": self.headers["Authorization"], "path": self.path})
                pieces = outer.stream() if body.get("stream") and outer.status == 200 else [outer.whole()]
                self.send_response(outer.status)
                self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
                self.send_header("Retry-After", "7")
                self.end_headers()
                for piece in pieces:
                    self.wfile.write(piece.encode())
                    self.wfile.flush()

            def do_GET(self) -> None:  # noqa: N802
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"data": [{"id": "m", "object": "model"}]}')

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def whole(self) -> str:
        if self.status != 200:
            return json.dumps({"error": {"message": "no such model"}})
        message = {"role": "assistant", "content": self.says}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return json.dumps({"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})

    def stream(self) -> list[str]:
        words = [word + " " for word in self.says.split()]
        chunks = [
            {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            | {"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
            for word in words
        ]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        return lines[:1] if self.breaks else [*lines, "data: [DONE]\n\n"]
