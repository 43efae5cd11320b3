"""``python -m tests.robustness.offline FOLDER``: the whole product on its shipped models, every connection noted.

Serves, adds, asks and forgets through HTTP and the command line; prints the addresses that anything tried to reach.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

TRIED: list[str] = []


def note(event: str, arguments: tuple[Any, ...]) -> None:
    """Note whatever leaves this process for another machine."""
    if event == "socket.getaddrinfo" or (event == "socket.connect" and isinstance(arguments[1], tuple)):
        TRIED.append(f"{event} {arguments[1:] if event == 'socket.connect' else arguments[:2]}")


async def over_http(folder: Path) -> dict[str, Any]:
    import httpx

    from seem.config import Config
    from seem.wiring import Parts
    from serving.app import create_app
    from serving.config import ServeConfig
    from serving.service import Service

    parts = Parts(Config.from_dict({"data_dir": str(folder), "answer": {"engine": "none"}}))
    service = Service(ServeConfig.from_dict({}, parts.config), parts)
    app: Any = create_app(service)
    inner = app
    while not hasattr(inner, "router"):
        inner = inner._app
    async with inner.router.lifespan_context(inner):
        while not service.models.loaded:
            await asyncio.sleep(0.05)
        _, key = service.keys.create("acme")
        bearer = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://house", headers=bearer, timeout=600
        ) as ana:
            told = (
                await ana.post("/v1/memories", json={"messages": "I sold the piano on Saturday.", "user_id": "ana"})
            ).json()
            found = (await ana.post("/v1/search", json={"query": "the piano", "user_id": "ana"})).json()
            gone = (await ana.delete("/v1/memories", params={"user_id": "ana"})).json()
    return {"status": told["results"][0]["status"], "found": len(found["results"]), "deleted": gone["deleted"]}


def by_command(folder: Path) -> list[int]:
    import seem.cli.main as cli

    shared = ["-u", "ana", "--data-dir", str(folder), "--json"]
    verbs = (["add", "Milo fed the goats."], ["search", "goats"], ["delete", "--all", "--yes"])
    return [cli.main([*verb, *shared]) for verb in verbs]


def main(folder: Path) -> None:
    sys.addaudithook(note)
    begun = time.monotonic()
    http = asyncio.run(over_http(folder / "served"))
    statuses = by_command(folder / "cli")
    sys.stderr.write(
        json.dumps({"http": http, "cli": statuses, "tried": TRIED, "seconds": time.monotonic() - begun}) + "\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
