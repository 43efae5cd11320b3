"""Rights per passage over HTTP: two keys of one tenant, and nothing of what one may not read in any reply to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

from seem.errors import InputError
from seem.models.fakes import ScriptedExtractor, ScriptedJudge
from serving.mcp import build
from tests.flows.people import SCRIPT
from tests.flows.test_readers import DEBT, FAIR, STORY, hidden
from tests.serving.house import House, ended, say, sse
from tests.serving.test_api import play
from tests.serving.upstream import Upstream

WHOSE = {"user_id": "ana"}
SECRET = ("Otto", "650", "debt of")


def fakes() -> dict[str, Any]:
    judge = ScriptedJudge({frozenset({FAIR, DEBT}): 0.9})
    return {"extractor": ScriptedExtractor({**SCRIPT, **STORY}), "judge": judge}


def clean(reply: httpx.Response, *ids: str) -> Any:
    assert reply.status_code < 400, reply.text
    assert hidden(reply.text, *SECRET, *ids), reply.text
    return reply.json() if reply.headers["content-type"].startswith("application/json") else reply.text


async def filled(home: House, owner: httpx.AsyncClient) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give a passage that everyone may read and one for ana's key alone, in one frame."""
    public = (await owner.post("/v1/memories", json=say(FAIR))).json()["results"][0]
    private = (await owner.post("/v1/memories", json=say(DEBT, readers=["ana"]))).json()["results"][0]
    assert (private["event"], private["readers"]) == ("MERGE", ["ana"])
    return public, private


