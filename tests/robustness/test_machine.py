"""A memory under a random life: adds, fusions, corrections, deletions, restarts; after each step it is sound.

A plain list says what must be there. To add a verb, add a rule that keeps ``told`` (texts by passage id) up to date.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from seem.config import Config
from seem.errors import InputError, NotFoundError
from seem.memory import Memory
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedReader
from seem.models.protocols import JudgeInput
from seem.state import State
from seem.store.verify import verify
from seem.types import Event, Extraction, Fact
from seem.wiring import Parts

ANA: Any = {"user_id": "ana"}
PEOPLE = ("Ana", "Bo")
TOPICS = ("the oak", "a boat", "two bees", "my piano")
PLACES = ("Tartu", "Narva", "Paide")
SESSIONS = ("s1", "s2")


class TopicJudge:
    """Holds passages about one topic for one occurrence."""

    name = "topics"
    threshold = 0.5

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> npt.NDArray[np.float64]:
        return np.array([0.9 if _topic(a[0].text) == _topic(b[0].text) else 0.1 for a, b in pairs])


class Teller(ScriptedExtractor):
    """Makes an event of every text and, where it names a place, a fact."""

    def extract(self, items: Any, **options: Any) -> list[Extraction]:
        out = super().extract(items, **options)
        for n, (passage, _, _) in enumerate(items):
            place = next((place for place in PLACES if place in passage.text), None)
            facts = (Fact(passage.speaker, "lives in", place),) if place else ()
            events = () if "nothing" in passage.text else (Event((passage.speaker,), passage.text),)
            summary = " ".join(f"{passage.speaker} {event.action}." for event in events)
            out[n] = Extraction(passage.id, events, facts if events else (), summary, "teller")
        return out


def _topic(text: str) -> str:
    return next((topic for topic in TOPICS if topic in text), text)


def _open(folder: Path) -> Memory:
    models: Any = {"extractor": Teller(), "judge": TopicJudge(), "reader": ScriptedReader()}
    return Memory(parts=Parts(Config.from_dict({"data_dir": str(folder)}), encoder=HashingEncoder(), **models))


class Life(RuleBasedStateMachine):
    """One memory, its restarts included."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.memory = _open(Path(self.folder.name))
        self.told: dict[str, tuple[str, str, str]] = {}
        self.former: dict[str, set[str]] = {}
        self.erased: set[str] = set()
        self.count = 0

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()
            self.folder.cleanup()

    @rule(
        said=st.lists(
            st.tuples(st.sampled_from(TOPICS), st.sampled_from((*PLACES, "nothing"))), min_size=1, max_size=3
        ),
        who=st.sampled_from(PEOPLE),
        session=st.sampled_from(SESSIONS),
        wait=st.booleans(),
        infer=st.sampled_from((True, True, True, False)),
    )
    def add(self, said: list[tuple[str, str]], who: str, session: str, wait: bool, infer: bool) -> None:
        texts = [self._text(topic, place) for topic, place in said]
        messages = [{"role": "user", "name": who, "content": text, "session": session} for text in texts]
        results = self.memory.add(messages, **ANA, wait=wait, infer=infer)["results"]
        self.told |= {item["id"]: (text, who, session) for item, text in zip(results, texts, strict=True)}

    @precondition(lambda self: self.told)
    @rule(data=st.data(), topic=st.sampled_from(TOPICS), place=st.sampled_from(PLACES))
    def update(self, data: st.DataObject, topic: str, place: str) -> None:
        item = self._any(data)
        text = self._text(topic, place)
        self.memory.update(item, text)
        old, who, session = self.told[item]
        self.told[item] = (text, who, session)
        # The history still has the old words; they must go when this goes.
        self.former.setdefault(item, set()).add(old)

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def forget_one(self, data: st.DataObject) -> None:
        item = self._any(data)
        self._gone(self.memory.forget(item), [item])

    @precondition(lambda self: self.told)
    @rule(which=st.sampled_from([{"speaker": who} for who in PEOPLE] + [{"session": name} for name in SESSIONS]))
    def forget_some(self, which: dict[str, Any]) -> None:
        gone = [i for i, (_, who, session) in self.told.items() if which in ({"speaker": who}, {"session": session})]
        self._gone(self.memory.forget(**ANA, **which), gone)

    @rule()
    def digest(self) -> None:
        assert self.memory.retry()["failed"] == {}

    @precondition(lambda self: self.told)
    @rule()
    def promote(self) -> None:
        assert self.memory.promote(**ANA, everything=True)["errors"] == {}

    @precondition(lambda self: self._frames(2))
    @rule(data=st.data())
    def split(self, data: st.DataObject) -> None:
        frame = data.draw(st.sampled_from(self._frames(2)))
        self.memory.split(frame["id"], frame["passages"][:1])

    @precondition(lambda self: len(self._frames(1)) > 1)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        frames = data.draw(
            st.lists(st.sampled_from([f["id"] for f in self._frames(1)]), min_size=2, max_size=2, unique=True)
        )
        self.memory.merge(frames)

    @precondition(lambda self: len(self._frames(1)) > 1)
    @rule(data=st.data(), alone=st.booleans())
    def reassign(self, data: st.DataObject, alone: bool) -> None:
        frames = self._frames(1)
        passage = data.draw(st.sampled_from([p for frame in frames for p in frame["passages"]]))
        others = [frame["id"] for frame in frames if passage not in frame["passages"]]
        with suppress(InputError):
            self.memory.reassign(passage, None if alone else data.draw(st.sampled_from(others)))

    @precondition(lambda self: self.told)
    @rule()
    def undo(self) -> None:
        with suppress(InputError, NotFoundError):
            self.memory.undo(**ANA)

    @rule()
    def restart(self) -> None:
        self.memory.close()
        self.memory = _open(Path(self.folder.name))

    @invariant()
    def it_is_sound(self) -> None:
        if not hasattr(self, "memory"):
            return
        store = self.memory.parts.store
        assert verify(store, None) == []
        stored = {item["id"]: item["memory"] for item in self.memory.get_all(**ANA)["results"]}
        assert stored == {item: text for item, (text, _, _) in self.told.items()}
        with self.memory.pipeline.states.state("user_id:ana") as state:
            _same(state, State(store.load("user_id:ana"), state.vectors["passage"].dimension))
            members = sorted(p for frame in state.frames.values() for p in frame.provenance)
            assert members == sorted(i for i, x in state.extractions.items() if x.events)
            spoken = " ".join(text for text, _, _ in self.told.values())
            for frame in state.frames.values():
                assert all(event.action in spoken for event in frame.events)

    def _gone(self, receipt: dict[str, Any], ids: list[str]) -> None:
        assert receipt["removed"].get("passages", 0) == len(ids)
        assert receipt["clean"] and receipt["waiting"] == {}
        for item in ids:
            self.erased |= {self.told.pop(item)[0], *self.former.pop(item, ())}
        files = b"".join(f.read_bytes() for f in Path(self.folder.name).iterdir() if f.is_file())
        assert [text for text in self.erased if text.encode() in files] == []

    def _text(self, topic: str, place: str) -> str:
        self.count += 1
        return f"note{self.count} on {topic} from {place}."

    def _any(self, data: st.DataObject) -> str:
        return str(data.draw(st.sampled_from(sorted(self.told))))

    def _frames(self, least: int) -> list[dict[str, Any]]:
        if not hasattr(self, "memory"):
            return []
        found = self.memory.page("frames", 1000, **ANA)["results"]
        return [frame for frame in found if len(frame["passages"]) >= least]


def _same(one: State, other: State) -> None:
    """Check that following every batch led where loading leads."""
    assert one.generation == other.generation
    for name in ("passages", "extractions", "frames", "entities", "frame_of", "order"):
        assert getattr(one, name) == getattr(other, name), name
    assert set(one.facts) == set(other.facts)
    for fact_id, fact in one.facts.items():
        assert (fact.fact, fact.provenance, fact.invalid_at) == (
            other.facts[fact_id].fact,
            other.facts[fact_id].provenance,
            other.facts[fact_id].invalid_at,
        )
    assert {k: v for k, v in one.facts_of.items() if v} == {k: v for k, v in other.facts_of.items() if v}


Life.TestCase.settings = settings(
    max_examples=8,
    stateful_step_count=14,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
TestLife = Life.TestCase
