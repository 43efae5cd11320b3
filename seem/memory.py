"""The front door: the verbs that users of memory libraries know, over the two arrows of ``seem.pipeline``.

Takes plain Python values, gives plain dicts. Each call names whose memory is meant; a memory item is a passage in its
original words, with the frame and the facts that were made of it. Knows nothing about models or storage.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from seem.config import Config
from seem.envelope import added_dict, context_dict, fact_dict, frame_dict, passage_dict
from seem.errors import InputError, ModelError
from seem.filters import fields, matcher, without_ids
from seem.scope import IDS, Scope, scope
from seem.sources import chat
from seem.sources.drafts import Problem, storable
from seem.store.batch import Draft
from seem.wiring import Parts

if TYPE_CHECKING:
    from seem.listing import Kind
    from seem.pipeline import Options, Pipeline

MANY = 100_000
Messages = str | Mapping[str, Any] | Sequence[Mapping[str, Any] | str]


class Memory:
    """Long-term memory for agents and people, on local models."""

    def __init__(self, config: Config | None = None, *, parts: Parts | None = None) -> None:
        """Open the configured store; models load when they are first needed. ``parts`` replaces backends."""
        self.parts = parts or Parts(config or Config.load())
        self._pipeline: Pipeline | None = None
        self._opening = threading.Lock()

    @property
    def pipeline(self) -> Pipeline:
        """The stages; they come with torch, which a command that only lists passages should not wait for."""
        with self._opening:
            if self._pipeline is None:
                from seem.pipeline import Pipeline

                self._pipeline = Pipeline(self.parts)
            return self._pipeline

    @classmethod
    def from_config(cls, config: Mapping[str, Any] | str | Path) -> Self:
        """Open from a dict of settings or a YAML file."""
        return cls(Config.from_dict(config) if isinstance(config, Mapping) else Config.load(config))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self.parts.store.close()

    def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: datetime | str | float | None = None,
        infer: bool = True,
        readers: Sequence[str] = (),
        wait: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[str, Any]:
        """Remember messages: a sentence, one message, or a list of {"role", "content", …}, said at ``timestamp``.

        Returns {"results": [one item a message, with "event" ADD, MERGE or NOOP], "problems": [what was left out and
        why]}. Returns after all is durable; a message whose extraction failed is stored, findable, and says so in
        "error". ``infer=False`` stores and indexes only; ``wait=False`` too, but leaves the rest to ``retry``.
        """
        where = scope(user_id=user_id, agent_id=agent_id, run_id=run_id)
        problems: list[Problem] = []
        extra = dict(metadata or {})
        drafts = list(
            chat.read(
                messages,
                problems,
                session=run_id or "",
                timestamp=timestamp,
                readers=readers,
                metadata=extra,
                infer=infer,
            )
        )
        if not drafts:
            raise InputError(
                f"there is nothing to remember: {problems[0].why}"
                if problems
                else "there is nothing to remember: no message was given"
            )
        return self.add_drafts(drafts, where, problems, wait=wait, progress=progress)

    def add_drafts(
        self,
        drafts: Sequence[Draft],
        where: Scope,
        problems: Sequence[Problem] = (),
        *,
        wait: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[str, Any]:
        """Remember drafts made by an importer."""
        owned = [replace(draft, metadata={**draft.metadata, **where.metadata()}) for draft in drafts]
        told = self.pipeline.remember(where.memory, owned, wait=wait, progress=progress)
        return {
            "results": [added_dict(t) for t in told],
            "problems": [{"line": p.line, "why": p.why} for p in problems],
        }

    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        filters: Mapping[str, Any] | None = None,
        threshold: float = 0.0,
        explain: bool = False,
        expand: str | None = None,
        context_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Find what grounds an answer: "results" (passages, best first), "frames", "facts", and "context" for a reader.

        ``threshold`` drops items below that score; ``expand`` is auto, always or never. No model generates anything
        here.
        """
        where = scope(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        options = replace(self._options(top_k, limit, expand, context_tokens), threshold=threshold)
        context = self.pipeline.recall(where.memory, _question(query), options, allowed=self._allowed(where, filters))
        return context_dict(context, explain)

    def answer(
        self,
        question: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        top_k: int | None = None,
        filters: Mapping[str, Any] | None = None,
        expand: str | None = None,
    ) -> dict[str, Any]:
        """Answer from memory: "answer" («Not mentioned» where nothing is), "model", and all that ``search`` gives."""
        where = scope(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        reader = self.parts.reader
        if reader is None:
            raise ModelError(
                "no model is configured to answer (answer.engine is none); "
                "set answer.engine to local or endpoint, or use search"
            )
        context = self.pipeline.recall(
            where.memory,
            _question(question),
            self._options(top_k, None, expand, None),
            allowed=self._allowed(where, filters),
        )
        return {"answer": reader.answer(question, context.text), "model": reader.name, **context_dict(context)}

    def get(self, memory_id: str) -> dict[str, Any]:
        """Give one passage, frame or fact by its id."""
        if memory_id.startswith("f_"):
            return frame_dict(self.parts.store.frame(memory_id))
        if memory_id.startswith("k_"):
            return fact_dict(self.parts.store.fact(memory_id))
        passage = self.parts.store.passage(memory_id)
        with self.pipeline.states.state(passage.memory) as state:
            frame_id = state.frame_of.get(passage.id)
            frame = frame_dict(state.frames[frame_id]) if frame_id else None
            facts = [fact_dict(state.facts[i]) for i in sorted(state.facts_of.get(passage.id, ()))]
        return {**passage_dict(passage), "frame": frame, "facts": facts}

    def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        limit: int | None = None,
    ) -> dict[str, Any]:
        """List the passages of a memory, in order of arrival."""
        where = scope(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        test = matcher({**where.ids, **without_ids(filters)})
        found = [passage_dict(p) for p in self.parts.store.passages(where.memory) if test(fields(p))]
        return {"results": found[: _count(top_k, limit) or None]}

    def page(
        self,
        kind: Kind,
        limit: int,
        after: str = "",
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """List ``limit`` passages, frames or facts, oldest first, that follow ``after``: "next" of the last page."""
        where = scope(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        allowed = self._allowed(where, filters)
        from seem.listing import listing

        with self.pipeline.states.state(where.memory) as state:
            found, following = listing(state, kind, limit, after, allowed)
        return {"results": found, "next": following}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        *,
        data: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Correct a passage's words (its frame and facts are made anew) or its metadata; ``data`` is ``text``."""
        words = text if text is not None else data
        if words is None and metadata is None:
            raise InputError("nothing to update: give text or metadata")
        if words is not None and (not isinstance(words, str) or not words.strip()):
            raise InputError("the new text is empty or no text; use delete to remove a passage")
        fixed = sorted(set(metadata or {}) & set(IDS))
        if fixed:
            raise InputError(
                f"{fixed[0]} says whose memory it is and cannot be changed by update; "
                "add the passage to the other memory instead"
            )
        passage = self.parts.store.passage(memory_id)
        told = self.pipeline.revise(
            passage, text=None if words is None else storable(words), metadata=storable(metadata or {})
        )
        return {**added_dict(told), "event": "UPDATE"}

    def delete(self, memory_id: str) -> dict[str, Any]:
        """Delete a passage, or all passages of a frame or fact, with everything that only they support."""
        if memory_id.startswith(("f_", "k_")):
            item = self.parts.store.frame(memory_id) if memory_id.startswith("f_") else self.parts.store.fact(memory_id)
            memory, ids = item.memory, list(item.provenance)
        else:
            memory, ids = self.parts.store.passage(memory_id).memory, [memory_id]
        self.pipeline.forget(memory, ids)
        return {"deleted": ids}

    def delete_all(
        self, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, Any]:
        """Delete all passages that carry the ids given; refused where none is given."""
        where = scope(user_id=user_id, agent_id=agent_id, run_id=run_id)
        allowed = self._allowed(where, None)
        if allowed is None:
            return {"deleted": self.pipeline.reset(where.memory).get("passages", 0)}
        return {"deleted": self.pipeline.forget(where.memory, allowed) if allowed else 0}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Tell what happened to a passage, frame or fact, oldest first."""
        return [
            {
                "memory_id": e.change.item_id,
                "event": e.change.event,
                "old_memory": e.change.old,
                "new_memory": e.change.new,
                "actor_id": e.change.actor or None,
                "created_at": e.at.isoformat(),
                "is_deleted": e.change.event == "DELETE",
            }
            for e in self.parts.store.history(memory_id)
        ]

    def reset(self) -> dict[str, Any]:
        """Delete every memory in the store."""
        names = self.parts.store.memories()
        return {"deleted": sum(self.pipeline.reset(name).get("passages", 0) for name in names), "memories": len(names)}

    def retry(self) -> dict[str, Any]:
        """Run the models over passages whose extraction is still queued (a crash, a missing model)."""
        waiting = len(self.parts.store.pending(None, MANY))
        errors = self.pipeline.retry(limit=MANY)
        # Without an extractor nothing fails, and nothing is done either.
        left = waiting if self.parts.extractor is None else len(errors)
        return {"done": waiting - left, "failed": errors}

    def reindex(self) -> dict[str, Any]:
        """Make every vector of every memory anew, with the configured encoder."""
        names = self.parts.store.memories()
        return {"vectors": sum(self.pipeline.reindex(name) for name in names), "memories": len(names)}

    def reload_models(self) -> dict[str, str]:
        """Take up the adapters that now lie where the configuration names them, without a restart; give what serves.

        A call under way ends with the models that it began with; every later one uses the new ones, and what they
        extract carries their version. Raises ModelError where one does not fit: then all is as before.
        """
        return self.parts.reload()

    def _options(self, top_k: int | None, limit: int | None, expand: str | None, tokens: int | None) -> Options:
        from seem.pipeline import Options

        search = self.parts.config.search
        if expand not in (None, "auto", "always", "never"):
            raise InputError(f"expand must be auto, always or never, not {expand!r}")
        return Options(_count(top_k, limit) or search.top_k, tokens or search.context_tokens, expand or search.expand)

    def _allowed(self, where: Scope, filters: Mapping[str, Any] | None) -> set[str] | None:
        """Give the passages that the ids and filters leave, or ``None`` where that is all of the memory."""
        narrower = {k: v for k, v in where.ids.items() if f"{k}:{v}" != where.memory} | without_ids(filters)
        if not narrower:
            return None
        test = matcher(narrower)
        with self.pipeline.states.state(where.memory) as state:
            return {p.id for p in state.passages.values() if test(fields(p))}


def _question(query: str) -> str:
    if not isinstance(query, str) or not query.strip():
        raise InputError("the question is empty; ask something")
    return query.encode("utf-8", "replace").decode("utf-8")


def _count(top_k: int | None, limit: int | None) -> int:
    if top_k is not None and limit is not None and top_k != limit:
        raise InputError(f"top_k={top_k} and limit={limit} mean the same thing; give one")
    chosen = top_k if top_k is not None else limit
    if chosen is not None and chosen < 1:
        raise InputError(f"top_k must be at least 1, not {chosen}")
    return chosen or 0