def test_a_private_source_shines_through_no_route(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with (
            home.client() as owner,
            home.client(principals=["ana"]) as ana,
            home.client(principals=["ben"]) as ben,
        ):
            public, private = await filled(home, owner)
            theirs = [private["id"], private["frame"]["id"], *(fact["id"] for fact in private["facts"])]
            question = {"query": "What happened with the fair money?", **WHOSE, "explain": True}
            found = (await ana.post("/v1/search", json=question)).json()
            assert len(found["results"]) == 2 and "650" in found["frames"][0]["summary"]
            found = clean(await ben.post("/v1/search", json=question), *theirs)
            assert [item["id"] for item in found["results"]] == [public["id"]]
            assert found["frames"][0]["passages"] == [public["id"]]
            asked = {"question": question["query"], **WHOSE}
            clean(await ben.post("/v1/answer", json=asked), *theirs)
            streamed = clean(await ben.post("/v1/answer", json=asked | {"stream": True}), *theirs)
            assert [name for name, _ in sse(streamed)] == ["evidence", "answer", "done"]
            for kind in ("memories", "passages", "frames", "facts"):
                page = clean(await ben.get(f"/v1/{kind}", params=WHOSE), *theirs)
                assert (len(page["results"]), page["next"]) == (1, None), kind
                item = page["results"][0]["id"]
                for path in ("", "/history", "/grounds"):
                    clean(await ben.get(f"/v1/memories/{item}{path}"), *theirs)
            clean(await ben.get("/v1/graph/entities", params=WHOSE), *theirs)
            for item in theirs:
                for method, path, body in (
                    ("GET", "/v1/memories/{}", None),
                    ("GET", "/v1/memories/{}/grounds", None),
                    ("DELETE", "/v1/memories/{}", None),
                    ("PUT", "/v1/memories/{}", {"text": "mine"}),
                ):
                    one = await ben.request(method, path.format(item), json=body)
                    none = await ben.request(method, path.format(f"{item[:2]}none"), json=body)
                    told = [r.text.replace(item, "").replace(f"{item[:2]}none", "") for r in (one, none)]
                    told = [json.dumps(json.loads(text) | {"request_id": "", "detail": ""}) for text in told]
                    assert one.status_code == 404 and told[0] == told[1], (method, path)
                assert (await ben.get(f"/v1/memories/{item}/history")).json()["results"] == []
            deleted = clean(await ben.delete("/v1/memories", params=WHOSE), *theirs)
            assert deleted["deleted"] == 1 and deleted["receipt"]["refolded"] == {}
            assert (await ben.get("/v1/entities")).json()["results"] == []
            assert (await ana.get("/v1/entities")).json()["results"] == [{"type": "user", "id": "ana"}]
            assert (await ben.post("/v1/reset")).json()["deleted"] == 0
            assert (await owner.get(f"/v1/memories/{private['id']}")).json()["memory"] == DEBT

    play(tmp_path, scene, **fakes())


def test_jobs_exports_and_kept_replies_are_those_of_their_reader(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with (
            home.client() as owner,
            home.client(principals=["ana"]) as ana,
            home.client(principals=["ben"]) as ben,
        ):
            public, private = await filled(home, owner)
            jobs = {}
            for name, client in (("ana", ana), ("ben", ben)):
                started = await client.post("/v1/export", json=WHOSE)
                jobs[name] = (await ended(client, started.json()["job_id"]))["job_id"]
            mine = clean(await ben.get(f"/v1/jobs/{jobs['ben']}/result"), private["id"])
            assert [json.loads(line)["text"] for line in mine.splitlines()] == [FAIR]
            theirs = (await ana.get(f"/v1/jobs/{jobs['ana']}/result")).text
            assert [json.loads(line)["text"] for line in theirs.splitlines()] == [FAIR, DEBT]
            for path in (f"/v1/jobs/{jobs['ana']}", f"/v1/jobs/{jobs['ana']}/result", f"/v1/events/{jobs['ana']}"):
                assert (await ben.get(path)).status_code == 404
            assert [job["job_id"] for job in (await ben.get("/v1/jobs")).json()["results"]] == [jobs["ben"]]
            assert len((await owner.get("/v1/jobs")).json()["results"]) == 2
            header, body = {"Idempotency-Key": "one"}, say("we meet at noon")
            first = await ana.post("/v1/memories", json=body, headers=header)
            again = await ana.post("/v1/memories", json=body, headers=header)
            other = await ben.post("/v1/memories", json=body, headers=header)
            assert again.headers["idempotency-replayed"] == "true" and again.json() == first.json()
            assert "idempotency-replayed" not in other.headers
            assert [r.json()["results"][0]["event"] for r in (first, other)] == ["ADD", "ADD"]
            assert first.json()["results"][0]["id"] != other.json()["results"][0]["id"]
            lines = "\n".join(json.dumps({"text": text, "speaker": "Bo"}) for text in ("first", DEBT))
            job = (await ben.post("/v1/import", params=WHOSE, content=lines)).json()["job_id"]
            assert (await ended(ben, job))["result"]["added"] == 2
            listed = (await ben.get("/v1/memories", params=WHOSE)).json()["results"]
            assert [item["readers"] for item in listed] == [[], ["ben"], ["ben"], ["ben"]]
            # Revoking ends what her key could still fetch.
            told = await owner.post("/v1/revoke", json={"passages": [private["id"]], "readers": ["ana"]})
            assert told.json()["changed"] == [private["id"]]
            assert (await ana.get(f"/v1/jobs/{jobs['ana']}/result")).status_code == 410
            assert (await ana.post("/v1/memories", json=body, headers=header)).status_code == 410
            clean(await ana.get("/v1/memories", params=WHOSE), private["id"])

    play(tmp_path, scene, **fakes())


def test_rights_are_the_owners_to_give(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client(scopes=["read", "write", "audit"]) as owner, home.client(principals=["ben"]) as ben:
            public, private = await filled(home, owner)
            for path in ("/v1/grant", "/v1/revoke"):
                reply = await ben.post(path, json={"passages": [private["id"]], "readers": ["ben"]})
                assert (reply.status_code, reply.json()["code"]) == (403, "not_the_owner")
            told = await owner.post("/v1/grant", json={**WHOSE, "filters": {"speaker": "Ana"}, "readers": ["ben"]})
            assert told.json()["changed"] == [private["id"]], "what everyone may read stays so"
            assert len((await ben.get("/v1/memories", params=WHOSE)).json()["results"]) == 2
            past = (await owner.get(f"/v1/memories/{private['id']}/history")).json()["results"]
            assert (past[-1]["event"], past[-1]["new_memory"]) == ("GRANT", "ben") and past[-1]["actor_id"]
            refused = await owner.post("/v1/revoke", json={"passages": [public["id"]], "readers": ["ben"]})
            assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")
            assert (await owner.post("/v1/grant", json={"readers": ["ben"]})).status_code == 422
            over = say("too much", readers=["carl"])
            assert (await ben.post("/v1/memories", json=over)).status_code == 422
            home.service.keys.limit("acme", passages=2)
            full = await ben.post("/v1/memories", json=say("one more"))
            assert full.status_code == 429 and "2" not in full.json()["detail"]
            assert (await owner.get("/v1/audit")).status_code == 200
        async with home.client(principals=["ben"], scopes=["audit", "read"]) as watcher:
            assert (await watcher.get("/v1/audit")).status_code == 403
        for names in (["*"], ["@owner"], [" "]):
            with pytest.raises(InputError):
                home.service.keys.create("acme", principals=names)

    play(tmp_path, scene, **fakes())


def test_the_chat_proxy_and_the_tools_know_no_more_than_their_key(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as owner, home.client(principals=["ben"]) as ben:
            _, private = await filled(home, owner)
            asked = {"model": "m", "user": "ana", "messages": [{"role": "user", "content": "And the fair money?"}]}
            clean(await ben.post("/v1/chat/completions", json=asked), private["id"])
            assert hidden(upstream.asked, *SECRET)
            mine = [i["memory"] for i in (await ben.get("/v1/memories", params=WHOSE)).json()["results"]]
            assert mine == [FAIR, "And the fair money?", "Fine."]
            async with home.client(principals=["carl"]) as carl:
                assert len((await carl.get("/v1/memories", params=WHOSE)).json()["results"]) == 1
            async with Client(build(ben, lambda _: ben.headers)) as tools:
                found = await tools.call_tool("search_memories", {"query": "fair money debt", **WHOSE})
                assert FAIR in str(found) and hidden(str(found), *SECRET, private["id"])
                told = await tools.call_tool("get_memory", {"memory_id": private["id"]})
                assert told.is_error and "there is no passage" in str(told)

    with Upstream("Fine.") as upstream:
        play(tmp_path, scene, {"upstream": {"base_url": upstream.url}}, **fakes())
