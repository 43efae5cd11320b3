"""Whatever the OpenAPI document allows, and much that it does not, gets an answer that the document describes, and never a 500."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from serving.app import create_app
from serving.keys import SCOPES
from tests.serving.house import House, make_service, say
from tests.serving.test_api import play
from tests.serving.upstream import Upstream

CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 8


@contextmanager
def served(folder: Path, upstream: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Serve scripted models on loopback; give the address and the headers of a key that may do everything."""
    service = make_service(folder, {"upstream": {"base_url": upstream}, "tenant": {"requests_per_minute": 10_000_000}})
    _, key = service.keys.create("acme", scopes=SCOPES)
    server = uvicorn.Server(uvicorn.Config(create_app(service), port=0, log_config=None, access_log=False))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    while not (server.started and service.models.loaded):
        assert thread.is_alive()
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {key}"}
    finally:
        server.should_exit = True
        thread.join()


def test_no_request_gets_a_500_or_an_answer_that_the_document_does_not_know(tmp_path: Path) -> None:
    tried: dict[str, set[int]] = {}
    with Upstream("I see.") as upstream, served(tmp_path, upstream.url) as (url, key), requests.Session() as session:
        requests.post(f"{url}/v1/memories", json=say("I live in Tartu"), headers=key, timeout=30).raise_for_status()
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")

        def ask(case: Any) -> None:
            reply = case.call(base_url=url, headers=key, session=session, timeout=30)
            tried.setdefault(case.operation.label, set()).add(reply.status_code)
            case.validate_response(reply, checks=CHECKS)

        for result in schema.get_all_operations():
            assert isinstance(result, Ok)
            operation: Any = result.ok()
            cases = st.one_of([operation.as_strategy(mode) for mode in GenerationMode])
            bounded = settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.generate],
            )
            bounded(given(case=cases)(ask))()
    assert len(tried) > 25
    # Not everything is refused: the walk gets inside.
    assert sum(200 in statuses or 202 in statuses for statuses in tried.values()) > 10, tried


def test_what_json_can_hold_and_no_reply_could_tell_is_refused_or_replaced(tmp_path: Path) -> None:
    deep = "[" * 500 + "]" * 500
    add = '{"messages": %s, "user_id": "ana", "metadata": {%s}}'
    search = '{"query": "x", "user_id": "ana", "filters": {%s}}'
    cases = [
        ("/v1/memories", add % ('"a number"', '"n": NaN'), 422, "not finite"),
        ("/v1/memories", add % ('"a number"', '"n": {"m": [1e999]}'), 422, "not finite"),
        ("/v1/memories", add % ('"a nest"', f'"n": {deep}'), 422, "nested"),
        ("/v1/memories", add % ('"half a sign \\ud800"', '"\\ud800": "\\udfff"'), 200, "half a sign \ufffd"),
        ("/v1/search", search % f'"n": {deep}', 422, "nested"),
        ("/v1/search", search % '"n": "\\ud800"', 200, ""),
        ("/v1/search", search % '"n": {"\\ud800": 1}', 422, "unknown operator"),
        ("/v1/chat/completions", f'{{"messages": [], "more": {deep}}}', 422, "nested"),
    ]

    async def scene(home: House) -> None:
        async with home.client() as ana:
            for path, body, status, words in cases:
                reply = await ana.post(path, content=body.encode(), headers={"Content-Type": "application/json"})
                assert (reply.status_code, words in reply.text) == (status, True), (body[:80], reply.text[:300])
                assert isinstance(reply.json(), dict)

    play(tmp_path, scene, {"upstream": {"base_url": "http://127.0.0.1:9"}})
