"""A correction taken back: what it moved goes to where it was, what came since stays.

Takes a loaded memory and the history of its corrections, gives a Plan. What was deleted meanwhile stays deleted; what
has been moved again by a later correction must be taken back first. Knows nothing about transactions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from seem.errors import InputError
from seem.state import State
from seem.store.reader import HistoryEntry
from seem.write.regroup import Plan

Step = Sequence[HistoryEntry]


def undo(state: State, entries: Sequence[HistoryEntry], item_id: str | None) -> Plan:
    """Take back the last correction of a frame or passage, or of the whole memory."""
    steps = _steps(entries)
    live = {g for g, step in steps.items() if _moved(state, step)}
    concerned = [g for g, step in steps.items() if item_id is None or _concerns(step, item_id)]
    for last in sorted(concerned, reverse=True):
        frames = {entry.change.item_id for entry in steps[last]}
        later = [g for g in live if g > last and any(_concerns(steps[g], frame_id) for frame_id in frames)]
        if later:
            first = steps[max(later)][0].change
            raise InputError(
                f"a later {first.event.lower()} changed the same frames; take that back first: undo {first.item_id}"
            )
        if last in live:
            return _back(state, steps[last], last)
    what = "this memory" if item_id is None else item_id
    raise InputError(f"there is no correction of {what} to take back: nothing that was moved by hand is still there")


def _steps(entries: Sequence[HistoryEntry]) -> dict[int, Step]:
    """Give the corrections that nobody took back, by generation."""
    undone = {entry.change.undoes for entry in entries}
    made: dict[int, list[HistoryEntry]] = defaultdict(list)
    for entry in entries:
        if entry.change.event != "UNDO" and entry.generation not in undone:
            made[entry.generation].append(entry)
    return dict(made)


def _moved(state: State, step: Step) -> dict[str, tuple[str, str]]:
    """Give the passages that a correction moved and that are still where it put them: from which frame to which."""
    origin = {p: entry.change.item_id for entry in step for p in entry.before}
    target = {p: entry.change.item_id for entry in step for p in entry.after}
    return {
        p: (frame_id, target[p])
        for p, frame_id in origin.items()
        if target.get(p, frame_id) != frame_id and state.frame_of.get(p) == target[p]
    }


def _back(state: State, step: Step, generation: int) -> Plan:
    moved = _moved(state, step)
    members = {
        frame_id: [p for p in state.frames[frame_id].provenance if p not in moved] if frame_id in state.frames else []
        for frame_id in dict.fromkeys(end for ends in moved.values() for end in ends)
    }
    for passage_id, (origin, _) in moved.items():
        members[origin].append(passage_id)
    for born in _born(step, moved):
        # What joined a frame that only the correction made goes with those whom it joined.
        home = Counter(origin for origin, target in moved.values() if target == born).most_common(1)[0][0]
        members[home] += members[born]
        members[born] = []
    return Plan("UNDO", members, undoes=generation)


def _born(step: Step, moved: Mapping[str, tuple[str, str]]) -> list[str]:
    targets = {target for _, target in moved.values()}
    return [entry.change.item_id for entry in step if not entry.before and entry.change.item_id in targets]


def _concerns(step: Step, item_id: str) -> bool:
    return any(item_id in (entry.change.item_id, *entry.before, *entry.after) for entry in step)
