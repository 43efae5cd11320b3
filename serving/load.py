"""A bounded load test against a running server: requests a second and latencies, or with ``--minutes`` a soak.

``python -m serving.load --url http://127.0.0.1:8765 --clients 1,8,32 --seconds 10``; the key comes from SEEM_API_KEY. It
writes into the users ``load-…`` and deletes them at the end. Refusals (429, 503) are counted apart. Knows only HTTP;
``serving.trial`` starts servers for it.
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
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from serving.soak import Soaked, soak

KEY = "SEEM_API_KEY"
USERS = 4
# What is asked: an add that waits for its extraction, one that does not, a search.
VERBS = ("add", "store", "search")
_FILLED_AT_ONCE = 100
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
    """Let ``clients`` callers ask without pause for ``seconds``, each at least once; ``verb`` is one of ``VERBS``."""
    took: list[float] = []
    counts: Counter[str] = Counter()
    begun = time.monotonic()

    async def ask(number: int) -> None:
        dice, asked = random.Random(f"{verb} {number}"), False
        while not asked or time.monotonic() - begun < seconds:
            asked = True
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


async def fill(client: httpx.AsyncClient, passages: int) -> None:
    """Store that many passages over the users, without extraction, so that a search has something to look through."""
    dice = random.Random("fill")
    for start in range(0, passages, _FILLED_AT_ONCE):
        texts = [sentence(dice) for _ in range(min(_FILLED_AT_ONCE, passages - start))]
        body = {"messages": texts, "user_id": f"load-{start // _FILLED_AT_ONCE % USERS}", "infer": False}
        (await client.post("/v1/memories", json=body)).raise_for_status()


async def clear(client: httpx.AsyncClient) -> None:
    """Delete what the test wrote."""
    for number in range(USERS):
        await client.delete("/v1/memories", params={"user_id": f"load-{number}"})


def sentence(dice: random.Random) -> str:
    """Give something that somebody did somewhere, hardly ever twice the same."""
    return f"{dice.choice(_WHO)} {dice.choice(_DID)} {dice.choice(_WHERE)} on day {dice.randrange(10**6)}."


def table(runs: Sequence[Measured], title: str = "") -> str:
    """Give the runs as a Markdown table."""
    head = "| verb | clients | requests/s | p50 ms | p95 ms | p99 ms | refused | failed |\n|---|--:|--:|--:|--:|--:|--:|--:|"
    rows = [
        f"| {r.verb} | {r.clients} | {r.per_second} | {r.p50_ms} | {r.p95_ms} | {r.p99_ms} | {r.refused} | {r.failed} |"
        for r in runs
    ]
    return "\n".join([*([f"**{title}**", ""] if title else []), head, *rows])


async def run(url: str, key: str, verbs: list[str], clients: list[int], seconds: float, filled: int) -> list[Measured]:
    """Measure every verb at every number of clients."""
    async with caller(url, key, max(clients)) as client:
        try:
            await fill(client, filled)
            return [await measure(client, verb, clients=n, seconds=seconds) for verb in verbs for n in clients]
        finally:
            await clear(client)


def caller(url: str, key: str, connections: int) -> httpx.AsyncClient:
    """Give a client with that many connections."""
    limits = httpx.Limits(max_connections=connections)
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=300, limits=limits)


def machine() -> dict[str, object]:
    """Give what figures of a machine mean nothing without."""
    threads = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY")}
    return {"load_average": os.getloadavg(), "cpus": os.cpu_count(), **threads}


async def _send(client: httpx.AsyncClient, verb: str, dice: random.Random) -> httpx.Response:
    user = f"load-{dice.randrange(USERS)}"
    if verb == "search":
        query = f"Where has {dice.choice(_WHO)} {dice.choice(_DID)}?"
        return await client.post("/v1/search", json={"query": query, "user_id": user})
    body = {"messages": sentence(dice), "user_id": user, "wait": verb == "add"}
    return await client.post("/v1/memories", json=body)


async def _soaked(url: str, key: str, clients: int, minutes: float) -> Soaked:
    async with caller(url, key, clients + 1) as client:
        return await soak(client, clients=clients, minutes=minutes)


def main() -> int:
    """Measure, print a table, and write JSON where asked."""
    parser = argparse.ArgumentParser(prog="python -m serving.load", description=f"Bounded load; the key in {KEY}.")
    parser.add_argument("--url", default="http://127.0.0.1:8765")
    parser.add_argument("--clients", default="1,8,32", help="comma-separated; a soak takes the last")
    parser.add_argument("--verbs", default="add,search", help=f"comma-separated: {', '.join(VERBS)}")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run, at most 600")
    parser.add_argument("--fill", type=int, default=0, help="passages stored before, without extraction")
    parser.add_argument("--minutes", type=float, default=0.0, help="soak for so long instead, at most 120")
    parser.add_argument("--json", type=Path, help="a file for the figures, with the machine's load")
    given = parser.parse_args()
    key, verbs = os.environ.get(KEY, ""), given.verbs.split(",")
    clients = [int(part) for part in given.clients.split(",")]
    if not key or not set(verbs) <= set(VERBS) or not 0 < given.seconds <= 600 or max(clients) > 1024:
        parser.error(f"put a key into {KEY}; verbs are {', '.join(VERBS)}; seconds at most 600, clients at most 1024")
    if not 0 <= given.minutes <= 120:
        parser.error("a soak takes at most 120 minutes")
    told: dict[str, object] = {"machine": machine()}
    if given.minutes:
        soaked = asyncio.run(_soaked(given.url, key, clients[-1], given.minutes))
        told["soak"] = asdict(soaked)
        print(soaked.text())
        good = soaked.served > 0 and not soaked.failed
    else:
        measured = asyncio.run(run(given.url, key, verbs, clients, given.seconds, given.fill))
        told["runs"] = [asdict(one) for one in measured]
        print(table(measured))
        good = all(one.served and not one.failed for one in measured)
    if given.json:
        given.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
