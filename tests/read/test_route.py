"""The routers behind one interface: which one the configuration names, and what each is given to choose by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from seem.config import Config
from seem.errors import ConfigError, ModelError
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge
from seem.pipeline import Pipeline
from seem.read.route import RuleRouter
from seem.read.route_prompted import PromptedRouter
from seem.read.route_signals import FIRST, NAMES, signals
from seem.read.seed import seed
from seem.store.batch import Draft
from seem.wiring import Parts
from tests.training.openai_server import Answer, Server

TEXTS = ("we climbed Mount Elbrus", "how long did it take", "the soup was cold", "we reached the summit at noon")
NOWHERE = np.zeros(64, dtype=np.float32)


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[Pipeline]:
    judge = ScriptedJudge({frozenset({TEXTS[0], TEXTS[3]}): 0.9})
    config = Config.from_dict({"data_dir": str(tmp_path)})
    parts = Parts(config, encoder=HashingEncoder(), extractor=ScriptedExtractor(), judge=judge)
    made = Pipeline(parts)
    made.remember("m", [Draft(text, str(n), "Ana", f"s{n // 2}") for n, text in enumerate(TEXTS)])
    yield made
    parts.store.close()


def told(pipeline: Pipeline, question: str, allowed: set[str] | None = None) -> dict[str, float]:
    vector = pipeline.parts.encoder.encode([question])[0]
    with pipeline.states.state("m") as state:
        seeds = seed(question, vector, state, depth=60, allowed=allowed)
        return signals(question, seeds, state, allowed=allowed)


def test_the_configuration_chooses_the_router() -> None:
    assert isinstance(Parts(Config()).router, RuleRouter)
    assert RuleRouter().choose("Why did Ana leave?", NOWHERE, {}) == "expand"
    assert RuleRouter().choose("Where does Ana live?", NOWHERE, {}) == "graph"
    endpoint = {"engine": "prompted", "base_url": "http://localhost:1/v1", "model": "m"}
    assert isinstance(Parts(Config.from_dict({"router": endpoint})).router, PromptedRouter)
    with pytest.raises(ConfigError, match="router: engine is prompted, so base_url and model must be given"):
        Config.from_dict({"router": {"engine": "prompted"}})
    missing = Config.from_dict({"router": {"engine": "tuned", "adapter": "/nowhere"}})
    with pytest.raises(ModelError, match="no adapter '/nowhere'"):
        _ = Parts(missing, encoder=HashingEncoder()).router


def test_the_prompted_router_asks_and_counts_what_is_no_choice() -> None:
    replies = iter(
        [{"reason": "course", "narrative": True}, {"reason": "one fact", "narrative": False}, "both, I think"]
    )
    with Server(lambda _body: Answer(next(replies))) as server:
        router = PromptedRouter(server.url, "big")
        assert [router.choose("How did it go?", NOWHERE, {}) for _ in range(3)] == ["expand", "graph", "graph"]
    assert router.unreadable == 1 and list(router.odd) == ["both, I think"]


def test_signals_tell_the_form_and_how_firm_the_seeds_are(pipeline: Pipeline) -> None:
    why = told(pipeline, "Why did we climb Mount Elbrus?")
    assert tuple(why) == NAMES and why["rule"] == why["why"] == 1 and why["when"] == 0
    assert why["dense_top"] > why["dense_gap"] > 0
    # All four passages are among the first ten; two of them share a frame, so that none of it is left to bring.
    assert why["fused"] == 2 / FIRST and why["silent"] == 0 and why["sessions"] == 2 / FIRST
    assert told(pipeline, "How many days did it take?")["measure"] == 1
    assert told(pipeline, "How many days did it take?")["how"] == 0


def test_signals_do_not_tell_of_what_may_not_be_read(pipeline: Pipeline) -> None:
    with pipeline.states.state("m") as state:
        allowed = set(state.order[:3])
    limited = told(pipeline, "Why did we climb Mount Elbrus?", allowed)
    assert limited["fused"] == 0 and limited["sessions"] == 2 / FIRST
    pipeline.forget("m", [p for p in pipeline_ids(pipeline) if p not in allowed])
    assert told(pipeline, "Why did we climb Mount Elbrus?") == pytest.approx(limited)


def pipeline_ids(pipeline: Pipeline) -> list[str]:
    with pipeline.states.state("m") as state:
        return list(state.order)


def test_signals_of_an_empty_memory_are_numbers(tmp_path: Path) -> None:
    parts = Parts(Config.from_dict({"data_dir": str(tmp_path), "judge": {"engine": "none"}}), encoder=HashingEncoder())
    empty = told(Pipeline(parts), "Who?")
    assert tuple(empty) == NAMES and all(np.isfinite(list(empty.values()))) and empty["dense_top"] == 0
    parts.store.close()
