"""The verbs over HTTP, on scripted models: what comes back, what is refused and how it is said."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from seem.models.fakes import ScriptedExtractor
from seem.types import Passage
from tests.flows.people import CODE, MARK, NARVA, PAINTED, PLANTED, TARTU, THANKS
from tests.serving.house import House, ended, house, say, sse

Play = Callable[[House], Awaitable[None]]


def play(folder: Path, scene: Play, settings: dict[str, Any] | None = None, **fakes: Any) -> None:
    async def run() -> None:
        async with house(folder, settings, **fakes) as opened:
            await scene(opened)

    asyncio.run(run())


def test_the_verbs_from_add_to_reset(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as ana:
            told = await ana.post("/v1/memories", json=say(TARTU, PLANTED, THANKS))
            assert told.status_code == 200, told.text
            added = told.json()
            assert [item["event"] for item in added["results"]] == ["ADD"] * 3
            assert added["usage"]["embedded_texts"] >= 3
            first = added["results"][0]["id"]
            found = (await ana.post("/v1/search", json={"query": "Where does Ana live?", "user_id": "ana"})).json()
            assert found["results"][0]["memory"] == TARTU
            assert found["usage"]["embedded_texts"] == 1
            answer = (await ana.post("/v1/answer", json={"question": "Where does Ana live?", "user_id": "ana"})).json()
            assert TARTU in answer["answer"] and answer["model"] == "scripted"
            one = (await ana.get(f"/v1/memories/{first}")).json()
            assert one["facts"][0]["object"] == "Tartu"
            assert (await ana.get(f"/v1/facts/{one['facts'][0]['id']}")).json()["subject"] == "Ana"
            frames = (await ana.get("/v1/frames", params={"user_id": "ana"})).json()["results"]
            assert [frame["passages"] for frame in frames] == [[item["id"]] for item in added["results"][:2]]
            facts = (await ana.get("/v1/facts", params={"user_id": "ana"})).json()["results"]
            assert [fact["object"] for fact in facts] == ["Tartu"]
            changed = (await ana.put(f"/v1/memories/{first}", json={"text": "I live in Pärnu"})).json()
            assert (changed["event"], changed["memory"]) == ("UPDATE", "I live in Pärnu")
            past = (await ana.get(f"/v1/memories/{first}/history")).json()["results"]
            assert [change["event"] for change in past] == ["ADD", "UPDATE"]
            assert (await ana.get("/v1/entities")).json()["results"] == [{"type": "user", "id": "ana"}]
            assert (await ana.delete(f"/v1/memories/{first}")).json()["deleted"] == [first]
            assert (await ana.get(f"/v1/memories/{first}")).status_code == 404
            assert (await ana.delete("/v1/memories", params={"user_id": "ana"})).json()["deleted"] == 2
            assert (await ana.post("/v1/reset")).json()["deleted"] == 0

    play(tmp_path, scene)


def test_pages_follow_each_other_and_hold_while_items_go(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as ana:
            texts = [f"Ana counts {n} geese" for n in range(7)]
            await ana.post("/v1/memories", json=say(*texts))
            seen: list[dict[str, Any]] = []
            after: str | None = ""
            while after is not None:
                page = (await ana.get("/v1/memories", params={"user_id": "ana", "limit": 3, "after": after})).json()
                seen += page["results"]
                after = page["next"]
                if len(seen) == 3:
                    await ana.delete(f"/v1/memories/{seen[2]['id']}")
            assert [item["memory"] for item in seen] == texts
            ids: list[str] = []
            after = ""
            while after is not None:
                page = (await ana.get("/v1/frames", params={"user_id": "ana", "limit": 4, "after": after})).json()
                ids += [item["id"] for item in page["results"]]
                after = page["next"]
            assert len(ids) == len(set(ids)) == 6
            wrong = await ana.get("/v1/frames", params={"user_id": "ana", "after": "3"})
            assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_input")

    play(tmp_path, scene)


def test_every_refusal_has_one_shape_and_a_sentence(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as ana, home.bare() as nobody, home.client(scopes=["read"]) as reader:
            cases = [
                (await nobody.get("/v1/memories"), 401, "unauthorized", "a key is needed"),
                (await nobody.get("/v1/jobs", headers={"X-API-Key": "seem_a_b"}), 401, "unauthorized", "unknown"),
                (await reader.post("/v1/memories", json=say(TARTU)), 403, "scope_missing", "'write'"),
                (await ana.get("/v1/nowhere"), 404, "no_such_route", "/openapi.json"),
                (await ana.put("/v1/search", json={}), 405, "method_not_allowed", "method"),
                (await ana.get("/v1/memories/p_none"), 404, "not_found", "p_none"),
                (await ana.get("/v1/memories"), 422, "invalid_input", "whose memory"),
                (
                    await ana.post("/v1/search", json={"query": "x", "user_id": "a", "k": 1}),
                    422,
                    "invalid_request",
                    "k",
                ),
                (await ana.post("/v1/search", content=b"{"), 422, "invalid_request", "body"),
                (await ana.post("/v1/memories", json=say(TARTU, messages=[])), 422, "invalid_input", "nothing"),
                (
                    await ana.post("/v1/memories", json=say(messages=[{"content": "x", "readers": "bo"}])),
                    422,
                    "invalid_input",
                    "readers",
                ),
                (await ana.post("/v1/search", json={"query": "x" * 9000, "user_id": "a"}), 413, "too_large", "8000"),
                (await ana.post("/v1/memories", json=say(*["x"] * 300)), 413, "too_large", "limit of 256"),
                (await ana.post("/v1/memories", json=say("x" * 200_000)), 413, "too_large", "100000"),
                (await ana.post("/v1/memories", content=b"x" * 3_000_000), 413, "too_large", "2048 KiB"),
                (await ana.get("/v1/memories", params={"user_id": "a", "limit": 900}), 413, "too_large", "200"),
                (await ana.post("/v1/import", params={"user_id": "a"}), 422, "invalid_input", "body"),
                (await ana.get("/v1/jobs/j_none"), 404, "not_found", "j_none"),
            ]
            for reply, status, code, words in cases:
                body = reply.json()
                assert (reply.status_code, body["status"], body["code"]) == (status, status, code), body
                assert words in body["detail"], body
                assert reply.headers["content-type"] == "application/problem+json"
                assert reply.headers["x-request-id"] == body["request_id"]
            assert cases[0][0].headers["www-authenticate"] == "Bearer"
            named = await ana.get("/v1/jobs", headers={"X-Request-Id": "mine-1"})
            assert named.headers["x-request-id"] == "mine-1"

    play(tmp_path, scene)


def test_what_nobody_foresaw_tells_nothing_of_its_inside(tmp_path: Path) -> None:
    def fall(passage: Passage) -> None:
        raise RuntimeError(f"secret {passage.text}")

    async def scene(home: House) -> None:
        async with home.client() as ana:
            reply = await ana.post("/v1/memories", json=say(CODE))
            assert (reply.status_code, reply.json()["code"]) == (500, "internal")
            assert "secret" not in reply.text and MARK not in reply.text
            # What was said is kept all the same.
            listed = (await ana.get("/v1/memories", params={"user_id": "ana"})).json()["results"]
            assert [item["memory"] for item in listed] == [CODE]

    play(tmp_path, scene, extractor=ScriptedExtractor(before=fall))


def test_an_answer_is_streamed_with_its_evidence_first(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as ana:
            await ana.post("/v1/memories", json=say(TARTU))
            asked = {"question": "Where does Ana live?", "user_id": "ana", "stream": True}
            reply = await ana.post("/v1/answer", json=asked)
            assert reply.headers["content-type"].startswith("text/event-stream")
            events = sse(reply.text)
            assert [name for name, _ in events] == ["evidence", "answer", "done"]
            assert events[0][1]["results"][0]["memory"] == TARTU
            assert TARTU in events[1][1]["answer"]
            assert events[2][1]["usage"]["embedded_texts"] == 1

    play(tmp_path, scene)


def test_without_wait_the_words_are_there_at_once_and_the_rest_follows(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as ana:
            reply = await ana.post("/v1/memories", json=say(TARTU, PLANTED, wait=False))
            assert reply.status_code == 202
            first = reply.json()["results"][0]
            assert first["status"] == "pending"
            found = (await ana.post("/v1/search", json={"query": "Tartu", "user_id": "ana"})).json()
            assert found["results"][0]["memory"] == TARTU
            for _ in range(200):
                one = (await ana.get(f"/v1/memories/{first['id']}")).json()
                if one["status"] == "done":
                    break
                await asyncio.sleep(0.02)
            assert one["facts"][0]["object"] == "Tartu"

    play(tmp_path, scene)


def test_a_repeated_key_has_one_effect_and_one_reply(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as ana, home.client("other") as other:
            key = {"Idempotency-Key": "k1"}
            first = await ana.post("/v1/memories", json=say(TARTU), headers=key)
            again = await ana.post("/v1/memories", json=say(TARTU), headers=key)
            assert (again.status_code, again.text) == (200, first.text)
            assert again.headers["idempotency-replayed"] == "true"
            other_body = await ana.post("/v1/memories", json=say(NARVA), headers=key)
            assert (other_body.status_code, other_body.json()["code"]) == (422, "idempotency_key_reused")
            # Another tenant's keys are its own.
            assert (await other.post("/v1/memories", json=say(NARVA), headers=key)).status_code == 200
            # A request that failed had no effect: the key is free.
            bad = await ana.post("/v1/memories", json=say(messages=[]), headers={"Idempotency-Key": "k2"})
            assert bad.status_code == 422
            good = await ana.post("/v1/memories", json=say(NARVA), headers={"Idempotency-Key": "k2"})
            assert good.status_code == 200

    play(tmp_path, scene)


def test_a_key_whose_request_still_runs_is_a_conflict(tmp_path: Path) -> None:
    go = threading.Event()

    def hold(passage: Passage) -> None:
        go.wait(10)

    async def scene(home: House) -> None:
        async with home.client() as ana:
            key = {"Idempotency-Key": "k"}
            running = asyncio.ensure_future(ana.post("/v1/memories", json=say(TARTU), headers=key))
            for _ in range(200):
                await asyncio.sleep(0.01)
                reply = await ana.post("/v1/memories", json=say(TARTU), headers=key)
                if reply.status_code == 409:
                    break
            assert (reply.json()["code"], reply.headers["retry-after"]) == ("still_running", "1")
            go.set()
            assert (await running).status_code == 200

    play(tmp_path, scene, extractor=ScriptedExtractor(before=hold))


def test_replies_outlive_the_server_but_not_what_they_tell_of(tmp_path: Path) -> None:
    key = {"Idempotency-Key": "k"}
    kept: dict[str, Any] = {}

    async def before(home: House) -> None:
        kept["key"] = home.service.keys.create("acme")[1]
        async with home.bare({"Authorization": f"Bearer {kept['key']}"}) as ana:
            kept["reply"] = (await ana.post("/v1/memories", json=say(CODE, PAINTED), headers=key)).text

    async def after(home: House) -> None:
        async with home.bare({"Authorization": f"Bearer {kept['key']}"}) as ana:
            again = await ana.post("/v1/memories", json=say(CODE, PAINTED), headers=key)
            assert again.text == kept["reply"]
            export = (await ana.post("/v1/export", json={"user_id": "ana"})).json()
            assert (await ended(ana, export["job_id"]))["status"] == "done"
            assert MARK in (await ana.get(f"/v1/jobs/{export['job_id']}/result")).text
            code = json.loads(kept["reply"])["results"][0]["id"]
            assert (await ana.delete(f"/v1/memories/{code}")).status_code == 200
            gone = await ana.post("/v1/memories", json=say(CODE, PAINTED), headers=key)
            assert (gone.status_code, gone.json()["code"]) == (410, "reply_erased")
            assert (await ana.get(f"/v1/jobs/{export['job_id']}/result")).json()["code"] == "export_erased"
            for file in tmp_path.rglob("*"):
                assert not file.is_file() or MARK.encode() not in file.read_bytes(), file

    play(tmp_path, before)
    play(tmp_path, after)


def test_export_comes_back_through_import(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as ana, home.client("other") as other:
            await ana.post("/v1/memories", json=say(TARTU, PLANTED))
            job = (await ana.post("/v1/export", json={"user_id": "ana"})).json()
            assert (await ended(ana, job["job_id"]))["done"] == 2
            lines = await ana.get(f"/v1/jobs/{job['job_id']}/result")
            sent = await other.post("/v1/import", params={"user_id": "ana"}, content=lines.content + b"{broken\n")
            assert sent.status_code == 202
            told = await ended(other, sent.json()["job_id"])
            assert (told["status"], told["done"], told["total"]) == ("done", 2, 2)
            assert told["result"]["added"] == 2
            assert [p["line"] for p in told["result"]["problems"]] == [3]
            listed = (await other.get("/v1/memories", params={"user_id": "ana"})).json()["results"]
            assert [item["memory"] for item in listed] == [TARTU, PLANTED]
            assert (await other.get(f"/v1/jobs/{job['job_id']}")).status_code == 404
            assert (await ana.get("/v1/events/" + job["job_id"])).json()["status"] == "done"

    play(tmp_path, scene)


def test_health_and_metrics_need_no_key_and_tell_no_content(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client("secretive") as ana, home.bare() as nobody:
            await ana.post("/v1/memories", json=say(CODE))
            await ana.post("/v1/search", json={"query": "door", "user_id": "ana"})
            assert (await nobody.get("/livez")).status_code == 200
            assert (await nobody.get("/readyz")).json() == {"status": "ready"}
            text = (await nobody.get("/metrics")).text
            for series in (
                'seem_requests_total{method="POST",route="/v1/memories",status="200"} 1.0',
                'seem_batch_rows_count{task="extract"} 1.0',
                'seem_model_seconds_count{task="encode"}',
                'seem_queue_rows{lane="encoder"} 0.0',
                "seem_loaded_memories 1.0",
            ):
                assert series in text, series
            assert MARK not in text and "secretive" not in text and "ana" not in text
            home.service.draining = True
            reply = await nobody.get("/readyz")
            assert (reply.status_code, reply.json()["code"]) == (503, "draining")
            assert (await nobody.get("/livez")).status_code == 200
            home.service.draining = False

    play(tmp_path, scene)


def test_the_document_describes_every_route(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.bare() as nobody:
            document = (await nobody.get("/openapi.json")).json()
            for path, verbs in document["paths"].items():
                for verb, told in verbs.items():
                    assert told.get("summary") and told.get("description"), (verb, path)
                    assert path in ("/livez", "/readyz", "/metrics") or told.get("security"), (verb, path)
            assert document["components"]["schemas"]["Problem"]["properties"]["code"]

    play(tmp_path, scene)
