"""Rights: what a restricted reader finds under an id, and who may read which passage from now on.

Takes the parts, the loaded states and the digestion of passages. An id that a reader may not know is met as one that
does not exist, word for word. A change of rights is one transaction and holds from the next call on; what an extractor
said of a passage, having been shown others that its readers may no longer read, is taken back and extracted again.
Knows nothing about questions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

import sqlalchemy as sa

from seem.errors import InputError, NotFoundError
from seem.rights import APART, Principals, Readers, covers, granted, may_read, revoked
from seem.state import State
from seem.states import States
from seem.store import schema as t
from seem.store.batch import Change, Draft, WriteBatch
from seem.store.reader import HistoryEntry
from seem.types import Extraction, Frame, Passage, StoredFact
from seem.wiring import Parts
from seem.write.fold import fold
from seem.write.forget import taken_back
from seem.write.summary import fact_sentence

Digest = Callable[[str, Sequence[Passage]], dict[str, str]]
Store = Callable[[str, Sequence[Draft]], list[tuple[Passage, bool]]]
Stored = list[tuple[Passage, bool]]
_KINDS = {"f_": "frame", "k_": "fact"}


@dataclass(frozen=True, slots=True)
class Changed:
    """The passages whose readers changed, those that were extracted again, and the errors of those that still wait."""

    passages: tuple[str, ...]
    again: tuple[str, ...]
    errors: Mapping[str, str]


class Access:
    """The rights over every memory of one store."""

    def __init__(self, parts: Parts, states: States, digest: Digest) -> None:
        """``digest`` runs the models over stored passages and gives the error of each that failed."""
        self._parts = parts
        self._states = states
        self._digest = digest

    # ── what a restricted reader finds ────────────────────────────────────────────────────────────────────────────────

    def memory_of(self, item_id: str) -> str:
        """Give the memory in which a restricted reader's passage, frame or fact stands; raise NotFoundError."""
        source = f"p_{item_id[2:].partition('_')[0]}" if item_id[:2] in _KINDS else item_id
        try:
            return self._parts.store.passage(source).memory
        except NotFoundError:
            raise missing(item_id) from None

    @contextmanager
    def reading(self, item_id: str, principals: Principals) -> Iterator[State]:
        """Give the reader's state, in which the item stands; raise NotFoundError where it does not."""
        with self._states.state(self.memory_of(item_id), principals) as state:
            if item_id not in state.passages and item_id not in state.frames and item_id not in state.facts:
                raise missing(item_id)
            yield state

    def provenance(self, item_id: str, principals: Principals) -> tuple[str, list[str]]:
        """Give the memory of an item, and those of its passages that the reader may read."""
        with self.reading(item_id, principals) as state:
            item = state.frames.get(item_id) or state.facts.get(item_id)
            return state.memory, list(item.provenance) if item else [item_id]

    def history(self, item_id: str, principals: Principals) -> list[HistoryEntry]:
        """Tell what happened to an item, oldest first; nothing where the reader may not read it.

        Of a passage that is what was recorded of its words, of a frame or fact what its readable passages add up to.
        """
        try:
            with self.reading(item_id, principals) as state:
                if item_id in state.frames:
                    return list(_grown(state, state.frames[item_id]))
                if item_id in state.facts:
                    return _closed(state, state.facts[item_id])
        except NotFoundError:
            return []
        entries = self._parts.store.history(item_id)
        return [entry for entry in entries if entry.change.event in ("ADD", "UPDATE")]

    def memories(self, principals: Principals) -> list[str]:
        """Give the keys of the memories that hold a passage which the reader may read, sorted."""
        p = t.passages.c
        with self._parts.store.reading() as connection:
            rows = connection.execute(sa.select(p.memory, p.readers).distinct()).all()
        return sorted({row.memory for row in rows if may_read(tuple(json.loads(row.readers)), principals)})

    def apart(
        self, memory: str, drafts: Sequence[Draft], stored: Stored, principals: Principals, store: Store
    ) -> Stored:
        """Store anew what is known only from passages that the writer may not read: to him it is new."""
        told, known = list(stored), list(drafts)
        for attempt in range(1, len(drafts) + 100):
            hidden = [n for n, (p, created) in enumerate(told) if not created and not may_read(p.readers, principals)]
            if not hidden:
                return told
            for n in hidden:
                mark = f"{APART}{' '.join(sorted(principals))}{APART}{attempt}"
                known[n] = replace(known[n], key=known[n].key.partition(APART)[0] + mark)
            for n, result in zip(hidden, store(memory, [known[n] for n in hidden]), strict=True):
                told[n] = result
        raise InputError("the ids of these messages are taken; give the messages other ids")

    # ── who may read from now on ──────────────────────────────────────────────────────────────────────────────────────

    def grant(self, memory: str, passage_ids: Collection[str], who: Readers, *, actor: str = "") -> Changed:
        """Let ``who`` read the passages too."""
        return self._change(memory, passage_ids, "GRANT", who, actor)

    def revoke(self, memory: str, passage_ids: Collection[str], who: Readers, *, actor: str = "") -> Changed:
        """Let ``who`` read the passages no more; with the last reader gone, the owner alone may."""
        return self._change(memory, passage_ids, "REVOKE", who, actor)

    def _change(
        self,
        memory: str,
        passage_ids: Collection[str],
        event: Literal["GRANT", "REVOKE"],
        who: Readers,
        actor: str,
    ) -> Changed:
        rule = granted if event == "GRANT" else revoked
        new: dict[str, Readers] = {}
        again: list[str] = []

        def batch(state: State) -> WriteBatch:
            for passage_id in passage_ids:
                if passage_id not in state.passages:
                    raise missing(passage_id)
            after = {i: _changed(state.passages[i], rule, who) for i in dict.fromkeys(passage_ids)}
            new.clear()
            new.update({i: readers for i, readers in after.items() if readers != state.passages[i].readers})
            again[:] = _overtold(state, new)
            undone = taken_back(state, again, self._parts.encoder, self._parts.fuser)
            names = ", ".join(who)
            old, given = (names, None) if event == "REVOKE" else (None, names)
            return replace(
                undone,
                remove_passages=(),
                remove_extractions=again,
                again=again,
                readers=new,
                history=[Change(i, event, old, given, actor) for i in new],
            )

        self._states.commit(memory, batch)
        with self._states.state(memory) as state:
            waiting = [state.passages[i] for i in again if i in state.passages]
        return Changed(tuple(new), tuple(again), self._digest(memory, waiting) if waiting else {})


