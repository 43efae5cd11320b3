"""What Prometheus is told: requests, queues, batches, models, tokens, stages, failures, what is loaded. No ids, no content.

One registry a server, so that two servers in one process (tests) do not meet. Knows nothing about what is measured.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from serving.telemetry import Telemetry

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Every series of one server."""

    def __init__(self) -> None:
        """Make the series, all at zero."""
        # Whoever measures spans too; nowhere unless the server's start says where.
        self.telemetry = Telemetry()
        r = self.registry = CollectorRegistry()
        # Memory, open files and time of the process itself.
        ProcessCollector(registry=r)
        self.requests = Counter("seem_requests", "Requests answered.", ["route", "method", "status"], registry=r)
        self.request_seconds = Histogram(
            "seem_request_seconds", "Time to the last byte.", ["route"], buckets=_SECONDS, registry=r
        )
        self.failures = Counter("seem_failures", "Refusals and failures by kind.", ["code"], registry=r)
        self.inside = Gauge("seem_requests_inside", "Requests running or waiting.", ["desk"], registry=r)
        self.queue = Gauge("seem_queue_rows", "Rows waiting for a model.", ["lane"], registry=r)
        self.batch = Histogram("seem_batch_rows", "Rows of a batch.", ["task"], buckets=_ROWS, registry=r)
        self.batch_calls = Histogram(
            "seem_batch_calls", "Requests whose rows shared a batch.", ["task"], buckets=_ROWS, registry=r
        )
        self.model_seconds = Histogram(
            "seem_model_seconds", "Time of one batch in the model.", ["task"], buckets=_SECONDS, registry=r
        )
        self.tokens = Counter("seem_tokens", "Tokens that models read and wrote.", ["task", "direction"], registry=r)
        self.stage_seconds = Histogram(
            "seem_stage_seconds", "Time of one stage of a search.", ["stage"], buckets=_SECONDS, registry=r
        )
        self.backlog = Gauge("seem_backlog_passages", "Stored passages that wait for their extraction.", registry=r)
        self.loaded = Gauge("seem_loaded_memories", "Memories held in RAM.", registry=r)
        self.loaded_bytes = Gauge("seem_loaded_bytes", "Bytes that they take, estimated.", registry=r)
        self.evicted = Counter("seem_evicted_memories", "Memories let go under the cap.", registry=r)
        self.jobs = Counter("seem_jobs", "Jobs ended.", ["kind", "status"], registry=r)
        self.reloads = Counter("seem_reloads", "Adapters taken up anew, or refused.", ["status"], registry=r)

    def text(self) -> bytes:
        """Give the exposition format."""
        return generate_latest(self.registry)
