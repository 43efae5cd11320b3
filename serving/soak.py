"""A mixed load for minutes on end that keeps as much as it deletes, and what the server's memory does meanwhile.

Takes a client and a duration, gives counts and the growth of the server's resident memory, which ``/metrics`` tells. Data
that is kept is bounded, so that what grows is the server. Knows only HTTP.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass

import httpx

# So many passages a client's user gets before all of them are deleted.
KEPT = 50
SAMPLES = 60
_SERIES = {"process_resident_memory_bytes": "memory", "process_open_fds": "files"}


@dataclass(frozen=True, slots=True)
class Soaked:
    """How it went. ``memory_mb`` are the samples, evenly spread; ``growth_mb_per_hour`` is the slope of their second half."""

    clients: int
    minutes: float
    served: int
    refused: int
    failed: int
    memory_mb: tuple[float, ...]
    growth_mb_per_hour: float
    files_first: int
    files_last: int

    def text(self) -> str:
        """Give a sentence or two."""
        first, last = self.memory_mb[0], self.memory_mb[-1]
        return (
            f"{self.served} requests in {self.minutes:g} minutes from {self.clients} clients (an hour at "
            f"{self.served / 3600:.1f} a second), {self.refused} refused, {self.failed} failed\n"
            f"memory {first:.0f} MB at first, {last:.0f} MB at last, {self.growth_mb_per_hour:+.1f} MB an hour over the "
            f"second half; open files {self.files_first} at first, {self.files_last} at last"
        )


async def soak(client: httpx.AsyncClient, *, clients: int, minutes: float) -> Soaked:
    """Let ``clients`` callers add, search, list and delete without pause for ``minutes``, each at least once."""
    counts: Counter[str] = Counter()
    samples: list[tuple[float, dict[str, float]]] = []
    begun, until = time.monotonic(), time.monotonic() + minutes * 60

    async def watch() -> None:
        while time.monotonic() < until:
            samples.append((time.monotonic() - begun, await _told(client)))
            await asyncio.sleep(minutes * 60 / SAMPLES)
        samples.append((time.monotonic() - begun, await _told(client)))

    async def ask(number: int) -> None:
        dice, user, kept, asked = random.Random(number), f"load-soak-{number}", 0, False
        while not asked or time.monotonic() < until:
            asked = True
            adds = dice.random() < 0.3
            try:
                status = (await _ask(client, user, dice, kept, adds)).status_code
            except httpx.HTTPError:
                status = 0
            if status in (200, 202):
                counts["served"] += 1
                kept = 0 if kept >= KEPT else kept + adds
                continue
            counts["refused" if status in (429, 503) else "failed"] += 1
            await asyncio.sleep(0.05)
        await client.delete("/v1/memories", params={"user_id": user})

    await asyncio.gather(watch(), *(ask(number) for number in range(clients)))
    memory = [(at, told["memory"] / 1e6) for at, told in samples]
    return Soaked(
        clients,
        minutes,
        counts["served"],
        counts["refused"],
        counts["failed"],
        tuple(round(mb, 1) for _, mb in memory),
        round(slope(memory[len(memory) // 2 :]) * 3600, 2),
        int(samples[0][1]["files"]),
        int(samples[-1][1]["files"]),
    )


def slope(points: list[tuple[float, float]]) -> float:
    """Give the least-squares slope; 0 for fewer than two points."""
    if len(points) < 2:
        return 0.0
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


async def _ask(client: httpx.AsyncClient, user: str, dice: random.Random, kept: int, adds: bool) -> httpx.Response:
    if kept >= KEPT:
        return await client.delete("/v1/memories", params={"user_id": user})
    if adds:
        text = f"{user} counts {dice.randrange(10**9)} geese at the mill."
        return await client.post("/v1/memories", json={"messages": text, "user_id": user, "wait": dice.random() < 0.5})
    if dice.random() < 0.2:
        return await client.get("/v1/memories", params={"user_id": user, "limit": 20})
    return await client.post("/v1/search", json={"query": "How many geese?", "user_id": user})


async def _told(client: httpx.AsyncClient) -> dict[str, float]:
    text = (await client.get("/metrics")).text
    pairs = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {_SERIES[name]: float(value) for name, value in pairs if name in _SERIES}
