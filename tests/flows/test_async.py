"""The same verbs behind await."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from seem.async_memory import AsyncMemory
from seem.errors import NotFoundError
from tests.flows.people import NARVA, PLANTED, TARTU, parts, said, texts


def test_the_verbs_from_add_to_reset(tmp_path: Path) -> None:
    async def play() -> None:
        async with AsyncMemory(parts=parts(tmp_path)) as memory:
            told = (await memory.add(said(TARTU, PLANTED), user_id="ana"))["results"]
            assert texts(await memory.get_all(user_id="ana")) == [TARTU, PLANTED]
            assert TARTU in (await memory.answer("Where does Ana live?", user_id="ana"))["answer"]
            assert (await memory.update(told[0]["id"], NARVA))["memory"] == NARVA
            assert [c["event"] for c in await memory.history(told[0]["id"])] == ["ADD", "UPDATE"]
            await memory.delete(told[0]["id"])
            with pytest.raises(NotFoundError):
                await memory.get(told[0]["id"])
            assert await memory.delete_all(user_id="ana") == {"deleted": 1}
            assert (await memory.reset())["deleted"] == 0

    asyncio.run(play())


def test_many_at_once(tmp_path: Path) -> None:
    async def play() -> list[str]:
        async with AsyncMemory(parts=parts(tmp_path)) as memory:
            await asyncio.gather(*(memory.add(f"Ana counts {n} geese", user_id="ana") for n in range(6)))
            found = await asyncio.gather(*(memory.search(f"{n} geese", user_id="ana", top_k=1) for n in range(6)))
            return [texts(one)[0] for one in found]

    assert asyncio.run(play()) == [f"Ana counts {n} geese" for n in range(6)]


def test_from_config_opens_the_configured_store(tmp_path: Path) -> None:
    async def play() -> None:
        memory = AsyncMemory.from_config({"data_dir": str(tmp_path)})
        assert (await memory.get_all(user_id="ana"))["results"] == []
        await memory.close()

    asyncio.run(play())
    assert (tmp_path / "memory.db").exists()
