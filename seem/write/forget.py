"""The inverse of remembering: a passage goes, and what only it supports; what others support is folded again.

Takes a state and the ids of passages; gives the batch that removes them. Changes nothing itself. Knows nothing about
files: purging them is the store's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from seem.errors import ModelError
from seem.models.protocols import Encoder, Vectors
from seem.state import State
from seem.store.batch import Change, Kind, Vector, WriteBatch
from seem.store.words import STOP_WORDS, tokens
from seem.types import Entity, Extraction, Fact, Frame, Passage, StoredFact
from seem.write.contradict import reopened, told_by
from seem.write.fold import fold
from seem.write.link import entity_key
from seem.write.names import trim
from seem.write.retell import Kept, retell
from seem.write.summary import fact_sentence


def taken_back(state: State, gone: Collection[str], encoder: Encoder, fuser: Kept, actor: str = "") -> WriteBatch:
    """Give the batch that removes passages. It waits for no model: without the fuser the composed summaries stand."""
    undone = removal(state, gone, encoder.encode, encoder.fingerprint, actor)
    fuser.forget(gone)
    try:
        return retell(undone, state, fuser, encoder)
    except ModelError:
        return undone


def borrowing(state: State, gone: Collection[str], former: Mapping[str, Collection[str]]) -> list[str]:
    """Give the passages that remain, but whose extraction holds words that only the forgotten ones had shown.

    An extractor sees the passages before the one that it reads, and the names of those who spoke. ``former`` holds what
    forgotten passages said before they were corrected.
    """
    gone = set(gone)
    speakers = {p.speaker for i, p in state.passages.items() if i not in gone}
    names = _words(p.speaker for i in gone if (p := state.passages[i]).speaker not in speakers)
    known = _words(speakers)
    places = {passage_id: n for n, passage_id in enumerate(state.order)}
    found = []
    for passage_id, extraction in state.extractions.items():
        if passage_id in gone:
            continue
        at = places[passage_id]
        # Of an old extraction it was not written down: what it was shown were the two passages before.
        shown = extraction.shown if extraction.shown is not None else state.order[max(0, at - 2) : at]
        forgotten = [state.passages[i] for i in shown if i in gone]
        if not forgotten and not names:
            continue
        left = [state.passages[i] for i in (passage_id, *shown) if i not in gone and i in state.passages]
        old = _words(text for p in forgotten for text in former.get(p.id, ()))
        foreign = (names | old | _said(forgotten)) - _said(left) - known
        if foreign and foreign & _told(extraction):
            found.append(passage_id)
    return sorted(found, key=lambda i: places[i])


def _said(passages: Iterable[Passage]) -> set[str]:
    return _words(text for p in passages for text in (p.speaker, p.text, p.image))


def _told(extraction: Extraction) -> set[str]:
    slots = [s for e in extraction.events for s in (*e.participants, e.action, e.location, e.causality, e.manner)]
    ends = [s for f in extraction.facts for s in (f.subject, f.relation, f.object)]
    times = [*(e.time for e in extraction.events), *(f.time for f in extraction.facts)]
    return _words([extraction.summary, *(s for s in slots if s), *ends, *(t.text for t in times if t)])


def _words(texts: Iterable[str]) -> set[str]:
    return {token for text in texts for token in tokens(text)} - STOP_WORDS


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
    retold = {f: _told_by_rest(state, state.facts[f], gone) for f in touched}
    dropped = [f for f in touched if retold[f] is None]
    kept = {f: fact for f, fact in retold.items() if fact is not None}
    left = {f: kept.get(f, fact) for f, fact in state.facts.items() if f not in set(dropped)}
    sure = told_by({i: p for i, p in state.passages.items() if i not in gone})
    for fact in list(left.values()):
        if fact.superseded_by in retold:
            # What had ended it is gone, or told anew: what remains says whether and when it ended.
            kept[fact.id] = left[fact.id] = reopened(fact, left.values(), sure)
    return dropped, list(kept.values())


def _told_by_rest(state: State, fact: StoredFact, gone: set[str]) -> StoredFact | None:
    """Give the fact in the words of a source that remains; ``None`` where there is none."""
    left = tuple(p for p in fact.provenance if p not in gone)
    ends = [state.entities[i] for i in (fact.subject_id, fact.object_id)]
    subjects, objects = ({entity_key(name) for name in (end.name, *end.aliases)} for end in ends)

    def tells(other: Fact) -> bool:
        same = " ".join(other.relation.casefold().split()) == " ".join(fact.fact.relation.casefold().split())
        return same and entity_key(other.subject) in subjects and entity_key(other.object) in objects

    words = next((f for p in left for f in state.extractions[p].facts if tells(f)), None)
    if words is None:
        return None
    said = state.passages[left[0]].time
    start = words.time.start if words.time else None
    return replace(fact, fact=words, provenance=left, valid_at=start or (said.date().isoformat() if said else None))


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
