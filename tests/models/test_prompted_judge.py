"""The prompted judge against a real server: what is no verdict never merges."""

from __future__ import annotations

from typing import Any

import pytest

from seem.config import Config
from seem.models.prompted_judge import PromptedJudge
from seem.types import Event, Extraction, Passage
from seem.wiring import Parts
from tests.training.openai_server import Answer, Server, block


def side(n: int, text: str) -> tuple[Passage, Extraction]:
    return Passage(f"p{n}", "m", text, position=n, speaker="Ana"), Extraction(
        f"p{n}", (Event(("Ana",), text),), summary=text
    )


A, B = side(1, "adopted a puppy"), side(2, "named the puppy")


@pytest.mark.parametrize(
    "verdict", ["12", "", "1, 2", "they look alike", '{"same": "yes"}', '{"reason": "x"}', '{"same": 1}', "[true]"]
)
def test_an_unreadable_verdict_is_no_and_counted(verdict: str) -> None:
    """O-03."""
    with Server(lambda _body: Answer(verdict)) as server:
        judge = PromptedJudge(server.url, "big")
        assert judge.score([(A, B)]).tolist() == [0.0] and judge.threshold > 0
    assert judge.unreadable == 1 and list(judge.odd) == [verdict]


def test_verdicts_are_symmetric_and_empty_sides_cost_nothing() -> None:
    def respond(body: dict[str, Any]) -> Answer:
        return Answer({"reason": "told again", "same": "adopted" in block(body, "first")})

    empty = (Passage("p3", "m", "ok"), Extraction("p3"))
    with Server(respond) as server:
        judge = PromptedJudge(server.url, "big")
        assert judge.score([(A, B), (B, A), (A, empty)]).tolist() == [1.0, 1.0, 0.0]
    assert len(server.requests) == 2 and judge.unreadable == 0


def test_the_configuration_chooses_it() -> None:
    told = {"engine": "prompted", "base_url": "http://localhost:1/v1", "model": "m"}
    assert isinstance(Parts(Config.from_dict({"judge": told})).judge, PromptedJudge)
    assert Parts(Config.from_dict({"judge": {"engine": "none"}})).judge is None
