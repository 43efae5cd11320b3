"""``Memory`` for asyncio: the same verbs, each run in a worker thread. Models take one batch at a time either way.

Knows nothing that ``Memory`` does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from seem.arguments import Messages
from seem.config import Config
from seem.memory import Memory
from seem.wiring import Parts


class AsyncMemory:
    """Long-term memory behind ``await``."""

    def __init__(self, config: Config | None = None, *, parts: Parts | None = None) -> None:
        """Open the configured store."""
        self.sync = Memory(config, parts=parts)

    @classmethod
    def from_config(cls, config: Mapping[str, Any] | str | Path) -> Self:
        """Open from a dict of settings or a YAML file."""
        made = cls.__new__(cls)
        made.sync = Memory.from_config(config)
        return made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the database."""
        await asyncio.to_thread(self.sync.close)

    async def add(self, messages: Messages, **options: Any) -> dict[str, Any]:
        """See ``Memory.add``."""
        return await asyncio.to_thread(self.sync.add, messages, **options)

    async def search(self, query: str, **options: Any) -> dict[str, Any]:
        """See ``Memory.search``."""
        return await asyncio.to_thread(self.sync.search, query, **options)

    async def answer(self, question: str, **options: Any) -> dict[str, Any]:
        """See ``Memory.answer``."""
        return await asyncio.to_thread(self.sync.answer, question, **options)

    async def get(self, memory_id: str, **options: Any) -> dict[str, Any]:
        """See ``Memory.get``."""
        return await asyncio.to_thread(self.sync.get, memory_id, **options)

    async def get_all(self, **options: Any) -> dict[str, Any]:
        """See ``Memory.get_all``."""
        return await asyncio.to_thread(self.sync.get_all, **options)

    async def update(self, memory_id: str, text: str | None = None, **options: Any) -> dict[str, Any]:
        """See ``Memory.update``."""
        return await asyncio.to_thread(self.sync.update, memory_id, text, **options)

    async def delete(self, memory_id: str, **options: Any) -> dict[str, Any]:
        """See ``Memory.delete``."""
        return await asyncio.to_thread(self.sync.delete, memory_id, **options)

    async def delete_all(self, **ids: Any) -> dict[str, Any]:
        """See ``Memory.delete_all``."""
        return await asyncio.to_thread(self.sync.delete_all, **ids)

    async def history(self, memory_id: str, **options: Any) -> list[dict[str, Any]]:
        """See ``Memory.history``."""
        return await asyncio.to_thread(self.sync.history, memory_id, **options)

    async def grant(self, passages: str | Sequence[str] = (), **options: Any) -> dict[str, Any]:
        """See ``Memory.grant``."""
        return await asyncio.to_thread(self.sync.grant, passages, **options)

    async def revoke(self, passages: str | Sequence[str] = (), **options: Any) -> dict[str, Any]:
        """See ``Memory.revoke``."""
        return await asyncio.to_thread(self.sync.revoke, passages, **options)

    async def stats(self, **options: Any) -> dict[str, int]:
        """See ``Memory.stats``."""
        return await asyncio.to_thread(self.sync.stats, **options)

    async def show(self, item_id: str, **options: Any) -> dict[str, Any]:
        """See ``Memory.show``."""
        return await asyncio.to_thread(self.sync.show, item_id, **options)

    async def split(self, frame_id: str, passage_ids: Sequence[str], **options: Any) -> dict[str, Any]:
        """See ``Memory.split``."""
        return await asyncio.to_thread(self.sync.split, frame_id, passage_ids, **options)

    async def merge(self, frame_ids: Sequence[str], **options: Any) -> dict[str, Any]:
        """See ``Memory.merge``."""
        return await asyncio.to_thread(self.sync.merge, frame_ids, **options)

    async def reassign(self, passage_id: str, frame_id: str | None = None, **options: Any) -> dict[str, Any]:
        """See ``Memory.reassign``."""
        return await asyncio.to_thread(self.sync.reassign, passage_id, frame_id, **options)

    async def undo(self, item_id: str | None = None, **options: Any) -> dict[str, Any]:
        """See ``Memory.undo``."""
        return await asyncio.to_thread(self.sync.undo, item_id, **options)

    async def forget(self, ids: str | Sequence[str] = (), **options: Any) -> dict[str, Any]:
        """See ``Memory.forget``."""
        return await asyncio.to_thread(self.sync.forget, ids, **options)

    async def retain(self, **options: Any) -> dict[str, Any]:
        """See ``Memory.retain``."""
        return await asyncio.to_thread(self.sync.retain, **options)

    async def promote(self, ids: str | Sequence[str] = (), **options: Any) -> dict[str, Any]:
        """See ``Memory.promote``."""
        return await asyncio.to_thread(self.sync.promote, ids, **options)

    async def audit(self, **options: Any) -> dict[str, Any]:
        """See ``Memory.audit``."""
        return await asyncio.to_thread(self.sync.audit, **options)

    async def reset(self, **options: Any) -> dict[str, Any]:
        """See ``Memory.reset``."""
        return await asyncio.to_thread(self.sync.reset, **options)
