"""A small server on loopback that speaks the chat-completions protocol, and refuses what is not the protocol.

The test says what the "model" answers: a function from the request to an Answer. Every request is kept.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Answer:
    """What the server sends: an object as JSON, or text; ``status`` and ``refusal`` for errors, ``raw``: a broken body."""

    content: Any = ""
    finish: str = "stop"
    status: int = 200
    refusal: str = "no"
    usage: tuple[int, int] | None = (100, 20)
    delay: float = 0.0
    raw: str | None = None

    def body(self, model: str) -> str:
        if self.raw is not None:
            return self.raw
        if self.status != 200:
            return json.dumps({"error": {"message": self.refusal, "type": "invalid_request_error", "code": None}})
        content = self.content if isinstance(self.content, str) else json.dumps(self.content)
        out: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": self.finish}
            ],
        }
        if self.usage:
            i, o = self.usage
            out["usage"] = {"prompt_tokens": i, "completion_tokens": o, "total_tokens": i + o}
        return json.dumps(out)


@dataclass
class Server:
    """Use as a context manager; ``url`` is the base URL, ``requests`` the bodies that came in."""

    respond: Callable[[dict[str, Any]], Answer]
    requests: list[dict[str, Any]] = field(default_factory=list)
    served: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # noqa: N802
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = outer.answer(self.path, self.headers.get("Authorization", ""), body)
                data = answer.body(body.get("model", "")).encode()
                try:
                    self.send_response(answer.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.send_header("retry-after-ms", "5")
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:  # the client was killed: that is what some tests do
                    return
                if answer.status == 200:
                    outer.served.append(body)

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

    def answer(self, path: str, key: str, body: dict[str, Any]) -> Answer:
        if told := mistake(path, key, body):
            return Answer(status=400, refusal=told)
        with self._lock:
            self.requests.append(body)
            answer = self.respond(body)
        time.sleep(answer.delay)
        return answer


def mistake(path: str, key: str, body: dict[str, Any]) -> str:
    """Say what of a request is not the protocol."""
    messages = body.get("messages")
    if path != "/v1/chat/completions" or not key.startswith("Bearer "):
        return f"no such address, or no key: {path}"
    if not body.get("model") or not isinstance(messages, list) or not messages:
        return "model and messages are needed"
    if not all(
        m.get("role") in ("system", "user", "assistant") and isinstance(m.get("content"), str) for m in messages
    ):
        return "a message has a role and text"
    if unknown := set(body) - {
        "model",
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "response_format",
    }:
        return f"unknown parameters {unknown}"
    form = body.get("response_format", {"type": "text"})
    if form["type"] == "json_schema" and not (
        form["json_schema"]["name"] and form["json_schema"]["schema"]["required"]
    ):
        return "a json_schema has a name and a schema"
    return ""


def data(body: dict[str, Any]) -> str:
    """Give what the last user message of a request shows."""
    return str([m["content"] for m in body["messages"] if m["role"] == "user"][0])


def block(body: dict[str, Any], tag: str) -> str:
    """Give one fenced block of a request."""
    text = data(body)
    return text[text.index(f"<{tag}>\n") + len(tag) + 3 : text.index(f"\n</{tag}>")]


def event(who: list[str], action: str, **slots: Any) -> dict[str, Any]:
    return {"participants": who, "action": action} | dict.fromkeys(("time", "location", "causality", "manner")) | slots


def frame(*events: dict[str, Any], facts: list[dict[str, Any]] | None = None, summary: str = "") -> dict[str, Any]:
    return {"events": list(events), "facts": facts or [], "summary": summary}
