"""A history that grows: what is added costs what is new, not what is there."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seem.memory import Memory
from seem.models.fakes import HashingEncoder, ScriptedExtractor
from seem.types import Event, Extraction, Fact, Passage
from tests.flows.people import parts
from tests.robustness.scan import sound

THINGS = ("gate", "fence", "boat", "oven", "roof", "bike", "pump", "shed")


class Telling(ScriptedExtractor):
    """Tells of each turn who did what, and one fact."""

    def extract(self, items: Any, *, progress: Any = None) -> list[Extraction]:
        return [self._told(passage) for passage, _, _ in items]

    def _told(self, passage: Passage) -> Extraction:
        who, verb, thing = passage.text.split()[:3]
        event = Event((who,), f"{verb} {thing}")
        return Extraction(passage.id, (event,), (Fact(who, verb, thing),), f"{who} {verb} {thing}.", "telling")


def turns(count: int, people: int, sessions: int) -> list[dict[str, str]]:
    draw = random.Random(7)
    return [
        {
            "role": "user",
            "name": f"Person{draw.randrange(people)}",
            "content": f"Person{draw.randrange(people)} mended {draw.choice(THINGS)}{draw.randrange(people)} in week {n}",
            "session": f"s{n * sessions // count}",
            "id": str(n),
        }
        for n in range(count)
    ]


def grown(
    folder: Path, count: int, people: int, sessions: int, step: int
) -> tuple[Memory, HashingEncoder, list[int], list[float]]:
    """Fill a memory step by step; give it, and for each step the texts that were embedded and the seconds."""
    given = parts(folder)
    given.extractor = Telling()
    encoder = HashingEncoder()
    given.encoder = encoder
    opened = Memory(parts=given)
    embedded, seconds = [], []
    told = turns(count, people, sessions)
    for start in range(0, count, step):
        before, begun = encoder.encoded, time.process_time()
        opened.add(told[start : start + step], user_id="ana")
        embedded.append(encoder.encoded - before)
        seconds.append(time.process_time() - begun)
    return opened, encoder, embedded, seconds


def test_new_turns_are_embedded_once_and_old_ones_never_again(tmp_path: Path) -> None:
    """O-25, scaled down: calls to the encoder follow the new texts, also at the end, and nothing is written anew."""
    opened, encoder, embedded, _ = grown(tmp_path, 2000, 100, 40, 400)
    with opened:
        counts = opened.parts.store.stats(None)
        stored = sum(counts[kind] for kind in ("passages", "facts", "entities"))
        # A passage, the summary of its extraction, a name that is looked up; frames of one passage share its vector.
        assert sum(embedded) <= stored + 2 * counts["passages"]
        assert embedded[-1] <= 1.1 * embedded[0]
        before = encoder.encoded
        opened.search("who mended the gate?", user_id="ana")
        assert encoder.encoded == before + 1
        passages = opened.get_all(user_id="ana", top_k=50)["results"]
        for passage in passages[:5]:
            opened.delete(passage["id"])
        assert encoder.encoded - before <= 1 + 5 * 8
        assert sound(opened)


@pytest.mark.slow
def test_a_hundred_thousand_turns_cost_as_much_at_the_end_as_at_the_beginning(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """O-25: the last 1,000 turns take at most three times as long as the first; memory, queries and forgets are bounded."""
    opened, _, embedded, seconds = grown(tmp_path, 100_000, 200, 1000, 1000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with opened:
        begun = time.process_time()
        for n in range(200):
            opened.search(f"who mended gate{n}?", user_id="ana")
        asked = (time.process_time() - begun) / 200
        begun = time.process_time()
        for passage in opened.get_all(user_id="ana", top_k=50)["results"]:
            opened.delete(passage["id"])
        forgot = (time.process_time() - begun) / 50
        record_property("seconds", {"first": seconds[0], "last": seconds[-1], "query": asked, "forget": forgot})
        record_property("peak_bytes", peak)
        assert seconds[-1] <= 3 * seconds[0]
        assert embedded[-1] <= 1.1 * embedded[0]
        assert peak < 4 * 2**30
        assert asked < 1 and forgot < 5
