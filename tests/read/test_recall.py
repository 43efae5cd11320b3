"""Reading with scripted models: neighbours lend, expansion brings the story, a limit hides as if the rest were not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from seem.config import Config
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge
from seem.models.protocols import Route, Vectors
from seem.pipeline import Options, Pipeline
from seem.read.nearby import BELOW, SHARE, lend
from seem.read.route import route
from seem.read.route_signals import NAMES
from seem.store.batch import Draft
from seem.wiring import Parts

TEXTS = (
    "we climbed Mount Elbrus",
    "how long did it take",
    "three days and a night",
    "the soup was cold",
    "we reached the top at noon",
)


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[Pipeline]:
    judge = ScriptedJudge({frozenset({TEXTS[0], TEXTS[4]}): 0.9})
    parts = Parts(
        Config.from_dict({"data_dir": str(tmp_path)}),
        encoder=HashingEncoder(),
        extractor=ScriptedExtractor(),
        judge=judge,
    )
    made = Pipeline(parts)
    made.remember("m", [Draft(text, str(n), "Ana", "s1" if n < 3 else "s2") for n, text in enumerate(TEXTS)])
    yield made
    parts.store.close()


def ids(pipeline: Pipeline) -> list[str]:
    with pipeline.states.state("m") as state:
        return list(state.order)


def test_neighbours_of_the_same_session_gain_a_share(pipeline: Pipeline) -> None:
    p = ids(pipeline)
    with pipeline.states.state("m") as state:
        lent = lend({p[1]: 1.0}, state)
        assert lent == {p[1]: 1.0, p[0]: SHARE, p[2]: SHARE}
        assert lend({p[2]: 1.0}, state) == {p[2]: 1.0, p[1]: SHARE}
        assert lend({p[1]: 1.0}, state, allowed={p[1], p[2]}) == {p[1]: 1.0, p[2]: SHARE}
        assert lend({p[0]: 1.0, p[1]: 0.95}, state) == {p[0]: 1.0, p[1]: BELOW, p[2]: SHARE * 0.95}


def test_expansion_brings_the_other_passages_of_the_story(pipeline: Pipeline) -> None:
    p = ids(pipeline)
    found = pipeline.recall("m", "Elbrus", Options(top_k=2, expand="always"))
    assert {h.passage.id for h in found.hits} == {p[0], p[4]}
    assert found.frames[0].provenance == (p[0], p[4])


@pytest.mark.parametrize("expand", ["always", "never", "auto"])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 50])
def test_never_more_passages_than_asked_for_and_none_twice(pipeline: Pipeline, expand: str, k: int) -> None:
    found = pipeline.recall("m", "Why did we climb?", Options(top_k=k, expand=expand))
    hits = [h.passage.id for h in found.hits]
    assert len(hits) == len(set(hits)) <= k


def test_what_may_not_be_read_leaves_no_trace(pipeline: Pipeline, tmp_path: Path) -> None:
    p = ids(pipeline)
    allowed = {p[0], p[1], p[2]}
    limited = pipeline.recall("m", "climbed the top", Options(top_k=5, expand="always"), allowed=allowed)
    assert {h.passage.id for h in limited.hits} <= allowed
    assert "noon" not in limited.text and all(set(f.provenance) <= allowed for f in limited.frames)


class Recorded:
    """A router that always expands and keeps what it was given."""

    name = "recorded"

    def __init__(self) -> None:
        self.given: list[tuple[str, int, Mapping[str, float]]] = []

    def choose(self, question: str, vector: Vectors, signals: Mapping[str, float]) -> Route:
        self.given.append((question, len(vector), signals))
        return "expand"


def test_the_configured_router_chooses_the_arm_unless_it_is_fixed(pipeline: Pipeline) -> None:
    parts = pipeline.parts
    router = Recorded()
    routed = Pipeline(Parts(parts.config, store=parts.store, encoder=parts.encoder, router=router))
    assert routed.recall("m", "Elbrus", Options(top_k=2)).route == "expand"
    assert pipeline.recall("m", "Elbrus", Options(top_k=2)).route == "graph", "the rule is the default"
    assert routed.recall("m", "Elbrus", Options(top_k=2, expand="never")).route == "never"
    ((question, width, known),) = router.given
    assert question == "Elbrus" and width == parts.encoder.dimension and tuple(known) == NAMES


def test_routes() -> None:
    assert route("Why did Ana leave?") == "expand"
    assert route("Would Ana like chess?") == "graph"
    assert route("Where does Ana live?") == "graph"
