"""OpenTelemetry spans and metrics, after the GenAI conventions for memory (status: development); nowhere unless configured.

A span a request, in it one a memory operation, in it one a stage and one a call of a model. ``gen_ai.memory.store.id`` is
the tenant, since each has a store of its own; users' names, texts and queries stay out unless ``content`` is asked for.
The names of the conventions stand here alone. Knows nothing about what is done in a span.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, trace
from opentelemetry.metrics import Meter, NoOpMeter
from opentelemetry.trace import NoOpTracer, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from seem.errors import ConfigError
from seem.memory import Memory
from seem.wiring import Parts
from serving import config
from serving.usage import current

NAME = "seem"
_TRACEPARENT = TraceContextTextMapPropagator()
# An exception's message may quote what somebody wrote, so that the library must not record it.
_QUIET: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False}


class Telemetry:
    """Where spans and metrics go; without a tracer and a meter they go nowhere."""

    def __init__(
        self,
        tracer: Tracer | None = None,
        meter: Meter | None = None,
        *,
        content: bool = False,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """``content`` puts queries and memories into spans; ``close`` sends what still waits."""
        self.content = content
        self.close = close
        self._tracer = tracer or NoOpTracer()
        meter = meter or NoOpMeter(NAME)
        self._requests = meter.create_histogram("http.server.request.duration", "s", "Time to the last byte.")
        self._operations = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", "Time of a memory operation."
        )
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of a memory operation.")

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Iterator[None]:
        """Span one HTTP request, below the caller's span where its ``traceparent`` names one."""
        above = _TRACEPARENT.extract(dict(headers), context.get_current())
        with self._tracer.start_as_current_span(method, above, SpanKind.SERVER, **_QUIET):
            yield

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note how the current request was answered."""
        told: dict[str, str | int] = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
        }
        self._requests.record(seconds, told)
        span = trace.get_current_span()
        span.update_name(f"{method} {route}")
        span.set_attributes(told)
        if status >= 500 or not status:
            span.set_status(Status(StatusCode.ERROR))

    @contextmanager
    def operation(self, name: str, store: str, record: str = "") -> Iterator[Span]:
        """Span one memory operation of a store, on one record or on several."""
        told = {"gen_ai.operation.name": name, "gen_ai.memory.store.id": store}
        labels = {"gen_ai.operation.name": name}
        begun, spent = time.perf_counter(), current()
        before = (spent.prompt_tokens, spent.completion_tokens)
        with self._tracer.start_as_current_span(name, attributes=told, **_QUIET) as span:
            if record:
                span.set_attribute("gen_ai.memory.record.id", record)
            try:
                yield span
            except Exception as error:
                labels["error.type"] = type(error).__name__
                span.set_attribute("error.type", labels["error.type"])
                span.set_status(Status(StatusCode.ERROR))
                raise
            finally:
                self._operations.record(time.perf_counter() - begun, labels)
                after = (spent.prompt_tokens, spent.completion_tokens)
                for kind, was, now in zip(("input", "output"), before, after, strict=True):
                    if now > was:
                        span.set_attribute(f"gen_ai.usage.{kind}_tokens", now - was)
                        self._tokens.record(now - was, {"gen_ai.operation.name": name, "gen_ai.token.type": kind})

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Span one stage."""
        with self._tracer.start_as_current_span(f"{NAME}.{name}", **_QUIET):
            yield

    def lap(self, name: str, seconds: float) -> None:
        """Span a stage that has just ended."""
        now = time.time_ns()
        self._tracer.start_span(f"{NAME}.{name}", start_time=now - int(seconds * 1e9)).end(now)


class TracedMemory(Memory):
    """A memory whose verbs are memory operations in the sense of the conventions."""

    def __init__(self, parts: Parts, telemetry: Telemetry, store: str) -> None:
        """Take the parts, and the name under which the store is told of."""
        super().__init__(parts=parts)
        self._telemetry = telemetry
        self._store = store

    def add_drafts(self, *args: Any, **options: Any) -> dict[str, Any]:
        """See ``Memory.add_drafts``."""
        with self._telemetry.operation("upsert_memory", self._store) as span:
            return self._counted(span, super().add_drafts(*args, **options))

    def search(self, query: str, **options: Any) -> dict[str, Any]:
        """See ``Memory.search``."""
        with self._telemetry.operation("search_memory", self._store) as span:
            return self._counted(span, super().search(query, **options), query)

    def answer(self, question: str, **options: Any) -> dict[str, Any]:
        """See ``Memory.answer``."""
        with self._telemetry.operation("search_memory", self._store) as span:
            return self._counted(span, super().answer(question, **options), question)

    def update(self, memory_id: str, *args: Any, **options: Any) -> dict[str, Any]:
        """See ``Memory.update``."""
        with self._telemetry.operation("update_memory", self._store, memory_id):
            return super().update(memory_id, *args, **options)

    def delete(self, memory_id: str, **options: Any) -> dict[str, Any]:
        """See ``Memory.delete``."""
        with self._telemetry.operation("delete_memory", self._store, memory_id):
            return super().delete(memory_id, **options)

    def delete_all(self, **options: Any) -> dict[str, Any]:
        """See ``Memory.delete_all``."""
        with self._telemetry.operation("delete_memory", self._store):
            return super().delete_all(**options)

    def forget(self, *args: Any, **options: Any) -> dict[str, Any]:
        """See ``Memory.forget``."""
        with self._telemetry.operation("delete_memory", self._store):
            return super().forget(*args, **options)

    def reset(self, **options: Any) -> dict[str, Any]:
        """See ``Memory.reset``."""
        with self._telemetry.operation("delete_memory_store", self._store):
            return super().reset(**options)

    def _counted(self, span: Span, told: dict[str, Any], query: str = "") -> dict[str, Any]:
        span.set_attribute("gen_ai.memory.record.count", len(told["results"]))
        if self._telemetry.content:
            records = [
                {"id": item["id"], "content": item["memory"]} | ({"score": item["score"]} if "score" in item else {})
                for item in told["results"]
            ]
            span.set_attribute("gen_ai.memory.records", json.dumps(records, ensure_ascii=False))
            if query:
                span.set_attribute("gen_ai.memory.query.text", query)
        return told


def telemetry(settings: config.Telemetry) -> Telemetry:
    """Give where the configuration sends spans and metrics; raise ConfigError where the exporter is not installed."""
    if not settings.otlp_endpoint:
        return Telemetry()
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigError("telemetry.otlp_endpoint needs an exporter: pip install 'seem-memory[otel]'") from error
    resource, base = Resource.create({"service.name": NAME}), settings.otlp_endpoint.rstrip("/")
    traces = TracerProvider(resource=resource)
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces")))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{base}/v1/metrics"))
    meters = MeterProvider([reader], resource)

    def close() -> None:
        traces.shutdown()
        meters.shutdown()

    return Telemetry(traces.get_tracer(NAME), meters.get_meter(NAME), content=settings.content, close=close)
