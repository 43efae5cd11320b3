"""A server process of its own: killed in the middle of writing, ended politely, spoken to over MCP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from seem.memory import Memory
from seem.store.verify import verify
from serving.keys import Keys
from serving.ledger import Ledger, holder
from tests.serving.house import scripted

ROOT = Path(__file__).parents[2]
# Importing torch and its kin takes very long where the machine is busy.
PATIENCE = 1500.0


class Process:
    """A server in a process of its own."""

    def __init__(self, folder: Path, log: Path) -> None:
        command = [sys.executable, "-m", "tests.serving.fake_server", str(folder), "0"]
        self._log = log.open("ab")
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=self._log, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]
        until = time.monotonic() + PATIENCE
        while httpx.get(f"{self.url}/readyz", timeout=60).status_code != 200:
            assert time.monotonic() < until, log.read_text()[-2000:]
            time.sleep(0.5)

    def end(self, sent: signal.Signals) -> int:
        self.process.send_signal(sent)
        status = self.process.wait(PATIENCE)
        self._log.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


@contextmanager
def running(folder: Path) -> Iterator[Process]:
    process = Process(folder, folder.parent / "log.jsonl")
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.end(signal.SIGKILL)


def make_key(folder: Path) -> str:
    ledger = Ledger(folder)
    try:
        keys = Keys(ledger)
        _, key = keys.create("acme")
        keys.limit("acme", requests_per_minute=1_000_000)
        return key
    finally:
        ledger.close()


def write_until_killed(url: str, key: str, writer: int, acknowledged: dict[str, str], stop: threading.Event) -> None:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        for n in range(10_000):
            if stop.is_set():
                return
            text = f"writer {writer} says number {n}"
            body = {"messages": text, "user_id": f"u{writer % 3}", "wait": n % 2 == 0}
            try:
                reply = client.post("/v1/memories", json=body, headers={"Idempotency-Key": f"{writer}-{n}"})
            except httpx.HTTPError:
                return
            if reply.status_code in (200, 202):
                acknowledged[text] = reply.json()["results"][0]["id"]


def under_load(server: Process, key: str, first: int, sent: signal.Signals) -> dict[str, str]:
    """Write from several threads until a signal ends the server; give what was acknowledged: words and passage ids."""
    told: dict[str, str] = {}
    stop = threading.Event()
    numbers = range(first, first + 6)
    writers = [threading.Thread(target=write_until_killed, args=(server.url, key, n, told, stop)) for n in numbers]
    for writer in writers:
        writer.start()
    until = time.monotonic() + 60
    while len(told) < 30 and time.monotonic() < until:
        time.sleep(0.01)
    status = server.end(sent)
    stop.set()
    for writer in writers:
        writer.join()
    assert status == (-signal.SIGKILL if sent is signal.SIGKILL else 0)
    assert len(told) >= 30
    return told


def test_a_killed_server_loses_nothing_it_acknowledged_and_a_polite_end_finishes_all(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    key = make_key(folder)
    with running(folder) as server:
        acknowledged = under_load(server, key, 0, signal.SIGKILL)
    with running(folder) as server:
        asyncio.run(over_mcp(server.url, key))
        os.kill(holder(folder), signal.SIGHUP)
        until = time.monotonic() + 60
        while 'seem_reloads_total{status="done"} 1.0' not in httpx.get(f"{server.url}/metrics").text:
            assert time.monotonic() < until
            time.sleep(0.05)
        acknowledged |= under_load(server, key, 10, signal.SIGTERM)
    with Memory(parts=scripted(folder / "tenants" / "acme")) as memory:
        for text, passage_id in acknowledged.items():
            assert memory.parts.store.passage(passage_id).text == text
        kept = [p.text for name in memory.parts.store.memories() for p in memory.parts.store.passages(name)]
        assert len(kept) == len(set(kept))
        memory.retry()
        assert verify(memory.parts.store, None) == []
        assert memory.parts.store.stats(None)["pending"] == 0
    log = (tmp_path / "log.jsonl").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert any(line["event"] == "adapters taken up" and line["models"] == {} for line in lines)
    assert any(line["event"] == "request" and line["route"] == "/v1/memories" for line in lines)
    assert "says number" not in log and "bees" not in log


async def over_mcp(url: str, key: str) -> None:
    """Speak to the running server as agents do, over HTTP and over stdio."""
    assert httpx.post(f"{url}/mcp", json={}).status_code == 401
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
        async with Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
            await use_tools(client, {"user_id": "bo"})
    command = ["-m", "serving.mcp", "--url", url, "--user-id", "cy"]
    environment = {**os.environ, "SEEM_API_KEY": key}
    async with Client(StdioServerParameters(command=sys.executable, args=command, cwd=ROOT, env=environment)) as client:
        await use_tools(client, {})


async def use_tools(client: Client, user: dict[str, str]) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {"add_memory", "search_memories", "get_memories", "get_memory", "update_memory"} <= set(tools)
    assert {"delete_memory", "delete_all_memories", "list_entities", "get_event_status"} <= set(tools)
    hints = tools["delete_memory"].annotations
    assert hints is not None and hints.destructive_hint
    assert tools["search_memories"].input_schema["required"] == ["query"]
    added = await client.call_tool("add_memory", {"text": "Bo keeps bees", **user})
    assert not added.is_error, added
    found = await client.call_tool("search_memories", {"query": "bees", **user})
    assert (found.structured_content or {})["results"][0]["memory"] == "Bo keeps bees"
    wrong = await client.call_tool("get_memory", {"memory_id": "../../readyz"})
    assert wrong.is_error and "there is no such address" in str(wrong.content[0])
    gone = await client.call_tool("delete_all_memories", user)
    assert (gone.structured_content or {})["deleted"] == 1
