"""Spans and metrics of memory operations by the names of the conventions, without a word of what was said."""

from __future__ import annotations

import http.server
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from seem.errors import ConfigError
from serving import config
from serving.telemetry import Telemetry, telemetry
from tests.flows.people import CODE, MARK
from tests.serving.house import House, say
from tests.serving.test_api import play

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Watched:
    """A telemetry that keeps everything in memory."""

    def __init__(self, *, content: bool = False) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        traces, self.meters = TracerProvider(), MeterProvider([self.reader])
        traces.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.telemetry = Telemetry(traces.get_tracer("seem"), self.meters.get_meter("seem"), content=content)

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def points(self, name: str) -> list[dict[str, Any]]:
        data = self.reader.get_metrics_data()
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics] if data else []
        return [dict(p.attributes or {}) for m in metrics if m.name == name for p in m.data.data_points]


def all_told(watched: Watched) -> str:
    return "".join(span.to_json() for span in watched.exporter.get_finished_spans()) + str(
        watched.reader.get_metrics_data()
    )


def test_operations_stand_in_spans_below_their_request_and_tell_no_content(tmp_path: Path) -> None:
    watched = Watched()

    async def scene(home: House) -> None:
        async with home.client("acme") as ana:
            added = (await ana.post("/v1/memories", json=say(CODE))).json()["results"][0]
            reply = await ana.post(
                "/v1/search", json={"query": f"which {MARK}?", "user_id": "ana"}, headers={"traceparent": PARENT}
            )
            assert reply.status_code == 200
            await ana.put(f"/v1/memories/{added['id']}", json={"text": f"other words {MARK}"})
            await ana.put("/v1/memories/p_none", json={"text": "words"})
            await ana.post("/v1/reset")
            await ana.get("/livez")

    play(tmp_path, scene, watcher=watched.telemetry)
    (search,) = watched.spans("search_memory")
    (request,) = watched.spans("POST /v1/search")
    told = dict(search.attributes or {})
    assert told["gen_ai.operation.name"] == "search_memory" and told["gen_ai.memory.store.id"] == "acme"
    assert told["gen_ai.memory.record.count"] == 1
    assert search.parent and search.parent.span_id == request.context.span_id
    assert request.parent and f"{request.context.trace_id:032x}" in PARENT
    below = {
        s.name for s in watched.exporter.get_finished_spans() if s.parent and s.parent.span_id == search.context.span_id
    }
    assert {"seem.encode", "seem.seed", "seem.walk"} <= below
    (added,) = watched.spans("upsert_memory")
    stages = [s for s in watched.spans("seem.extract") if s.parent and s.parent.span_id == added.context.span_id]
    assert len(stages) == 1
    good, bad = watched.spans("update_memory")
    assert str(dict(good.attributes or {})["gen_ai.memory.record.id"]).startswith("p_")
    assert dict(bad.attributes or {})["error.type"] == "NotFoundError" and not bad.status.is_ok
    assert watched.spans("delete_memory_store") and not watched.spans("GET /livez")
    durations = watched.points("gen_ai.client.operation.duration")
    assert {"gen_ai.operation.name": "search_memory"} in durations
    assert {"gen_ai.operation.name": "update_memory", "error.type": "NotFoundError"} in durations
    assert {"http.request.method": "POST", "http.route": "/v1/search", "http.response.status_code": 200} in (
        watched.points("http.server.request.duration")
    )
    assert MARK not in all_told(watched) and "user_id" not in all_told(watched)


def test_content_stands_in_spans_where_it_is_asked_for(tmp_path: Path) -> None:
    watched = Watched(content=True)

    async def scene(home: House) -> None:
        async with home.client() as ana:
            await ana.post("/v1/memories", json=say(CODE))
            await ana.post("/v1/search", json={"query": "which code?", "user_id": "ana"})

    play(tmp_path, scene, watcher=watched.telemetry)
    told = dict(watched.spans("search_memory")[0].attributes or {})
    assert told["gen_ai.memory.query.text"] == "which code?" and MARK in str(told["gen_ai.memory.records"])


def test_the_exporter_sends_to_the_configured_address() -> None:
    got: dict[str, bytes] = {}

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802
            got[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        sent = telemetry(config.Telemetry(f"http://127.0.0.1:{server.server_address[1]}/"))
        with sent.operation("search_memory", "acme"):
            pass
        sent.close()
        server.shutdown()
        thread.join()
    assert b"search_memory" in got["/v1/traces"] and b"gen_ai.client.operation.duration" in got["/v1/metrics"]


def test_without_its_extra_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ConfigError, match="seem-memory"):
        telemetry(config.Telemetry("http://localhost:4318"))
