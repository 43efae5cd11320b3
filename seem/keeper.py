"""The verbs of keeping: forget, retain, promote, audit. ``Memory`` has them beside its own.

Takes plain Python values, gives plain dicts; says which passages a caller means. Knows nothing about models or storage.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from seem.arguments import count
from seem.errors import InputError, NotFoundError
from seem.rights import Principals, principals_of
from seem.scope import Scope, scope
from seem.selection import Selection, moment
from seem.types import Passage
from seem.wiring import Parts

if TYPE_CHECKING:
    from seem.forgetting import Elsewhere
    from seem.pipeline import Pipeline


class Keeper(ABC):
    """What a memory can do with what it keeps."""

    parts: Parts

    @property
    @abstractmethod
    def pipeline(self) -> Pipeline:
        """The stages."""

    @abstractmethod
    def _allowed(
        self, where: Scope, filters: Mapping[str, Any] | None, who: Principals | None = None
    ) -> set[str] | None: ...

    @abstractmethod
    def _passages(self, memory: str, who: Principals | None) -> list[Passage]: ...

    def forget(
        self,
        ids: str | Sequence[str] = (),
        *,
        session: str | None = None,
        speaker: str | None = None,
        before: datetime | str | float | None = None,
        everything: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        principals: Sequence[str] | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> dict[str, Any]:
        """Erase what fits all that is said, and give an erase receipt (see ``seem.receipt``).

        ``ids`` are of passages, or of frames and facts, which stand for all of their passages; ``before`` is when a
        passage was said. All of a memory goes only with ``everything``. ``elsewhere`` erases what the caller keeps.
        """
        which = Selection(session, speaker, moment(before), everything)
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        who = principals_of(principals)
        chosen, whole = self._chosen(ids, which, filters, who, given)
        from seem.receipt import of_passages, receipt_dict

        told = receipt_dict(self.pipeline.forgetting.forget(chosen, whole=whole, elsewhere=elsewhere))
        return told if who is None else of_passages(told)

    def retain(
        self,
        *,
        dry_run: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        elsewhere: Elsewhere | None = None,
        **rules: Any,
    ) -> dict[str, Any]:
        """Erase what the rules let go: those given (``older_than``, ``keep`` …), else the section ``retention``.

        Of one memory if an id is given, else of all. Returns "due" (a number), "rules" (numbers by memory and rule) and
        "receipt"; with ``dry_run`` nothing is erased.
        """
        from seem.keeping import retain
        from seem.retention import rules as chosen

        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        memories = [scope(**given).memory] if any(given.values()) else self.parts.store.memories()
        told = chosen(self.parts.config.retention, rules)
        return retain(self.pipeline, told, memories, dry_run=dry_run, elsewhere=elsewhere)

    def promote(
        self,
        ids: str | Sequence[str] = (),
        *,
        session: str | None = None,
        speaker: str | None = None,
        before: datetime | str | float | None = None,
        everything: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Make frames and facts of passages that were stored raw, chosen as by ``forget``; give "promoted" and "errors"."""
        which = Selection(session, speaker, moment(before), everything)
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        chosen, whole = self._chosen(ids, which, filters, None, given)
        from seem.keeping import promote

        return promote(self.pipeline, chosen | {m: [p.id for p in self._passages(m, None)] for m in whole})

    def audit(
        self,
        *,
        item: str | None = None,
        action: str | None = None,
        actor: str | None = None,
        since: datetime | str | float | None = None,
        until: datetime | str | float | None = None,
        after: int = 0,
        limit: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> dict[str, Any]:
        """Tell who did what to which ids, and when, oldest first: "results" and "next", for ``after``; no content.

        Of one memory if an id is given, else of all, deleted ones included.
        """
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        which: dict[str, Any] = {
            "memory": scope(**given).memory if any(given.values()) else None,
            "item": item,
            "action": action,
        }
        from seem.audit import page

        moments = moment(since, "since"), moment(until, "until")
        return page(self.parts.store, *moments, after=after, limit=count(limit, None) or None, actor=actor, **which)

    def _sources(self, item_id: str, who: Principals | None) -> tuple[str, list[str]]:
        """Give the memory of an item, and the passages that it is or was made of, of those that the caller may read."""
        if who is not None:
            return self.pipeline.access.provenance(item_id, who)
        if item_id.startswith(("f_", "k_")):
            item = self.parts.store.frame(item_id) if item_id.startswith("f_") else self.parts.store.fact(item_id)
            return item.memory, list(item.provenance)
        return self.parts.store.passage(item_id).memory, [item_id]

    def _chosen(
        self,
        ids: str | Sequence[str],
        which: Selection,
        filters: Mapping[str, Any] | None,
        who: Principals | None,
        given: Mapping[str, Any],
    ) -> tuple[dict[str, list[str]], list[str]]:
        """Give the passages that fit all that is said, by memory, and the memories that are meant whole."""
        items = [ids] if isinstance(ids, str) else list(ids)
        if not items and which.empty and not filters:
            raise InputError(
                "say what is meant: ids, session, speaker, before or filters; or everything=True for all of it"
            )
        where = scope(filters, **given) if filters or any(given.values()) or not items else None
        found: dict[str, list[str]] = {}
        for item in items:
            memory, sources = self._sources(item, who)
            if where is not None and memory != where.memory:
                raise NotFoundError(f"there is no {item!r} in the memory {where.memory!r}; nothing was done")
            found[memory] = list(dict.fromkeys([*found.get(memory, []), *sources]))
        allowed = None if where is None else self._allowed(where, filters, who)
        if where is not None and not items:
            if allowed is None and who is None and which == Selection(everything=True):
                return {}, [where.memory]
            found[where.memory] = [p.id for p in self._passages(where.memory, who)]
        chosen = {}
        for memory, inside in found.items():
            known = {p.id: p for p in self._passages(memory, who)}
            fit = which.of(known[i] for i in inside if allowed is None or i in allowed)
            if fit:
                chosen[memory] = fit
        return chosen, []

    def _read(self, memory: str, told: dict[str, Any]) -> dict[str, Any]:
        """Give what was read, noted in the trail where the configuration asks for that."""
        if self.parts.config.audit.reads:
            from seem.audit import shown_ids

            self.parts.store.noted(memory, "read", shown_ids(told))
        return told
