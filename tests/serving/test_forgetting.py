"""Forgetting over HTTP: replies, exports and waiting imports go too; the receipt, the trail and who may read it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from seem.models.fakes import ScriptedExtractor
from seem.types import Passage
from tests.flows.people import CODE, MARK, NARVA, PAINTED, PLANTED, SCRIPT, TARTU
from tests.serving.house import House, ended, house, say

Play = Callable[[House], Awaitable[None]]


def play(folder: Path, scene: Play, settings: dict[str, Any] | None = None, **fakes: Any) -> None:
    async def run() -> None:
        async with house(folder, settings, **fakes) as opened:
            await scene(opened)

    asyncio.run(run())


def residue(folder: Path, mark: str = MARK) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.is_file() and mark.encode() in file.read_bytes()]


def test_forgetting_reaches_store_replies_and_exports_and_gives_a_receipt(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as ana:
            added = await ana.post("/v1/memories", json=say(CODE, PAINTED), headers={"Idempotency-Key": "a"})
            first = added.json()["results"][0]["id"]
            await ana.post("/v1/memories", json={"messages": TARTU, "user_id": "bo"}, headers={"Idempotency-Key": "b"})
            job = (await ana.post("/v1/export", json={"user_id": "ana"})).json()["job_id"]
            await ended(ana, job)
            assert residue(tmp_path)
            reply = await ana.post("/v1/forget", json={"ids": [first]}, headers={"Idempotency-Key": "f"})
            assert reply.status_code == 200, reply.text
            told = reply.json()
            assert (told["removed"]["passages"], told["clean"], told["scan"]["hits"]) == (1, True, 0)
            assert {"serving.db", "memory.db"} <= {file["file"] for file in told["scan"]["files"]}
            assert residue(tmp_path) == []
            assert (await ana.get(f"/v1/jobs/{job}/result")).status_code == 410
            again = await ana.post("/v1/memories", json=say(CODE, PAINTED), headers={"Idempotency-Key": "a"})
            assert again.json()["code"] == "reply_erased"
            other = await ana.post(
                "/v1/memories", json={"messages": TARTU, "user_id": "bo"}, headers={"Idempotency-Key": "b"}
            )
            assert other.headers["Idempotency-Replayed"] == "true"
            repeat = await ana.post("/v1/forget", json={"ids": [first]}, headers={"Idempotency-Key": "f"})
            assert repeat.json() == told
            gone = (await ana.delete("/v1/memories", params={"user_id": "ana"})).json()
            assert (gone["deleted"], gone["receipt"]["clean"]) == (1, True)
            refused = await ana.post("/v1/forget", json={"user_id": "ana"})
            assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")

    play(tmp_path, scene)


def test_an_import_that_waits_with_the_forgotten_words_is_ended_and_others_go_on(tmp_path: Path) -> None:
    reached, go = threading.Event(), threading.Event()

    def hold(passage: Passage) -> None:
        if passage.text == PLANTED:
            reached.set()
            assert go.wait(60)

    def lines(*texts: str) -> bytes:
        return b"".join(json.dumps({"text": text, "speaker": "Ana"}).encode() + b"\n" for text in texts)

    async def scene(home: House) -> None:
        async with home.client() as ana:
            first = (await ana.post("/v1/memories", json=say(CODE))).json()["results"][0]["id"]

            async def send(content: bytes, user: str = "ana") -> str:
                reply = await ana.post("/v1/import", params={"user_id": user}, content=content)
                return str(reply.json()["job_id"])

            running = await send(lines(PLANTED, *(f"filler {n}" for n in range(20)), CODE))
            await asyncio.to_thread(reached.wait, 60)
            waiting, innocent, foreign = (
                await send(lines(CODE)),
                await send(lines(NARVA)),
                await send(lines(CODE), "bo"),
            )
            forgetting = asyncio.create_task(ana.delete(f"/v1/memories/{first}"))
            await asyncio.sleep(0.3)
            assert not forgetting.done()
            go.set()
            told = (await forgetting).json()
            assert told["receipt"]["removed"]["passages"] == 1
            for job in (running, waiting):
                job_now = (await ana.get(f"/v1/jobs/{job}")).json()
                assert (job_now["status"], "deleted since" in job_now["error"]) == ("erased", True)
                assert not home.service.jobs.file(job).exists()
            assert (await ended(ana, innocent))["result"]["added"] == 1
            assert (await ended(ana, foreign))["result"]["added"] == 1
            listed = (await ana.get("/v1/memories", params={"user_id": "ana"})).json()["results"]
            assert CODE not in [item["memory"] for item in listed]
            assert NARVA in [item["memory"] for item in listed]

    play(tmp_path, scene, extractor=ScriptedExtractor(SCRIPT, before=hold))


def test_the_trail_names_the_key_and_is_for_those_who_may(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client(principals=["ana"]) as ana, home.client(scopes=["audit"]) as auditor:
            first = (await ana.post("/v1/memories", json=say(CODE))).json()["results"][0]["id"]
            await ana.delete(f"/v1/memories/{first}")
            assert (await ana.get("/v1/audit")).json()["code"] == "scope_missing"
            trail = (await auditor.get("/v1/audit", params={"item": first})).json()
            assert [line["action"] for line in trail["results"]] == ["add", "derive", "delete"]
            actors = {line["actor"] for line in trail["results"]}
            assert len(actors) == 1 and all(name.startswith("key:") and name.endswith(" for ana") for name in actors)
            page = (await auditor.get("/v1/audit", params={"limit": 1})).json()
            assert page["next"] == page["results"][0]["id"]
            exported = await auditor.get("/v1/audit", params={"format": "jsonl", "user_id": "ana"})
            assert exported.headers["content-type"].startswith("application/x-ndjson")
            rows = [json.loads(line) for line in exported.text.splitlines()]
            assert rows[-1]["removed"]["passage"] == [first] and MARK not in exported.text

    play(tmp_path, scene)


def test_retention_and_promotion(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as ana:
            told = (await ana.post("/v1/memories", json=say(CODE, PLANTED, infer=False))).json()["results"]
            due = (await ana.post("/v1/retain", json={"keep": 1, "dry_run": True})).json()
            assert (due["due"], due["receipt"], due["rules"]) == (1, None, {"user_id:ana": {"keep": 1}})
            done = (await ana.post("/v1/retain", json={"keep": 1, "user_id": "ana"})).json()
            assert done["receipt"]["removed"]["passages"] == 1 and residue(tmp_path) == []
            promoted = (await ana.post("/v1/promote", json={"user_id": "ana", "everything": True})).json()
            assert promoted["promoted"] == [told[1]["id"]]
            assert (await ana.get(f"/v1/memories/{told[1]['id']}")).json()["frame"]
            assert (await ana.post("/v1/retain", json={})).status_code == 422

    play(tmp_path, scene)
