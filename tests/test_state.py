"""A state that followed the batches equals the state built from the snapshot: same ids, same graph, same results."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seem.config import Config
from seem.memory import Memory
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge
from seem.state import State
from seem.store.verify import verify
from seem.types import Event, Extraction, Fact
from seem.wiring import Parts

PEOPLE = ("Ana", "Bo", "Dr. Ana Lima")
PLACES = ("Tartu", "Narva", "the old mill")
TEXTS = [f"{who} lives in {where}" for who in PEOPLE for where in PLACES] + [
    "ok",
    "Bo does not like tea",
    "Ana's cat sleeps.",
]
SCRIPT: dict[str, Extraction] = {
    f"{who} lives in {where}": Extraction(
        "", (Event((who,), f"lives in {where}"),), (Fact(who, "lives in", f"{where}."),)
    )
    for who in PEOPLE
    for where in PLACES
} | {"ok": Extraction("")}
SAME = {frozenset({a, b}): 0.9 for a in TEXTS[:9] for b in TEXTS[:9] if a < b and a.split()[-1] == b.split()[-1]}
MEMORY = "user_id:u"

Step = tuple[str, int, str]
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "update", "delete", "retag"]), st.integers(0, 9), st.sampled_from(TEXTS)
    ),
    min_size=1,
    max_size=9,
)


def edges(state: State) -> dict[tuple[str, str], float]:
    nodes = [node for node in state.graph.ids if node is not None]
    return {(node, other): weight for node in nodes for other, weight in state.graph.neighbours(node).items()}


def content(state: State) -> dict[str, Any]:
    return {
        "generation": state.generation,
        "passages": state.passages,
        "order": state.order,
        "extractions": state.extractions,
        "frames": state.frames,
        "frame_of": state.frame_of,
        "entities": state.entities,
        "facts": state.facts,
        "facts_of": {i: f for i, f in state.facts_of.items() if f},
        "nodes": {node for node in state.graph.ids if node is not None},
        "edges": edges(state),
        "indexed": {k: {i for i in _ids(state) if i in v} for k, v in state.vectors.items()},
        "sizes": {k: len(v) for k, v in state.vectors.items()} | {f"words {k}": len(v) for k, v in state.words.items()},
    }


def _ids(state: State) -> set[str]:
    return {*state.passages, *state.extractions, *state.frames, *state.entities, *state.facts}


def play(memory: Memory, step: Step, n: int) -> None:
    verb, which, text = step
    known = [p["id"] for p in memory.get_all(user_id="u")["results"]]
    if verb == "add":
        memory.add(
            {"role": "user", "content": text, "id": f"m{n}"}, user_id="u", timestamp=f"2024-05-{n + 1:02}T10:00+00:00"
        )
    elif not known:
        return
    elif verb == "update":
        memory.update(known[which % len(known)], text)
    elif verb == "retag":
        memory.update(known[which % len(known)], metadata={"tag": n})
    else:
        memory.pipeline.forget(MEMORY, [known[which % len(known)]])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_following_and_loading_lead_to_the_same_state(told: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Config.from_dict({"data_dir": folder, "store": {"url": "sqlite:///:memory:"}})
        encoder = HashingEncoder()
        parts = Parts(config, encoder=encoder, extractor=ScriptedExtractor(SCRIPT), judge=ScriptedJudge(SAME))
        with Memory(parts=parts) as memory:
            for n, step in enumerate(told):
                play(memory, step, n)
                assert verify(parts.store, None) == []
            with memory.pipeline.states.state(MEMORY) as followed:
                loaded = State(parts.store.load(MEMORY), encoder.dimension)
                assert content(followed) == content(loaded)
                for question in ("Where does Ana live?", "old mill", "tea"):
                    query = encoder.encode([question])
                    for kind in followed.vectors:
                        assert followed.vectors[kind].search(query, 20) == loaded.vectors[kind].search(query, 20)
                    for words in followed.words:
                        assert followed.words[words].search(question, 20) == loaded.words[words].search(question, 20)


def test_the_searches_of_a_followed_and_a_loaded_memory_agree(tmp_path: Path) -> None:
    config = Config.from_dict({"data_dir": str(tmp_path)})

    def opened() -> Memory:
        parts = Parts(config, encoder=HashingEncoder(), extractor=ScriptedExtractor(SCRIPT), judge=ScriptedJudge(SAME))
        return Memory(parts=parts)

    with opened() as memory:
        for n, text in enumerate(TEXTS):
            play(memory, ("add", 0, text), n)
        play(memory, ("update", 1, "Bo lives in Narva"), 20)
        play(memory, ("delete", 4, ""), 21)
        asked = ("Where does Ana live?", "Why does Bo live in the old mill?", "tea")
        followed = [memory.search(question, user_id="u", explain=True) for question in asked]
    with opened() as again:
        assert [again.search(question, user_id="u", explain=True) for question in asked] == followed
