"""Fresh variants of a training turn: other names for the speakers, consistently in turn, context and labels.

A small model that meets the same twenty names learns the names; one that meets hundreds learns to copy. Takes labelled turns, gives labelled
turns; the same seed gives the same variants. Knows nothing about windows or tokens.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from seem.types import Event, Extraction, Fact, Passage, TimeSpan

NAMES = tuple(
    "Abena Adele Akira Alba Alison Amara Amir Anders Anouk Arjun Astrid Ayesha Beatriz Benoit Bilal Bram Brigid Caleb Carmen Cedric Chiara Chidi Cleo "
    "Colin Dagny Daisy Danilo Daphne Dario Declan Dina Dmitri Edith Efua Eivind Elias Elke Emeka Enzo Esme Fabio Farah Felix Fiona Freya Gareth Gemma "
    "Giorgia Goran Greta Gus Hala Hana Hector Hedda Helga Henrik Hugo Ibrahim Idris Ilaria Imogen Ines Isla Ivan Jasmin Jelena Joana Jonah Joris Juno "
    "Kamal Karin Kaspar Keiko Kwame Lars Leila Lena Leon Lior Lotte Luca Lucia Maeve Magnus Malik Manon Marco Mareike Marta Mateo Maud Mei Milan "
    "Mina Mira Moira Nadia Naomi Nell Nico Nina Noor Oda Olga Olu Omar Orla Oscar Otis Paola Pavel Petra Piet Priya Quentin Rafael Ragna Rania Remy Rhea "
    "Robin Rosa Ruben Rufus Ruth Sabine Sadie Salma Samir Sanne Selma Sergei Sigrid Silas Simone Sofia Soren Stella Sven Tamar Tariq Teo Theo Tilda "
    "Tobias Tomas Ulla Uma Una Vera Victor Vikram Wanda Wes Willem Xenia Yara Yusuf Zara Zeno Zoe".split()
)
FIXED = frozenset({"User", "Assistant", "Tool"})


@dataclass(frozen=True, slots=True)
class Labelled:
    """A turn, the turns before it, the people in the conversation, and the teacher's extraction."""

    passage: Passage
    context: tuple[Passage, ...]
    names: tuple[str, ...]
    label: Extraction


def renamed(turn: Labelled, rng: random.Random) -> Labelled:
    """Give the turn with every speaker's name replaced, wherever it stands."""
    old = [n for n in turn.names if n not in FIXED]
    free = [n for n in NAMES if n not in turn.names]
    table = dict(zip(old, rng.sample(free, len(old)), strict=True))
    if not table:
        return turn
    pattern = re.compile(
        r"\b(" + "|".join(re.escape(n) for n in sorted(old, key=len, reverse=True)) + r")\b", re.IGNORECASE
    )

    def swap(text: str) -> str:
        return pattern.sub(lambda m: _cased(table[next(n for n in old if n.casefold() == m[0].casefold())], m[0]), text)

    return Labelled(
        _passage(turn.passage, swap),
        tuple(_passage(c, swap) for c in turn.context),
        tuple(swap(n) for n in turn.names),
        _label(turn.label, swap),
    )


def _cased(name: str, like: str) -> str:
    return name.upper() if like.isupper() and len(like) > 1 else name.lower() if like.islower() else name


def _passage(p: Passage, swap: Callable[[str], str]) -> Passage:
    return replace(p, text=swap(p.text), speaker=swap(p.speaker), image=swap(p.image))


def _label(x: Extraction, swap: Callable[[str], str]) -> Extraction:
    def time(t: TimeSpan | None) -> TimeSpan | None:
        return replace(t, text=swap(t.text)) if t else None

    def maybe(s: str | None) -> str | None:
        return swap(s) if s else None

    events = tuple(
        Event(
            tuple(swap(p) for p in e.participants),
            swap(e.action),
            time(e.time),
            maybe(e.location),
            maybe(e.causality),
            maybe(e.manner),
        )
        for e in x.events
    )
    facts = tuple(Fact(swap(f.subject), swap(f.relation), swap(f.object), time(f.time)) for f in x.facts)
    return replace(x, events=events, facts=facts)


def shuffled(turns: Sequence[Labelled], rng: random.Random) -> list[Labelled]:
    """Give the turns in a new order."""
    return rng.sample(list(turns), len(turns))
