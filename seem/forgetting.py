"""The erasing: passages go with all that only they support, the files are cleaned, searched, and a receipt is given.

Takes the parts, the loaded states and the digestion of passages. What was extracted of other passages with words that only
the forgotten ones had shown is taken back too, and extracted again once all is clean. Knows nothing about how passages
are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from seem.errors import NotFoundError
from seem.state import State
from seem.states import States
from seem.store.batch import Change, WriteBatch
from seem.store.erasure import Erased, Seen
from seem.store.ledger import ACTOR
from seem.types import Passage
from seem.wiring import Parts
from seem.write.forget import borrowing, taken_back

Digest = Callable[[str, Sequence[Passage]], dict[str, str]]
# Told the texts before they go; erases what the caller keeps of them elsewhere, and names its files to be searched too.
Elsewhere = Callable[[Erased], Sequence[Path]]
Ids = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Gone:
    """What went from one memory, what was folded again from the rest, and which passages were extracted again.

    ``removed`` and ``refolded`` hold ids by kind; ``counts`` numbers what has no ids of its own.
    """

    memory: str
    removed: Ids
    refolded: Ids = field(default_factory=dict)
    again: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erasure did and what the search of the files then saw; ids and numbers only.

    ``errors`` are those of passages whose extraction, taken back, could not be made again: they wait.
    """

    at: datetime
    actor: str
    gone: tuple[Gone, ...]
    seen: Seen
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def passages(self) -> int:
        """The number of passages that went."""
        return sum(len(gone.removed["passages"]) for gone in self.gone)


class Forgetting:
    """What erases, over every memory of one store."""

    def __init__(self, parts: Parts, states: States, digest: Digest) -> None:
        """``digest`` runs the models over stored passages and gives the error of each that failed."""
        self._parts = parts
        self._states = states
        self._digest = digest

    def forget(
        self,
        passages: Mapping[str, Collection[str]],
        *,
        whole: Collection[str] = (),
        actor: str = "",
        elsewhere: Elsewhere | None = None,
    ) -> Receipt:
        """Erase passages, by memory, and ``whole`` memories; nothing at all where one of the passages is not there.

        Each memory is one transaction; a crash before the files are clean is made good when the store is opened again.
        Raise StoreError where another reader keeps them from being cleaned.
        """
        store = self._parts.store
        texts = Erased()
        for memory, ids in passages.items():
            texts |= self._texts(memory, ids)
        for memory in whole:
            texts |= store.erased(memory, [p.id for p in store.passages(memory)])
        also = elsewhere(texts) if elsewhere and (passages or whole) else ()
        gone = [self._remove(memory, ids, actor) for memory, ids in passages.items() if ids]
        gone += [self._remove_whole(memory) for memory in whole]
        if gone:
            store.purge()
        seen = store.look(texts, self._parts.config.data_dir, also)
        errors = {i: error for part in gone for i, error in self._told_again(part).items()}
        return Receipt(datetime.now(UTC), actor or ACTOR.get(), tuple(gone), seen, errors)

    def _texts(self, memory: str, ids: Collection[str]) -> Erased:
        with self._states.state(memory) as state:
            _check(state, ids)
            again = borrowing(state, ids, self._parts.store.former(memory, sorted(ids)))
            return self._parts.store.erased(memory, sorted(ids), again)

    def _remove(self, memory: str, ids: Collection[str], actor: str) -> Gone:
        told: list[Gone] = []
        encoder, fuser = self._parts.encoder, self._parts.fuser
        former = self._parts.store.former(memory, sorted(ids))

        def batch(state: State) -> WriteBatch:
            _check(state, ids)
            again = borrowing(state, ids, former)
            undone = taken_back(state, {*ids, *again}, encoder, fuser)
            told[:] = [_gone(state, undone, ids, again)]
            return replace(
                undone,
                remove_passages=sorted(ids),
                remove_extractions=again,
                again=again,
                untold=again,
                history=[Change(i, "DELETE", actor=actor) for i in sorted(ids)],
            )

        self._states.commit(memory, batch)
        self._states.drop_views(memory)
        return told[0]

    def _remove_whole(self, memory: str) -> Gone:
        store = self._parts.store
        with self._states.lock(memory):
            ids = tuple(p.id for p in store.passages(memory))
            counts = store.delete_memory(memory)
            self._states.drop(memory)
            self._parts.fuser.forget()
        return Gone(memory, {"passages": ids}, counts={kind: n for kind, n in counts.items() if kind != "passages"})

    def _told_again(self, gone: Gone) -> dict[str, str]:
        if not gone.again:
            return {}
        with self._states.state(gone.memory) as state:
            waiting = [state.passages[i] for i in gone.again if i in state.passages]
        return self._digest(gone.memory, waiting)


def _check(state: State, ids: Collection[str]) -> None:
    missing = sorted(set(ids) - set(state.passages))
    if missing:
        raise NotFoundError(f"no passage {missing[0]!r} in this memory; nothing was deleted")


def _gone(state: State, undone: WriteBatch, ids: Collection[str], again: Sequence[str]) -> Gone:
    """Tell what a batch takes from a state."""
    untold = {*ids, *again}
    kept = {entity.id: {entity.name, *entity.aliases} for entity in undone.entities}
    names = {i: {state.entities[i].name, *state.entities[i].aliases} for i in [*undone.remove_entities, *kept]}
    vectors = [("passage", ids), ("extraction", untold), ("frame", undone.remove_frames)]
    vectors += [("fact", undone.remove_facts), ("entity", undone.remove_entities)]
    return Gone(
        state.memory,
        {
            "passages": tuple(sorted(ids)),
            "frames": tuple(undone.remove_frames),
            "facts": tuple(undone.remove_facts),
            "entities": tuple(undone.remove_entities),
        },
        {
            "frames": tuple(frame.id for frame in undone.frames),
            "facts": tuple(fact.id for fact in undone.facts),
            "entities": tuple(kept),
        },
        tuple(again),
        {
            "extractions": sum(i in state.extractions for i in untold),
            "queued": sum(state.passages[i].status in ("pending", "failed") for i in ids),
            "names": sum(len(known - kept.get(i, set())) for i, known in names.items()),
            "vectors": sum(i in state.vectors[kind] for kind, items in vectors for i in items),  # type: ignore[index]
        },
    )
