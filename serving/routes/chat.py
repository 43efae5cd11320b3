"""The OpenAI-compatible chat proxy: a client that points here gets its model with memory.

Finds what belongs to the last user message, puts it in as data, asks the configured upstream, stores the exchange, and
returns the evidence in the field ``seem``. Everything else of request and reply passes through.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Annotated, Any, cast

import httpx
from fastapi import APIRouter, Body, Header, Request
from starlette.responses import JSONResponse, Response

from seem.errors import SeemError
from seem.memory import Memory
from seem.scope import IDS, scope
from serving import schemas
from serving.access import Chats, Serving
from serving.config import Upstream
from serving.errors import ApiError
from serving.keys import Caller
from serving.proxy import Heard, asked, exchange, extension, with_memory
from serving.routes.questions import STREAMS, streamed
from serving.routes.writing import counts
from serving.service import Effect, Service
from serving.sizes import check_messages, check_shape

router = APIRouter(prefix="/v1", tags=["chat"])
OWN = "seem"
DEFAULT_USER = "default"


def client(upstream: Upstream) -> AbstractAsyncContextManager[httpx.AsyncClient]:
    """Give the client that asks the upstream."""
    # A local server wants no key, but some clients of it insist on one.
    key = os.environ.get(upstream.api_key_env) or "none"
    return httpx.AsyncClient(
        base_url=upstream.base_url.rstrip("/"),
        headers={"Authorization": f"Bearer {key}"},
        timeout=upstream.timeout_seconds,
    )


@router.post("/chat/completions", response_model=schemas.Reply, responses=STREAMS)
async def complete(
    request: Request,
    service: Serving,
    caller: Chats,
    body: Annotated[
        dict[str, Any], Body(description="An OpenAI chat request; `user` or `seem.user_id` says whose memory.")
    ],
    user: Annotated[str | None, Header(alias="X-User-Id")] = None,
) -> Response:
    """Complete a chat with what is remembered of its user, and remember the exchange."""
    if not service.config.upstream.base_url:
        raise ApiError(503, "no_upstream", "no model stands behind this proxy; the operator must set upstream.base_url")
    own = body.pop(OWN, {})
    if not isinstance(own, dict) or not set(own) <= {*IDS, "store"}:
        raise ApiError(422, "invalid_input", f"the field {OWN!r} may hold {', '.join(IDS)} and store")
    ids = {name: own[name] for name in IDS if own.get(name) is not None}
    if not ids:
        ids = {"user_id": body.get("user") or user or DEFAULT_USER}
    scope(None, **ids)
    check_shape(body)
    check_messages(body.get("messages"), service.config.limits)
    place, question = asked(body.get("messages"))
    service.digester.check_room(2)
    found = await service.read(caller, lambda memory: _found(memory, service, caller, question, ids))
    sent = {**body, "messages": with_memory(body["messages"], place, found["context"])}
    upstream = cast(httpx.AsyncClient, request.app.state.upstream)
    turn = _Turn(service, caller, ids, question, found, bool(own.get("store", True)))
    answer = await _answered(upstream, "POST", "/chat/completions", sent)
    if sent.get("stream"):
        return streamed(_passed(answer, turn))
    await answer.aread()
    try:
        told = answer.json()
        said = told["choices"][0]["message"].get("content") or ""
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ApiError(502, "upstream_unreadable", "the upstream's answer is no chat completion") from error
    kept = await turn.store(said if isinstance(said, str) else "")
    return JSONResponse({**told, OWN: extension(found) | kept})


class _Turn:
    """One exchange on its way into memory."""

    def __init__(
        self, service: Service, caller: Caller, ids: dict[str, Any], question: str, found: dict[str, Any], keep: bool
    ) -> None:
        self.found = found
        self._service = service
        self._caller = caller
        self._ids = ids
        self._question = question
        self._keep = keep

    async def store(self, answer: str) -> dict[str, Any]:
        """Store the exchange, to be extracted later; give the ids of its passages, durable, or why there are none.

        The answer is there already: a store that is full or busy now must not take it from the client.
        """
        if not self._keep:
            return {"stored": []}

        def verb(memory: Memory) -> Effect:
            said = exchange(self._question, answer)
            who = self._caller.principals or None
            told = memory.add(said, timestamp=datetime.now(UTC), wait=False, principals=who, **self._ids)
            return Effect(told, 200, "", *counts(told))

        try:
            reply, _ = await self._service.write(self._caller, None, b"", verb)
        except SeemError as error:
            return {"stored": [], "not_stored": str(error)}
        return {"stored": [item["id"] for item in json.loads(reply.body)["results"]]}


def _found(memory: Memory, service: Service, caller: Caller, question: str, ids: dict[str, Any]) -> dict[str, Any]:
    # Asked before the upstream is: an answer that cannot be remembered should not be paid for.
    service.check_room(caller.tenant, memory, 2, caller.passages, restricted=bool(caller.principals))
    shown = question[: service.config.limits.query_chars]
    room, who = service.config.upstream.context_tokens, caller.principals or None
    return memory.search(shown, context_tokens=room, principals=who, **ids)


async def _answered(
    upstream: httpx.AsyncClient, method: str, path: str, sent: dict[str, Any] | None = None
) -> httpx.Response:
    """Give the upstream's answer, its body unread; raise ApiError where there is none."""
    try:
        request = upstream.build_request(method, path, json=sent)
        answer = await upstream.send(request, stream=True)
        if answer.status_code == 200:
            return answer
        await answer.aread()
    except httpx.HTTPError as error:
        raise ApiError(
            502,
            "upstream_unreachable",
            f"the upstream gave no answer ({type(error).__name__}); try again",
            retry_after=5,
        ) from error
    # What the upstream says of the request is for its sender; what it says of itself is for the operator.
    status = answer.status_code if answer.status_code in (400, 404, 413, 422, 429) else 502
    why = f": {answer.text[:500]}" if status != 502 else ""
    await answer.aclose()
    after = answer.headers.get("retry-after", "")
    raise ApiError(
        status,
        "upstream_refused",
        f"the upstream refused the request with {answer.status_code}{why}",
        retry_after=int(after) if after.isdecimal() else None,
    )


