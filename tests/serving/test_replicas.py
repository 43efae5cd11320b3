"""Two server processes over one PostgreSQL: what one writes or deletes, the other knows at its next call."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from seem.memory import Memory
from seem.store.verify import verify
from serving.keys import Keys
from serving.ledger import Ledger
from tests.flows.people import CODE, GROWING, MARK, NARVA, PAINTED, PLANTED, TARTU, parts
from tests.postgres import Cluster
from tests.serving.house import say

ROOT = Path(__file__).parents[2]
# Importing torch and its kin takes very long where the machine is busy.
PATIENCE = 1500.0


@contextmanager
def replicas(folder: Path, url: str) -> Iterator[list[httpx.Client]]:
    """Give clients of two servers that know the same key."""
    first, second = folder / "first", folder / "second"
    ledger = Ledger(first)
    keys = Keys(ledger)
    _, key = keys.create("acme")
    keys.limit("acme", requests_per_minute=1_000_000)
    ledger.close()
    second.mkdir()
    for file in first.glob("serving.db*"):
        shutil.copy(file, second)
    with (folder / "log").open("w") as log:
        command = [sys.executable, "-m", "tests.serving.fake_replica"]
        processes = [
            subprocess.Popen([*command, str(home), url], cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
            for home in (first, second)
        ]
        try:
            yield [_client(process, key, folder / "log") for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
                assert process.stdout is not None
                process.stdout.close()


def _client(process: subprocess.Popen[str], key: str, log: Path) -> httpx.Client:
    assert process.stdout is not None
    told = process.stdout.readline().split()
    assert told, log.read_text()[-2000:]
    url = told[-1]
    until = time.monotonic() + PATIENCE
    while httpx.get(f"{url}/readyz", timeout=60).status_code != 200:
        assert time.monotonic() < until, log.read_text()[-2000:]
        time.sleep(0.2)
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120)


def found(client: httpx.Client, query: str) -> list[str]:
    reply = client.post("/v1/search", json={"query": query, "user_id": "ana"})
    assert reply.status_code == 200, reply.text
    return [item["memory"] for item in reply.json()["results"]]


def added(client: httpx.Client, *texts: str) -> list[dict[str, Any]]:
    reply = client.post("/v1/memories", json=say(*texts))
    assert reply.status_code == 200, reply.text
    told: list[dict[str, Any]] = reply.json()["results"]
    return told


def test_two_servers_over_one_database(tmp_path: Path, cluster: Cluster) -> None:
    url = cluster.url("seem_{tenant}")
    with replicas(tmp_path, url) as (one, other):
        assert found(other, "Where does Ana live?") == []
        added(one, TARTU, CODE)
        # The other holds this memory as it was, and notices.
        assert set(found(other, "Where does Ana live?")) == {TARTU, CODE}
        [repainted] = added(other, PAINTED)
        assert repainted["event"] == "MERGE", "the frame that one made is where the other's passage belongs"
        assert PAINTED in found(one, "What did I repaint?")

        [secret] = [
            i for i in one.get("/v1/memories", params={"user_id": "ana"}).json()["results"] if MARK in i["memory"]
        ]
        assert one.delete(f"/v1/memories/{secret['id']}").status_code == 200
        assert set(found(other, "door code")) == {TARTU, PAINTED}
        assert other.get(f"/v1/memories/{secret['id']}").status_code == 404
        told = other.post("/v1/search", json={"query": "door code", "user_id": "ana"}).text
        assert MARK not in told

        # Both at once: every write lands, each frame is told of all of its passages.
        with ThreadPoolExecutor(6) as pool:
            written = [f"I saw bird number {n}" for n in range(24)] + [PLANTED, GROWING, NARVA]
            list(pool.map(lambda n: added((one, other)[n % 2], written[n]), range(len(written))))
        pages = [
            [
                item["memory"]
                for item in client.get("/v1/memories", params={"user_id": "ana", "limit": 100}).json()["results"]
            ]
            for client in (one, other)
        ]
        assert pages[0] == pages[1]
        assert sorted(pages[0]) == sorted([TARTU, PAINTED, *written])
        for client in (one, other):
            client.close()
    assert cluster.residue(MARK) == []
    with Memory(parts=parts(tmp_path, store={"url": url.replace("{tenant}", "acme")})) as memory:
        assert verify(memory.parts.store, None) == []
        assert memory.parts.store.stats(None)["pending"] == 0
