"""Frames over HTTP: grounds, corrections and their history, a question as of a day; who may not correct."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.flows.people import GROWING, NARVA, PLANTED, TARTU
from tests.serving.house import House, house, say


def test_frames_are_shown_corrected_and_asked_as_of_a_day(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as ana, home.client(principals=["bo"]) as bo:
            first = (await ana.post("/v1/memories", json=say(TARTU, PLANTED))).json()["results"]
            later = say(NARVA, GROWING, timestamp="2024-06-02T10:00+00:00")
            second = (await ana.post("/v1/memories", json=later)).json()["results"]
            frame = second[1]["frame"]["id"]
            shown = (await ana.get(f"/v1/memories/{frame}/grounds")).json()
            assert [v["passage"] for v in shown["versions"][0]["slots"]["participants"]][0] == first[1]["id"]
            body = {"passages": [second[1]["id"]]}
            refused = await bo.post(f"/v1/frames/{frame}/split", json=body)
            assert (refused.status_code, refused.json()["code"]) == (403, "not_the_owner")
            told = (await ana.post(f"/v1/frames/{frame}/split", json=body)).json()["frames"]
            assert [f["passages"] for f in told] == [[first[1]["id"]], [second[1]["id"]]]
            merged = await ana.post("/v1/frames/merge", json={"frames": [f["id"] for f in told]})
            assert [f["id"] for f in merged.json()["frames"]] == [frame]
            undone = await ana.post(f"/v1/memories/{frame}/undo")
            assert len(undone.json()["frames"]) == 2
            moved = await ana.post(f"/v1/passages/{second[1]['id']}/reassign", json={"frame": frame})
            assert len(moved.json()["frames"][0]["passages"]) == 2
            past = (await ana.get(f"/v1/memories/{frame}/history")).json()["results"]
            assert [change["event"] for change in past] == ["ADD", "FUSE", "SPLIT", "MERGE", "UNDO", "REASSIGN"]
            assert past[2]["actor_id"].startswith("key:")
            asked = {"query": "Where does Ana live?", "user_id": "ana", "as_of": "2024-03"}
            found = (await ana.post("/v1/search", json=asked)).json()
            assert {item["memory"] for item in found["results"]} == {TARTU, PLANTED}
            assert [fact["object"] for fact in found["facts"]] == ["Tartu"]
            wrong = await ana.post("/v1/search", json={**asked, "as_of": "soon"})
            assert wrong.status_code == 422 and "as_of" in wrong.json()["detail"]

    async def run() -> None:
        async with house(tmp_path) as opened:
            await scene(opened)

    asyncio.run(run())