async def _passed(answer: httpx.Response, turn: _Turn) -> AsyncIterator[bytes]:
    """Pass the stream on line by line; before its end comes a chunk with the evidence, once the exchange is stored."""
    heard = Heard()
    try:
        async for line in answer.aiter_lines():
            if heard.line(line):
                kept = await turn.store(heard.text)
                yield f"{heard.chunk(extension(turn.found) | kept)}\n\n".encode()
            yield f"{line}\n".encode()
    except httpx.HTTPError:
        # The client sees a stream without its end, as it would without a proxy; half an answer is not remembered.
        return
    finally:
        await answer.aclose()


@router.get("/models", response_model=schemas.Reply)
async def models(request: Request, service: Serving, caller: Chats) -> Any:
    """List the upstream's models, and the encoder behind /v1/embeddings."""
    service.check_loaded()
    own = {"id": service.models.encoder.fingerprint, "object": "model", "owned_by": "seem"}
    if not service.config.upstream.base_url:
        return {"object": "list", "data": [own]}
    answer = await _answered(cast(httpx.AsyncClient, request.app.state.upstream), "GET", "/models")
    await answer.aread()
    try:
        return {"object": "list", "data": [*answer.json()["data"], own]}
    except (ValueError, LookupError, TypeError) as error:
        raise ApiError(502, "upstream_unreadable", "the upstream's answer is no list of models") from error


@router.post("/embeddings", response_model=schemas.Reply)
async def embeddings(service: Serving, caller: Chats, body: schemas.Embed) -> Any:
    """Give the vectors of texts, made by the encoder that memories are searched with."""
    texts = [body.input] if isinstance(body.input, str) else body.input
    check_messages(texts, service.config.limits)
    encoder = service.models.encoder

    def verb(memory: Memory) -> dict[str, Any]:
        vectors = [
            vector.tolist()
            if body.encoding_format == "float"
            else base64.b64encode(vector.astype("<f4").tobytes()).decode()
            for vector in encoder.encode(texts)
        ]
        data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        return {"object": "list", "data": data, "model": encoder.fingerprint}

    return await service.read(caller, verb)
