"""The front door: the verbs that users of memory libraries know, over the two arrows of ``seem.pipeline``.

Takes plain Python values, gives plain dicts. Each call names whose memory is meant; a memory item is a passage in its
original words, with the frame and the facts that were made of it. Knows nothing about models or storage.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from seem.arguments import Messages, as_moment, count, drafts_of, question_text, revision
from seem.config import Config
from seem.envelope import (
    added_dict,
    change_dict,
    changes_dict,
    context_dict,
    fact_dict,
    frame_dict,
    frames_dict,
    passage_dict,
)
from seem.errors import InputError, ModelError
from seem.filters import fields, matcher, without_ids
from seem.keeper import Keeper
from seem.rights import Principals, named, principals_of, written
from seem.scope import Scope, scope
from seem.sources.drafts import Problem
from seem.store.batch import Draft
from seem.tiers import placed
from seem.types import Passage
from seem.wiring import Parts

if TYPE_CHECKING:
    from seem.listing import Kind
    from seem.pipeline import Options, Pipeline

MANY = 100_000


class Memory(Keeper):
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
        principals: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Remember messages: a sentence, one message, or a list of {"role", "content", …}, said at ``timestamp``.

        Returns {"results": [one item a message, with "event" ADD, MERGE or NOOP], "problems": [what was left out and
        why]}. Returns after all is durable; a message whose extraction failed is stored, findable, and says so in
        "error". ``infer=False`` stores and indexes only; ``wait=False`` too, but leaves the rest to ``retry``.
        ``readers`` names who may read them: everyone of the memory where none is given, or of what a restricted caller
        (``principals``) adds, that caller.
        """
        where = scope(user_id=user_id, agent_id=agent_id, run_id=run_id)
        drafts, problems = drafts_of(
            messages,
            session=run_id or "",
            timestamp=timestamp,
            readers=readers,
            metadata=dict(metadata or {}),
            infer=infer,
        )
        return self.add_drafts(drafts, where, problems, wait=wait, progress=progress, principals=principals)

    def add_drafts(
        self,
        drafts: Sequence[Draft],
        where: Scope,
        problems: Sequence[Problem] = (),
        *,
        wait: bool = True,
        progress: Callable[[int, int], None] | None = None,
        principals: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Remember drafts made by an importer."""
        who, extra = principals_of(principals), where.metadata()
        owned = [replace(d, metadata={**d.metadata, **extra}, readers=written(d.readers, who)) for d in drafts]
        owned = [placed(draft, self.parts.config.tiers) for draft in owned]
        told = self.pipeline.remember(where.memory, owned, wait=wait, progress=progress, principals=who)
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
        as_of: datetime | str | float | None = None,
        principals: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Find what grounds an answer: "results" (passages, best first), "frames", "facts", and "context" for a reader.

        ``threshold`` drops items below that score; ``expand`` is auto, always or never. No model generates anything
        here. ``as_of`` asks the memory as it was at a moment of the story: what had been said by then, and the facts that
        held then. ``principals`` are the reader's: what they may not read leaves no trace in what is found; ``None`` is the
        owner, who reads all.
        """
        where, who = scope(filters, user_id=user_id, agent_id=agent_id, run_id=run_id), principals_of(principals)
        options = self._options(top_k, limit, expand, context_tokens)
        options = replace(options, threshold=threshold, as_of=as_moment(as_of))
        allowed = self._allowed(where, filters, who)
        context = self.pipeline.recall(where.memory, question_text(query), options, allowed=allowed, principals=who)
        return self._read(where.memory, context_dict(context, explain))

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
        as_of: datetime | str | float | None = None,
        principals: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Answer from memory: "answer" («Not mentioned» where nothing is), "model", and all that ``search`` gives."""
        where, who = scope(filters, user_id=user_id, agent_id=agent_id, run_id=run_id), principals_of(principals)
        reader = self.parts.reader
        if reader is None:
            raise ModelError(
                "no model is configured to answer (answer.engine is none); "
                "set answer.engine to local or endpoint, or use search"
            )
        context = self.pipeline.recall(
            where.memory,
            question_text(question),
            replace(self._options(top_k, None, expand, None), as_of=as_moment(as_of)),
            allowed=self._allowed(where, filters, who),
            principals=who,
        )
        told = {"answer": reader.answer(question, context.text), "model": reader.name, **context_dict(context)}
        return self._read(where.memory, told)

    def get(self, memory_id: str, *, principals: Sequence[str] | None = None) -> dict[str, Any]:
        """Give one passage, frame or fact by its id."""
        who = principals_of(principals)
        if who is not None:
            from seem.listing import item

            with self.pipeline.access.reading(memory_id, who) as state:
                return self._read(state.memory, item(state, memory_id))
        if memory_id.startswith("f_"):
            frame = self.parts.store.frame(memory_id)
            return self._read(frame.memory, frame_dict(frame))
        if memory_id.startswith("k_"):
            fact = self.parts.store.fact(memory_id)
            return self._read(fact.memory, fact_dict(fact))
        passage = self.parts.store.passage(memory_id)
        from seem.listing import whole

        with self.pipeline.states.state(passage.memory) as state:
            return self._read(passage.memory, whole(state, passage))

    def show(self, item_id: str, *, principals: Sequence[str] | None = None) -> dict[str, Any]:
        """Give one passage, frame or fact with its grounds: who said what and when, which version holds, which lost."""
        from seem.show import show

        who = principals_of(principals)
        if who is not None:
            with self.pipeline.access.reading(item_id, who) as state:
                return self._read(state.memory, show(state, item_id))
        with self.pipeline.states.state(self.parts.store.owner(item_id)) as state:
            return self._read(state.memory, show(state, item_id))

    def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        principals: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """List the passages of a memory, in order of arrival."""
        where, who = scope(filters, user_id=user_id, agent_id=agent_id, run_id=run_id), principals_of(principals)
        test = matcher({**where.ids, **without_ids(filters)})
        found = [passage_dict(p) for p in self._passages(where.memory, who) if test(fields(p))]
        return self._read(where.memory, {"results": found[: count(top_k, limit) or None]})

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
        principals: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """List ``limit`` passages, frames or facts, oldest first, that follow ``after``: "next" of the last page."""
        where, who = scope(filters, user_id=user_id, agent_id=agent_id, run_id=run_id), principals_of(principals)
        allowed = self._allowed(where, filters, who)
        from seem.listing import listing

        with self.pipeline.states.state(where.memory, who) as state:
            found, following = listing(state, kind, limit, after, allowed)
        return self._read(where.memory, {"results": found, "next": following})

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        *,
        data: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        principals: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Correct a passage's words (its frame and facts are made anew) or its metadata; ``data`` is ``text``."""
        words, extra = revision(text, data, metadata)
        who = principals_of(principals)
        if who is not None:
            self.pipeline.access.provenance(memory_id, who)
        told = self.pipeline.revise(self.parts.store.passage(memory_id), text=words, metadata=extra, principals=who)
        return {**added_dict(told), "event": "UPDATE"}

    def delete(self, memory_id: str, *, principals: Sequence[str] | None = None) -> dict[str, Any]:
        """Delete a passage, or all passages of a frame or fact, with everything that only they support."""
        memory, ids = self._sources(memory_id, principals_of(principals))
        self.pipeline.forget(memory, ids)
        return {"deleted": ids}

    def delete_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        principals: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Delete all passages that carry the ids given (and that the caller may read); refused where none is given."""
        where, who = scope(user_id=user_id, agent_id=agent_id, run_id=run_id), principals_of(principals)
        allowed = self._allowed(where, None, who)
        if allowed is None and who is not None:
            allowed = {p.id for p in self._passages(where.memory, who)}
        if allowed is None:
            return {"deleted": self.pipeline.reset(where.memory).get("passages", 0)}
        return {"deleted": self.pipeline.forget(where.memory, allowed) if allowed else 0}

    def history(self, memory_id: str, *, principals: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Tell what happened to a passage, frame or fact, oldest first."""
        who = principals_of(principals)
        store = self.parts.store
        entries = store.history(memory_id) if who is None else self.pipeline.access.history(memory_id, who)
        return [change_dict(entry) for entry in entries]

    def split(self, frame_id: str, passage_ids: Sequence[str], *, actor: str = "") -> dict[str, Any]:
        """Move passages of a frame into a frame of their own, for good: no later consolidation joins them again."""
        owner = self.parts.store.frame(frame_id).memory
        return frames_dict(self.pipeline.corrections.split(owner, frame_id, passage_ids, actor=actor))

    def merge(self, frame_ids: Sequence[str], *, actor: str = "") -> dict[str, Any]:
        """Join frames that tell of one occurrence, for good."""
        ids = list(dict.fromkeys(frame_ids))
        owners = {self.parts.store.frame(frame_id).memory for frame_id in ids}
        if len(owners) != 1:
            raise InputError(f"the {len(ids)} frames belong to {len(owners)} memories; merge two or more of one memory")
        return frames_dict(self.pipeline.corrections.merge(owners.pop(), ids, actor=actor))

    def reassign(self, passage_id: str, frame_id: str | None = None, *, actor: str = "") -> dict[str, Any]:
        """Move a passage into another frame, or into one of its own, for good."""
        owner = self.parts.store.passage(passage_id).memory
        return frames_dict(self.pipeline.corrections.reassign(owner, passage_id, frame_id, actor=actor))

    def undo(
        self,
        item_id: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        actor: str = "",
    ) -> dict[str, Any]:
        """Take back the last split, merge or reassign of a frame or passage, else of the memory that the ids name."""
        if item_id is None:
            owner = scope(user_id=user_id, agent_id=agent_id, run_id=run_id).memory
        else:
            owner = self.parts.store.owner(item_id)
        return frames_dict(self.pipeline.corrections.undo(owner, item_id, actor=actor))

    def grant(
        self,
        passages: str | Sequence[str] = (),
        *,
        readers: Sequence[str],
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        actor: str = "",
    ) -> dict[str, Any]:
        """Let ``readers`` (``*``: everyone) read passages too, named by their ids, or by ids and filters of a memory.

        Returns "changed" (the passages), "again" (those that were extracted again, since what had been made of them told
        too much) and "errors" of those among them that still wait. Holds from the next call on.
        """
        where = self._meant(passages, filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        return changes_dict([self.pipeline.access.grant(m, ids, named(readers), actor=actor) for m, ids in where])

    def revoke(
        self,
        passages: str | Sequence[str] = (),
        *,
        readers: Sequence[str],
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        actor: str = "",
    ) -> dict[str, Any]:
        """Take the right to read from ``readers`` (``*``: everyone but the owner); else as ``grant``."""
        where = self._meant(passages, filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        return changes_dict([self.pipeline.access.revoke(m, ids, named(readers), actor=actor) for m, ids in where])

    def stats(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        principals: Sequence[str] | None = None,
    ) -> dict[str, int]:
        """Count what is stored, of one memory if an id is given, else of all; what the reader may read, if one is."""
        ids: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        memory = scope(**ids).memory if any(ids.values()) else None
        who = principals_of(principals)
        if who is None:
            return self.parts.store.stats(memory)
        from seem.listing import counted

        keys = self.pipeline.access.memories(who) if memory is None else [memory]
        total: Counter[str] = Counter() if memory is not None else Counter(memories=len(keys))
        for key in keys:
            with self.pipeline.states.state(key, who) as state:
                total.update(counted(state))
        return dict(total)

    def memories(self, *, principals: Sequence[str] | None = None) -> list[str]:
        """Give the keys of the memories, ``user_id:…``, ``agent_id:…`` or ``run_id:…``, that hold anything to read."""
        who = principals_of(principals)
        return self.parts.store.memories() if who is None else self.pipeline.access.memories(who)

    def reset(self, *, principals: Sequence[str] | None = None) -> dict[str, Any]:
        """Delete every memory in the store, or of each what the caller may read."""
        who = principals_of(principals)
        if who is not None:
            mine = {key: [p.id for p in self._passages(key, who)] for key in self.pipeline.access.memories(who)}
            return {"deleted": sum(self.pipeline.forget(key, ids) for key, ids in mine.items()), "memories": len(mine)}
        names = self.parts.store.memories()
        return {"deleted": self.pipeline.forgetting.forget({}, whole=names).passages, "memories": len(names)}

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
        return Options(count(top_k, limit) or search.top_k, tokens or search.context_tokens, expand or search.expand)

    def _meant(
        self, passages: str | Sequence[str], filters: Mapping[str, Any] | None, **ids: str | None
    ) -> list[tuple[str, list[str]]]:
        """Give the passages meant, by memory: those of the ids given, else all that ids and filters leave of a memory."""
        given = [passages] if isinstance(passages, str) else list(passages)
        if given and (filters or any(ids.values())):
            raise InputError("name the passages by their own ids, or by the memory's ids and filters, not by both")
        if given:
            found: dict[str, list[str]] = {}
            for passage_id in given:
                found.setdefault(self.parts.store.passage(passage_id).memory, []).append(passage_id)
            return list(found.items())
        where = scope(filters, **ids)
        allowed = self._allowed(where, filters)
        inside = [p.id for p in self.parts.store.passages(where.memory)]
        return [(where.memory, [i for i in inside if allowed is None or i in allowed])]

    def _passages(self, memory: str, who: Principals | None) -> list[Passage]:
        """Give the passages of a memory that a reader may read, in order of arrival."""
        if who is None:
            return self.parts.store.passages(memory)
        with self.pipeline.states.state(memory, who) as state:
            return [state.passages[i] for i in state.order]

    def _allowed(
        self, where: Scope, filters: Mapping[str, Any] | None, who: Principals | None = None
    ) -> set[str] | None:
        """Give the passages that the ids and filters leave, or ``None`` where that is all of what the reader may read."""
        narrower = {k: v for k, v in where.ids.items() if f"{k}:{v}" != where.memory} | without_ids(filters)
        if not narrower:
            return None
        test = matcher(narrower)
        with self.pipeline.states.state(where.memory, who) as state:
            return {p.id for p in state.passages.values() if test(fields(p))}