def missing(item_id: str) -> NotFoundError:
    """Give the error of an id that names nothing, as the store says it."""
    return NotFoundError(f"there is no {_KINDS.get(item_id[:2], 'passage')} {item_id!r}; it may have been deleted")


def _changed(passage: Passage, rule: Callable[[Readers, Readers], Readers], who: Readers) -> Readers:
    try:
        return rule(passage.readers, who)
    except InputError as error:
        raise InputError(f"{passage.id}: {error}; nothing was changed") from None


def _overtold(state: State, new: Mapping[str, Readers]) -> list[str]:
    """Give the passages whose extraction may tell of what not all of their readers may read from now on."""
    after = {i: new.get(i, p.readers) for i, p in state.passages.items()}
    foreign = _Foreign(state, after)
    places = {passage_id: n for n, passage_id in enumerate(state.order)}
    found = []
    for passage_id, extraction in state.extractions.items():
        readers, at = after[passage_id], places[passage_id]
        # Of an old extraction it was not written down: what it was shown were the two passages before, of any readers.
        shown = extraction.shown if extraction.shown is not None else state.order[max(0, at - 2) : at]
        seen = [state.passages[i] for i in (passage_id, *shown) if i in state.passages]
        strangers = foreign.to(readers)
        told = _told(extraction) if strangers else ""
        overtold = any(name in told and not any(name in _words(p) for p in seen) for name in strangers)
        if overtold or not all(covers(after[p.id], readers) for p in seen):
            found.append(passage_id)
    return found


class _Foreign:
    """The speakers that not everyone knows."""

    def __init__(self, state: State, after: Mapping[str, Readers]) -> None:
        self._heard: dict[str, set[Readers]] = {}
        for passage_id, passage in state.passages.items():
            self._heard.setdefault(passage.speaker, set()).add(after[passage_id])
        self._known: dict[Readers, list[str]] = {}

    def to(self, readers: Readers) -> list[str]:
        """Give the names of those whom not all of ``readers`` may read, in small letters."""
        if readers not in self._known:
            told = (s for s, heard in self._heard.items() if s and not any(covers(by, readers) for by in heard))
            self._known[readers] = [name.casefold() for name in told]
        return self._known[readers]


def _told(extraction: Extraction) -> str:
    return " ".join([extraction.summary, repr(extraction.events), repr(extraction.facts)]).casefold()


def _words(passage: Passage) -> str:
    return f"{passage.speaker} {passage.text} {passage.image}".casefold()


def _grown(state: State, frame: Frame) -> Iterator[HistoryEntry]:
    """Tell how a frame came together, one passage after the other."""
    ids = frame.provenance
    members = [(state.passages[p], state.extractions[p]) for p in ids]
    old: str | None = None
    for n, (passage, _) in enumerate(members, 1):
        new = frame.summary if n == len(members) else fold(frame.id, frame.memory, members[:n]).summary
        change = Change(frame.id, "ADD" if n == 1 else "FUSE", old, new)
        yield HistoryEntry(frame.memory, _at(passage), change, before=ids[: n - 1], after=ids[:n])
        old = new


def _closed(state: State, fact: StoredFact) -> list[HistoryEntry]:
    """Tell by what a fact was closed."""
    if fact.superseded_by is None:
        return []
    by = state.facts[fact.superseded_by]
    change = Change(fact.id, "SUPERSEDE", fact_sentence(fact.fact), fact_sentence(by.fact), new_of=by.id)
    ended = _at(state.passages[by.provenance[0]])
    before = tuple(p for p in fact.provenance if _at(state.passages[p]) <= ended)
    return [HistoryEntry(fact.memory, fact.expired_at or ended, change, before=before, after=by.provenance[:1])]


def _at(passage: Passage) -> datetime:
    """Give when a passage arrived, which the store always knows."""
    if passage.created_at is None:
        raise NotFoundError(f"the passage {passage.id!r} has no moment of arrival; run `seem verify`")
    return passage.created_at
