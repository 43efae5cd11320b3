"""What facts say around a name: its neighbours, theirs, and the facts between them.

Takes facts as a caller may read them, gives names and facts; a name is what stands in a fact, and spellings that differ
in case, blanks or an article are one. Knows nothing about memories or requests.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from seem.errors import NotFoundError

Fact = Mapping[str, Any]
_ARTICLE = re.compile(r"^(?:the|a|an)\s+(?=\S)")


class Surroundings:
    """Names and the facts that join them."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        """Take facts with ``subject`` and ``object``."""
        self._spellings: dict[str, dict[str, int]] = {}
        self._facts: dict[str, list[Fact]] = defaultdict(list)
        for fact in facts:
            ends = [self._met(fact["subject"]), self._met(fact["object"])]
            for key in dict.fromkeys(ends):
                self._facts[key].append(fact)

    def names(self, limit: int) -> list[dict[str, Any]]:
        """Give the names that most facts tell of, and how many do."""
        keys = sorted(self._facts, key=lambda key: (-len(self._facts[key]), key))
        return [self._named(key) for key in keys[:limit]]

    def around(self, name: str, *, hops: int, limit: int) -> dict[str, Any]:
        """Give at most ``limit`` neighbours of a name, those of most facts first, and all facts between what is given.

        ``hops`` is 1 or 2; ``more`` counts the neighbours left out. Raise NotFoundError where no fact holds the name.
        """
        centre = folded(name)
        if centre not in self._facts:
            raise NotFoundError(
                f"no fact here tells of {name!r}; /v1/graph/entities lists the names that facts tell of"
            )
        near = self._neighbours(centre)
        distance = {centre: 0} | dict.fromkeys(near[:limit], 1)
        more = len(near[limit:])
        if hops == 2:
            far = dict.fromkeys(k for key in near[:limit] for k in self._neighbours(key) if k not in {centre, *near})
            room = limit - len(near[:limit])
            distance |= dict.fromkeys(list(far)[:room], 2)
            more += len(far) - len(list(far)[:room])
        facts = {fact["id"]: fact for key in distance for fact in self._facts[key] if self._ends(fact) <= set(distance)}
        return {
            "entity": self._named(centre),
            "entities": [{**self._named(key), "distance": d} for key, d in distance.items() if d],
            "facts": [self._joining(facts[fact_id]) for fact_id in sorted(facts)],
            "more": more,
        }

    def _met(self, name: str) -> str:
        key = folded(name)
        spellings = self._spellings.setdefault(key, {})
        spellings[name] = spellings.get(name, 0) + 1
        return key

    def _named(self, key: str) -> dict[str, Any]:
        spellings = sorted(self._spellings[key], key=lambda name: (-self._spellings[key][name], name))
        return {"name": spellings[0], "aliases": spellings[1:], "facts": len(self._facts[key])}

    def _neighbours(self, key: str) -> list[str]:
        met: dict[str, int] = defaultdict(int)
        for fact in self._facts[key]:
            for other in self._ends(fact) - {key}:
                met[other] += 1
        return sorted(met, key=lambda other: (-met[other], -len(self._facts[other]), other))

    def _joining(self, fact: Fact) -> dict[str, Any]:
        source, target = (self._named(folded(fact[end]))["name"] for end in ("subject", "object"))
        return {**fact, "source": source, "target": target}

    @staticmethod
    def _ends(fact: Fact) -> set[str]:
        return {folded(fact["subject"]), folded(fact["object"])}


def folded(name: str) -> str:
    """Give the form by which names are compared; never empty where the name is not."""
    return _ARTICLE.sub("", " ".join(unicodedata.normalize("NFKC", name).casefold().split()))
