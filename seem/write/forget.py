"""The inverse of remembering: a passage goes, and what only it supports; what others support is folded again.

Takes a state and the ids of passages; gives the batch that removes them. Changes nothing itself. Knows nothing about
files: purging them is the store's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from seem.models.protocols import Vectors
from seem.state import State
from seem.store.batch import Change, Kind, Vector, WriteBatch
from seem.types import Entity, Fact, Frame, StoredFact
from seem.write.fold import fold
from seem.write.link import entity_key
from seem.write.names import trim
from seem.write.summary import fact_sentence


def removal(
    state: State,
    gone: Collection[str],
    encode: Callable[[Sequence[str]], Vectors],
    fingerprint: str,
    actor: str = "",
) -> WriteBatch:
    """Give the batch that removes the passages and refolds what remains."""
    gone = set(gone)
    emptied, refolded = _frames(state, gone)
    dropped, kept = _facts(state, gone)
    entities, reduced = _entities(state, gone, dropped, kept)
    frame_vectors = encode([f.summary for f in refolded]) if refolded else ()
    fact_vectors = encode([fact_sentence(f.fact) for f in kept]) if kept else ()
    rows: list[tuple[Kind, str, Vector]] = [("frame", f.id, frame_vectors[n]) for n, f in enumerate(refolded)]
    rows += [("fact", f.id, fact_vectors[n]) for n, f in enumerate(kept)]
    if reduced:
        named = encode([e.name for e in reduced])
        rows += [("entity", e.id, named[n]) for n, e in enumerate(reduced)]
    return WriteBatch(
        encoder=fingerprint,
        remove_passages=sorted(gone),
        remove_frames=emptied,
        remove_facts=dropped,
        remove_entities=entities,
        frames=refolded,
        entities=reduced,
        facts=kept,
        vectors=rows,
        history=[Change(p, "DELETE", actor=actor) for p in sorted(gone)],
    )


def _frames(state: State, gone: set[str]) -> tuple[list[str], list[Frame]]:
    emptied, refolded = [], []
    for frame_id in sorted({state.frame_of[p] for p in gone if p in state.frame_of}):
        left = [p for p in state.frames[frame_id].provenance if p not in gone]
        if left:
            refolded.append(fold(frame_id, state.memory, [(state.passages[p], state.extractions[p]) for p in left]))
        else:
            emptied.append(frame_id)
    return emptied, refolded


def _facts(state: State, gone: set[str]) -> tuple[list[str], list[StoredFact]]:
    touched = sorted({f for p in gone for f in state.facts_of.get(p, ())})
    dropped = [f for f in touched if set(state.facts[f].provenance) <= gone]
    kept = {f: _told_by_rest(state, state.facts[f], gone) for f in touched if f not in set(dropped)}
    # What a forgotten fact had ended is open again: nothing that remains says otherwise.
    for fact in state.facts.values():
        if fact.superseded_by in set(dropped) and fact.id not in dropped:
            kept[fact.id] = replace(kept.get(fact.id, fact), invalid_at=None, expired_at=None, superseded_by=None)
    return dropped, list(kept.values())


def _told_by_rest(state: State, fact: StoredFact, gone: set[str]) -> StoredFact:
    """Give the fact in the words of a source that remains."""
    left = tuple(p for p in fact.provenance if p not in gone)
    said = state.passages[left[0]].time
    words = next((f for p in left for f in state.extractions[p].facts if _same(f, fact.fact)), fact.fact)
    start = words.time.start if words.time else None
    return replace(fact, fact=words, provenance=left, valid_at=start or (said.date().isoformat() if said else None))


def _same(a: Fact, b: Fact) -> bool:
    return (entity_key(a.subject), a.relation.casefold(), entity_key(a.object)) == (
        entity_key(b.subject),
        b.relation.casefold(),
        entity_key(b.object),
    )


def _entities(
    state: State, gone: set[str], dropped: Sequence[str], kept: Sequence[StoredFact]
) -> tuple[list[str], list[Entity]]:
    """Give the entities that nothing names any more, and those that lose a name that only the forgotten words used."""
    touched = {
        e for f in [*dropped, *(k.id for k in kept)] for e in (state.facts[f].subject_id, state.facts[f].object_id)
    }
    left = [f for f in state.facts.values() if f.id not in set(dropped)]
    names: dict[str, list[str]] = {e: [] for e in touched}
    for fact in left:
        for entity_id, end in ((fact.subject_id, "subject"), (fact.object_id, "object")):
            if entity_id in names:
                sources = [p for p in fact.provenance if p not in gone]
                names[entity_id] += [trim(getattr(f, end)) for p in sources for f in state.extractions[p].facts]
    named = {e for fact in left for e in (fact.subject_id, fact.object_id)}
    orphans, reduced = [], []
    for entity_id in sorted(touched):
        entity = state.entities[entity_id]
        used = [n for n in (entity.name, *entity.aliases) if n in set(names[entity_id])]
        if entity_id not in named:
            orphans.append(entity_id)
        elif used and len(used) < 1 + len(entity.aliases):
            reduced.append(Entity(entity.id, entity.memory, used[0], tuple(used[1:])))
    return orphans, reduced
