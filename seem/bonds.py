"""What people decided about pairs of passages, loaded: which belong into one frame, and which may not share one.

Takes bonds as they are committed, with their generations; of two bonds of one pair the later holds, and taking it back
lets the earlier one hold again. Knows nothing about frames.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from seem.types import Bond


class Bonds:
    """Every bond of one memory, by passage."""

    def __init__(self, bonds: Iterable[Bond] = ()) -> None:
        """Take stored bonds."""
        self._by_passage: defaultdict[str, dict[str, dict[int, bool]]] = defaultdict(dict)
        for bond in bonds:
            self.add(bond)

    def __iter__(self) -> Iterator[Bond]:
        return iter(
            Bond(one, other, together, generation)
            for one, others in sorted(self._by_passage.items())
            for other, told in sorted(others.items())
            for generation, together in sorted(told.items())
            if one < other
        )

    def add(self, bond: Bond) -> None:
        """Take one more."""
        for one, other in ((bond.one, bond.other), (bond.other, bond.one)):
            self._by_passage[one].setdefault(other, {})[bond.generation] = bond.together

    def together(self, passage_id: str) -> set[str]:
        """Give the passages that belong into one frame with this one."""
        return self._with(passage_id, True)

    def apart(self, passage_id: str) -> set[str]:
        """Give the passages that may not share a frame with this one."""
        return self._with(passage_id, False)

    def forget(self, passage_ids: Collection[str]) -> None:
        """Drop every bond of these passages."""
        for passage_id in passage_ids:
            for other in self._by_passage.pop(passage_id, {}):
                self._by_passage[other].pop(passage_id, None)

    def take_back(self, generation: int) -> None:
        """Drop the bonds of one correction."""
        for others in self._by_passage.values():
            for other in [other for other, told in others.items() if told.pop(generation, None) is not None]:
                if not others[other]:
                    del others[other]

    def _with(self, passage_id: str, together: bool) -> set[str]:
        return {other for other, told in self._by_passage.get(passage_id, {}).items() if told[max(told)] is together}
