"""The memories that are loaded: one state and one lock each, and commits that no other writer can spoil.

Takes the parts of a configuration; gives states, and applies batches to store and state together. What is computed is
committed only if the memory is still the one that it was computed for, else computed again. Knows no stage.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seem.errors import ModelError, StoreError
from seem.rights import Principals
from seem.state import State
from seem.store.batch import WriteBatch
from seem.store.store import StaleError
from seem.views import View
from seem.wiring import Parts

RETRIES = 20
# Of so many restricted readers a memory's part is kept loaded; another one's is folded anew.
VIEWS = 8


class States:
    """Every loaded memory of one store; safe to use from several threads."""

    def __init__(self, parts: Parts) -> None:
        """Take the parts; nothing is loaded yet."""
        self._parts = parts
        self._states: dict[str, State] = {}
        self._used: dict[str, float] = {}
        self._views: dict[str, OrderedDict[Principals, View]] = {}
        self._locks: dict[str, threading.RLock] = {}
        self._guard = threading.Lock()

    @contextmanager
    def state(self, memory: str, principals: Principals | None = None) -> Iterator[State]:
        """Give the memory as it is now, or what ``principals`` may read of it, locked against this process's threads."""
        with self.lock(memory):
            whole = self._fresh(memory)
            yield whole if principals is None else self._view(memory, principals).of(whole)

    def lock(self, memory: str) -> threading.RLock:
        """Give the memory's lock."""
        with self._guard:
            return self._locks.setdefault(memory, threading.RLock())

    def loaded(self, memory: str) -> State | None:
        """Give the state that is loaded, however old; the caller holds the lock."""
        return self._states.get(memory)

    def refuse_other_encoder(self, memory: str) -> None:
        """Raise StoreError where another encoder made the memory's index, before anything is written to it."""
        if self.loaded(memory) is not None:
            return
        try:
            encoder = self._parts.encoder
        except ModelError:
            return  # words are kept without any model
        check_encoder(self._parts.store.encoder(memory), encoder.fingerprint, memory)

    def drop(self, memory: str) -> None:
        """Let go of a state; it is loaded anew when it is next needed."""
        self._states.pop(memory, None)
        self._views.pop(memory, None)
        self._used.pop(memory, None)

    def drop_views(self, memory: str) -> None:
        """Let go of what restricted readers were shown of a memory; it is folded anew when it is next needed."""
        with self.lock(memory):
            self._views.pop(memory, None)

    def residents(self) -> list[tuple[float, str, int]]:
        """Give every loaded memory: when it was last used (monotonic seconds), its key, its size in bytes."""
        return [(self._used.get(key, 0.0), key, self._size(key, state)) for key, state in list(self._states.items())]

    def evict(self, memory: str) -> bool:
        """Let go of a state that nobody is using; tell whether it went."""
        lock = self.lock(memory)
        if not lock.acquire(blocking=False):
            return False
        try:
            self.drop(memory)
            return True
        finally:
            lock.release()

    def commit(self, memory: str, compute: Callable[[State], WriteBatch]) -> None:
        """Compute a batch against the current state and commit it; compute again where another writer came first."""
        for attempt in range(RETRIES):
            with self.lock(memory):
                state = self._fresh(memory)
                batch = compute(state)
                try:
                    generation = self._parts.store.apply(memory, batch, expected=state.generation)
                except StaleError:
                    self.drop(memory)
                    if attempt == RETRIES - 1:
                        raise
                    continue
                state.apply(batch, generation)
                return

    def _size(self, memory: str, state: State) -> int:
        return state.size() + sum(view.size() for view in list(self._views.get(memory, {}).values()))

    def _view(self, memory: str, principals: Principals) -> View:
        views = self._views.setdefault(memory, OrderedDict())
        view = views.setdefault(principals, View(principals, self._parts.encoder, self._parts.fuser))
        views.move_to_end(principals)
        while len(views) > VIEWS:
            views.popitem(last=False)
        return view

    def _fresh(self, memory: str) -> State:
        known = self._states.get(memory)
        if known is None or known.generation != self._parts.store.generation(memory):
            snapshot = self._parts.store.load(memory)
            check_encoder(snapshot.encoder, self._parts.encoder.fingerprint, memory)
            known = self._states[memory] = State(snapshot, self._parts.encoder.dimension)
        self._used[memory] = time.monotonic()
        return known


def check_encoder(stored: str, configured: str, memory: str) -> None:
    """Refuse to compare vectors of two encoders."""
    if stored and stored != configured:
        raise StoreError(
            f"the memory {memory!r} was indexed with the encoder {stored}, but {configured} is configured; "
            "configure the old one, or run: seem reindex"
        )
