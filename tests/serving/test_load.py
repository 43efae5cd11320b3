"""The load test measures what the server did, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

from serving.load import clear, measure
from tests.serving.house import House
from tests.serving.test_api import play


def test_it_counts_what_was_served_and_what_was_refused(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as client:
            home.service.keys.limit("acme", requests_per_minute=600)
            added = await measure(client, "add", clients=4, seconds=0.5)
            assert added.served > 0 and added.failed == 0
            assert 0 < added.p50_ms <= added.p95_ms <= added.p99_ms
            stored = home.service.tenants._open["acme"].memory.parts.store.stats(None)["passages"]
            assert stored == added.served
            home.service.keys.limit("acme", requests_per_minute=1)
            flooded = await measure(client, "search", clients=2, seconds=0.3)
            assert flooded.refused > 0 and flooded.failed == 0
            home.service.keys.limit("acme", requests_per_minute=1_000_000)
            await clear(client)
            assert home.service.tenants._open["acme"].memory.parts.store.stats(None)["passages"] == 0

    play(tmp_path, scene)
