"""Tenants cannot meet, have limits of their own, and share the room there is."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import httpx
import pytest

from seem.models.fakes import ScriptedExtractor
from seem.types import Passage
from serving.errors import ApiError
from serving.quota import Rates
from tests.flows.people import CODE, MARK, NARVA, TARTU
from tests.serving.house import House, say
from tests.serving.test_api import play


def told(reply: httpx.Response, item: str) -> tuple[int, str]:
    """Give what a reply tells, but for the id that was asked for and the request's own."""
    return reply.status_code, json.dumps(reply.json() | {"request_id": ""}).replace(item, "")


def test_another_tenants_items_are_like_none_at_all(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client("acme") as ana, home.client("zeta") as zoe:
            added = (await ana.post("/v1/memories", json=say(TARTU, CODE))).json()["results"]
            await zoe.post("/v1/memories", json=say(NARVA))
            theirs = [added[0]["id"], added[0]["frame"]["id"], added[0]["facts"][0]["id"]]
            for mine, item in zip(("p_0", "f_0", "k_0"), theirs, strict=True):
                for method, path, body in (
                    ("GET", "/v1/memories/{}", None),
                    ("GET", "/v1/memories/{}/history", None),
                    ("DELETE", "/v1/memories/{}", None),
                    ("PUT", "/v1/memories/{}", {"text": "mine now"}),
                ):
                    one = await zoe.request(method, path.format(item), json=body)
                    none = await zoe.request(method, path.format(mine), json=body)
                    assert told(one, item) == told(none, mine), (method, path)
            found = await zoe.post("/v1/search", json={"query": f"door code {MARK} Tartu", "user_id": "ana"})
            assert [item["memory"] for item in found.json()["results"]] == [NARVA]
            assert (await zoe.get("/v1/memories", params={"user_id": "ana"})).json()["results"][0]["memory"] == NARVA
            assert (await zoe.delete("/v1/memories", params={"user_id": "ana"})).json()["deleted"] == 1
            assert (await zoe.post("/v1/reset")).json()["deleted"] == 0
            assert len((await ana.get("/v1/memories", params={"user_id": "ana"})).json()["results"]) == 2
            folders = sorted(path.name for path in (tmp_path / "tenants").iterdir())
            assert folders == ["acme", "zeta"]
            assert MARK.encode() not in (tmp_path / "tenants" / "zeta" / "memory.db").read_bytes()

    play(tmp_path, scene)


def test_a_revoked_key_and_a_missing_scope_open_no_route(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        revoked = home.client("acme")
        home.service.keys.revoke(home.service.keys.listed()[0]["id"])
        async with home.bare() as nobody, revoked, home.client("acme", scopes=["export"]) as weak:
            document = (await nobody.get("/openapi.json")).json()
            tried = 0
            for path, verbs in document["paths"].items():
                if not path.startswith("/v1/"):
                    continue
                address = path.replace("{memory_id}", "p_x").replace("{job_id}", "j_x")
                address = address.replace("{kind}", "user").replace("{name}", "ana")
                for verb in verbs:
                    for client in (nobody, revoked):
                        reply = await client.request(verb.upper(), address)
                        assert reply.status_code == 401, (verb, path, reply.text)
                    if path not in ("/v1/export", "/v1/jobs/{job_id}/result"):
                        assert (await weak.request(verb.upper(), address)).status_code == 403, (verb, path)
                    tried += 1
            assert tried > 20

    play(tmp_path, scene)


def test_a_tenant_over_its_rate_waits_and_others_do_not(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client("acme") as ana, home.client("zeta") as zoe:
            home.service.keys.limit("acme", requests_per_minute=12)
            statuses = [(await ana.get("/v1/entities")).status_code for _ in range(4)]
            assert statuses == [200, 200, 429, 429]
            reply = await ana.get("/v1/entities")
            assert (reply.json()["code"], reply.json()["limit"]) == ("rate_limited", 12)
            assert 1 <= int(reply.headers["retry-after"]) <= 5
            assert (await zoe.get("/v1/entities")).status_code == 200

    play(tmp_path, scene)


def test_a_bucket_fills_steadily() -> None:
    at = 0.0
    rates = Rates(lambda: at)
    for _ in range(10):
        rates.take("acme", 60)
    with pytest.raises(ApiError) as caught:
        rates.take("acme", 60)
    assert caught.value.retry_after == 1
    at = 2.0
    rates.take("acme", 60)
    rates.take("acme", 60)
    with pytest.raises(ApiError):
        rates.take("acme", 60)


def test_a_tenant_keeps_no_more_than_its_quota(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client("acme") as ana:
            home.service.keys.limit("acme", passages=2)
            added = await ana.post("/v1/memories", json=say(TARTU, NARVA))
            over = await ana.post("/v1/memories", json=say(CODE))
            assert (over.status_code, over.json()["code"], over.json()["limit"]) == (429, "quota_exceeded", 2)
            await ana.delete(f"/v1/memories/{added.json()['results'][0]['id']}")
            assert (await ana.post("/v1/memories", json=say(CODE))).status_code == 200

    play(tmp_path, scene)


def test_too_many_requests_are_refused_at_once_and_the_others_served(tmp_path: Path) -> None:
    go = threading.Event()

    def hold(passage: Passage) -> None:
        go.wait(20)

    async def scene(home: House) -> None:
        async with home.client("acme") as ana:
            running = [asyncio.ensure_future(ana.post("/v1/memories", json=say(f"text {n}"))) for n in range(6)]
            done, waiting = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            while len(done) < 3:
                more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                done |= more
            refused = [task.result() for task in done]
            assert [reply.status_code for reply in refused] == [503] * 3
            assert all(reply.json()["code"] == "overloaded" for reply in refused)
            assert all(int(reply.headers["retry-after"]) >= 1 for reply in refused)
            # Reads have threads of their own.
            assert (await ana.get("/v1/entities")).status_code == 200
            go.set()
            served = await asyncio.gather(*waiting)
            assert [reply.status_code for reply in served] == [200] * 3
            assert home.service.writing.inside == 0

    play(tmp_path, scene, {"load": {"threads": 1, "waiting": 2}}, extractor=ScriptedExtractor(before=hold))


def test_a_full_backlog_refuses_more(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client("acme") as ana:
            reply = await ana.post("/v1/memories", json=say(TARTU, NARVA, CODE))
            assert (reply.status_code, reply.json()["code"]) == (503, "backlog_full")
            assert (await ana.post("/v1/memories", json=say(TARTU))).status_code == 200

    play(tmp_path, scene, {"load": {"backlog": 2}})


def test_loaded_memories_go_under_the_cap_and_come_back(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client("acme") as ana:
            for user in ("a", "b", "c"):
                await ana.post("/v1/memories", json=say("word " * 400, user_id=user))
            states = home.service.tenants._open["acme"].memory.pipeline.states
            assert len(states.residents()) == 3
            size = states.residents()[0][2]
            monkey = home.service.config.load
            object.__setattr__(monkey, "memory_mb", 0)
            home.service.tenants.evict()
            assert states.residents() == []
            object.__setattr__(monkey, "memory_mb", 1)
            found = await ana.post("/v1/search", json={"query": "word", "user_id": "b"})
            assert len(found.json()["results"]) == 1
            assert [(key, bytes_) for _, key, bytes_ in states.residents()] == [("user_id:b", size)]

    play(tmp_path, scene)


def test_idle_stores_are_closed_beyond_the_limit(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        for name in ("a", "b", "c"):
            async with home.client(name) as one:
                await one.post("/v1/memories", json=say(TARTU))
        home.service.tenants._trimmed = 0.0
        async with home.client("a") as one:
            found = await one.post("/v1/search", json={"query": "Tartu", "user_id": "ana"})
            assert found.json()["results"][0]["memory"] == TARTU
        assert len(home.service.tenants._open) == 1

    play(tmp_path, scene, {"tenant": {"open": 1}})
