"""A bounded load test against a running server: requests a second and latencies at several numbers of clients.

``python -m serving.load --url http://127.0.0.1:8765 --clients 1,8,32 --seconds 10``; the key comes from SEEM_API_KEY. It
writes into the users ``load-0`` … and deletes them at the end. Refusals (429, 503) are counted apart. Knows only HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

KEY = "SEEM_API_KEY"
USERS = 4
_WHO = ("Ana", "Bo", "Cleo", "Dan", "Edda", "Farid", "Gro", "Hana")
_DID = ("planted a pear tree", "sold the old boat", "joined the choir", "fixed the stove", "moved the bees", "met Ivo")
_WHERE = ("in Tartu", "at the harbour", "behind the school", "on Elm Street", "near the mill", "at the market")


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: how many clients asked what, and how it went; latencies are of what was served, in milliseconds."""

    verb: str
    clients: int
    seconds: float
    served: int
    refused: int
    failed: int
    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


async def measure(client: httpx.AsyncClient, verb: str, *, clients: int, seconds: float) -> Measured:
    """Let ``clients`` callers ask without pause for ``seconds``; ``verb`` is add or search."""
    took: list[float] = []
    counts: Counter[str] = Counter()
    begun = time.monotonic()

    async def ask(number: int) -> None:
        dice = random.Random(f"{verb} {number}")
        while time.monotonic() - begun < seconds:
            at = time.monotonic()
            try:
                status = (await _send(client, verb, dice)).status_code
            except httpx.HTTPError:
                status = 0
            if status in (200, 202):
                took.append((time.monotonic() - at) * 1000)
                continue
            counts["refused" if status in (429, 503) else "failed"] += 1
            # What was told to wait waits a little, else it would only count refusals.
            await asyncio.sleep(0.05)

    await asyncio.gather(*(ask(number) for number in range(clients)))
    spent = time.monotonic() - begun
    took.sort()
    p50, p95, p99 = (round(took[min(len(took) - 1, int(len(took) * q))], 2) if took else 0.0 for q in (0.5, 0.95, 0.99))
    served = len(took)
    rate = round(served / spent, 2)
    return Measured(verb, clients, round(spent, 2), served, counts["refused"], counts["failed"], rate, p50, p95, p99)


async def clear(client: httpx.AsyncClient) -> None:
    """Delete what the test wrote."""
    for number in range(USERS):
        await client.delete("/v1/memories", params={"user_id": f"load-{number}"})


async def _send(client: httpx.AsyncClient, verb: str, dice: random.Random) -> httpx.Response:
    who, did, where = dice.choice(_WHO), dice.choice(_DID), dice.choice(_WHERE)
    user = f"load-{dice.randrange(USERS)}"
    if verb == "search":
        return await client.post("/v1/search", json={"query": f"Where has {who} {did}?", "user_id": user})
    text = f"{who} {did} {where} on day {dice.randrange(10**6)}."
    return await client.post("/v1/memories", json={"messages": text, "user_id": user})


async def _run(url: str, key: str, verbs: list[str], clients: list[int], seconds: float) -> list[Measured]:
    headers = {"Authorization": f"Bearer {key}"}
    limits = httpx.Limits(max_connections=max(clients))
    measured = []
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=120, limits=limits) as client:
        try:
            for verb in verbs:
                for count in clients:
                    measured.append(await measure(client, verb, clients=count, seconds=seconds))
                    print(json.dumps(asdict(measured[-1])), flush=True)
        finally:
            await clear(client)
    return measured


def main() -> int:
    """Measure, print a line a run, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(prog="python -m serving.load", description=f"Bounded load; the key in {KEY}.")
    parser.add_argument("--url", default="http://127.0.0.1:8765")
    parser.add_argument("--clients", default="1,8,32", help="comma-separated")
    parser.add_argument("--verbs", default="add,search", help="comma-separated: add, search")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run, at most 600")
    parser.add_argument("--json", type=Path, help="a file for the figures, with the machine's load")
    given = parser.parse_args()
    key, verbs = os.environ.get(KEY, ""), given.verbs.split(",")
    clients = [int(part) for part in given.clients.split(",")]
    if not key or not set(verbs) <= {"add", "search"} or not 0 < given.seconds <= 600 or max(clients) > 1024:
        parser.error(f"put a key into {KEY}; verbs are add, search; seconds at most 600, clients at most 1024")
    measured = asyncio.run(_run(given.url, key, verbs, clients, given.seconds))
    if given.json:
        told = {"load_average": os.getloadavg(), "cpus": os.cpu_count(), "runs": [asdict(one) for one in measured]}
        given.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0 if all(one.served and not one.failed for one in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
