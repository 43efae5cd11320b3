"""Facts onto entity nodes: which names mean one node, and which facts are one fact.

Takes the names and facts of new extractions and what the graph holds; gives new or widened entities and facts. Names
meet by their folded form, by being the only longer or shorter form of one another, and by a cosine above a threshold.
Knows nothing about storage, nor about which fact ends which.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from seem.types import Entity, Fact, Passage, StoredFact
from seem.write.names import is_pronoun, trim, without_article

ALIAS_COSINE = 0.92
_TITLE = re.compile(r"^(?:dr|mr|mrs|ms|prof|professor|sir|doctor)\.?\s+(?=\S)", re.IGNORECASE)
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")
_BLANK_BETWEEN = re.compile(
    r"(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]) (?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])"
)


def entity_key(name: str) -> str:
    """Give the folded form by which names are compared; never empty for a name with a letter or digit."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", name)).casefold()
    text = without_article(_TITLE.sub("", trim(" ".join(text.split()))))
    # Korean, Chinese and Japanese names are written with or without a blank.
    text = _BLANK_BETWEEN.sub("", text)
    return re.sub(r"['’]s?$", "", text) or trim(text)


def fact_key(subject_id: str, fact: Fact, object_id: str) -> tuple[str, str, str, str]:
    """Give what two tellings of one fact have in common: ends, relation, and the time if one was said."""
    when = (fact.time.start or fact.time.text.casefold()) if fact.time else ""
    return (subject_id, " ".join(fact.relation.casefold().split()), object_id, when)


class Linker:
    """One write's view of the entities: those that are stored, and those that it adds or widens."""

    def __init__(
        self,
        memory: str,
        stored: Iterable[Entity],
        new_id: Callable[[str], str],
        nearest: Callable[[str], tuple[str, float] | None],
        called: Callable[[str], Iterable[str]] = lambda _name: (),
    ) -> None:
        """``nearest`` gives the stored entity with the closest vector to a name, and the cosine.

        ``called`` gives what else a name is said to be.
        """
        self._memory = memory
        self._new_id = new_id
        self._nearest = nearest
        self._called = called
        self._entities: dict[str, Entity] = {}
        self._by_key: dict[str, str] = {}
        self._forms: dict[str, list[list[str]]] = {}
        self.changed: dict[str, Entity] = {}
        self.added: list[str] = []
        for entity in stored:
            self._register(entity)

    def entity(self, name: str) -> str | None:
        """Give the id of the entity that a name means, adding or widening one; ``None`` for words that name nothing."""
        name = trim(name)
        key = entity_key(name)
        if not key or is_pronoun(name):
            return None
        known = self._by_key.get(key) or self._by_form(name, key) or self._by_statement(name) or self._by_cosine(name)
        if known is None:
            entity = Entity(self._new_id("e"), self._memory, name)
            self.added.append(entity.id)
        else:
            entity = self._entities[known]
            if name == entity.name or name in entity.aliases:
                return entity.id
            entity = replace(entity, aliases=(*entity.aliases, name))
        self._register(entity)
        self.changed[entity.id] = entity
        return entity.id

    def _register(self, entity: Entity) -> None:
        self._entities[entity.id] = entity
        for name in (entity.name, *entity.aliases):
            self._by_key.setdefault(entity_key(name), entity.id)
        self._forms[entity.id] = [entity_key(n).split() for n in (entity.name, *entity.aliases) if _capitalised(n)]

    def _by_form(self, name: str, key: str) -> str | None:
        """Find the one person of whose name this is a part, or the other way round («Ingrid», «Dr. Ingrid Solheim»)."""
        if not name[:1].isupper() or any(c.isdigit() for c in key):
            return None
        words = key.split()
        if len(words) > 3 or not _capitalised(name):
            return None
        found = {other_id for other_id, forms in self._forms.items() if _joins(words, forms)}
        return found.pop() if len(found) == 1 else None

    def _by_statement(self, name: str) -> str | None:
        """Find the one person whom somebody said to be called so («everyone calls Ingrid Inga»)."""
        if not name[:1].isupper():
            return None
        found = {
            known
            for other in self._called(name)
            if (known := self._by_key.get(entity_key(other)) or self._by_form(other, entity_key(other)))
        }
        return found.pop() if len(found) == 1 else None

    def _by_cosine(self, name: str) -> str | None:
        # Names of people differ by a letter and mean another; only descriptions of several words may meet by likeness.
        if len(name.split()) < 2 or name[:1].isupper() or any(c.isdigit() for c in name):
            return None
        near = self._nearest(name)
        return near[0] if near and near[1] >= ALIAS_COSINE and near[0] in self._entities else None


def _capitalised(name: str) -> bool:
    return all(part[:1].isupper() for part in _TITLE.sub("", name).split())


def _joins(words: Sequence[str], forms: Sequence[Sequence[str]]) -> bool:
    """Tell whether a name is the longer or shorter form of one; a second full name means somebody else."""
    return any(_part_of(words, form) for form in forms) and not (
        len(words) > 1 and any(len(form) > 1 for form in forms)
    )


def _part_of(a: Sequence[str], b: Sequence[str]) -> bool:
    short, long = sorted((a, b), key=len)
    return len(short) < len(long) <= 3 and len(short) == 1 and short[0] in (long[0], long[-1])


def merge_facts(
    memory: str,
    passage: Passage,
    linked: Sequence[tuple[Fact, str, str]],
    stored: dict[tuple[str, str, str, str], StoredFact],
    new_id: Callable[[str], str],
) -> list[StoredFact]:
    """Give the facts of one passage as stored ones: a known fact gains the passage as a source, a new one is made."""
    out: list[StoredFact] = []
    for fact, subject_id, object_id in linked:
        key = fact_key(subject_id, fact, object_id)
        known = stored.get(key)
        start = fact.time.start if fact.time else None
        since = start or (passage.time.date().isoformat() if passage.time else None)
        # What ended and is said again later holds again: that is another fact.
        if known is None or (
            known.invalid_at and since and since > known.invalid_at and passage.id not in known.provenance
        ):
            made = StoredFact(
                new_id("k"),
                memory,
                fact,
                subject_id,
                object_id,
                (passage.id,),
                valid_at=since,
                created_at=datetime.now(UTC),
            )
        elif passage.id in known.provenance:
            continue
        else:
            made = replace(known, provenance=(*known.provenance, passage.id))
        stored[key] = made
        out.append(made)
    return out
