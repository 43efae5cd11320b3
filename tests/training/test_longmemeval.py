"""LongMemEval on a file made up in its form: what is stored, what counts, how responses are marked."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from seem.config import Config
from seem.errors import InputError
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge, ScriptedReader
from seem.wiring import Parts
from tests.training.openai_server import Answer, Server
from training.benchmarks.cases import Query
from training.benchmarks.judging import Endpoint, EndpointJudge, read_mark
from training.benchmarks.longmemeval import measure, tables
from training.benchmarks.longmemeval_data import TYPES, abstains, load, session_of
from training.benchmarks.longmemeval_scores import accuracy, first, marking, ndcg, retrieval_scores
from training.benchmarks.run import Plan


def turn(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def item(name: str, kind: str, question: str, answer: Any, *, marked: str = "user") -> dict[str, Any]:
    """Three sessions out of order; the second holds the answer, in the turn of ``marked``."""
    answering = [
        turn("user", "I adopted a grey parrot named Coco.", has_answer=marked == "user"),
        turn("assistant", "Coco is a lovely name for a parrot.", has_answer=marked == "assistant"),
        turn("user", "She learns words quickly.", has_answer=False),
    ]
    return {
        "question_id": name,
        "question_type": kind,
        "question": question,
        "answer": answer,
        "question_date": "2023/07/01 (Sat) 23:13",
        "haystack_session_ids": ["later_1", "answer_2", "noise_3"],
        "haystack_dates": ["2023/06/20 (Tue) 10:00", "2023/05/02 (Tue) 08:30", "2023/05/30 (Tue) 20:15"],
        "haystack_sessions": [
            [turn("user", "The bus was late again."), turn("assistant", "Buses are often late.")],
            answering,
            [turn("user", "I planted tomatoes."), turn("assistant", "Water them daily.")],
        ],
        "answer_session_ids": ["answer_2"],
    }


ITEMS = [
    item("q1", "single-session-user", "What is the name of my grey parrot?", "Coco"),
    item("q2", "single-session-assistant", "What did you say about the name?", "lovely", marked="assistant"),
    item("q3_abs", "knowledge-update", "What is the name of my cat?", "The user never spoke of a cat."),
    item("q4", "temporal-reasoning", "How many days ago did I adopt Coco?", 60),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "invented.json"
    path.write_text(json.dumps(ITEMS))
    return path


def models() -> Parts:
    return Parts(
        Config(),
        encoder=HashingEncoder(),
        extractor=ScriptedExtractor(),
        judge=ScriptedJudge(),
        reader=ScriptedReader(),
    )


def test_the_users_turns_are_stored_in_order_of_time_without_the_mark(data: Path) -> None:
    case, *_ = load(data)
    assert [d.metadata["turn"] for d in case.drafts] == ["answer_2_1", "answer_2_3", "noise_3_1", "later_1_1"]
    assert "has_answer" not in json.dumps([str(d) for d in case.drafts])
    assert [d.metadata["turn"] for d in load(data, "all")[0].drafts][:3] == ["answer_2_1", "answer_2_2", "answer_2_3"]


def test_evidence_are_marked_turns_of_the_user(data: Path) -> None:
    cases = load(data)
    assert [case.queries[0].evidence for case in cases] == [("answer_2_1",), (), ("answer_2_1",), ("answer_2_1",)]
    assert [abstains(case) for case in cases] == [False, False, True, False]
    assert (cases[3].queries[0].answer, cases[3].queries[0].text) == ("60", "How many days ago did I adopt Coco?")
    assert cases[3].queries[0].asked.startswith("Today is 2023/07/01 (Sat) 23:13. How many days")
    assert session_of("answer_2_1") == "answer_2"


@pytest.mark.parametrize(
    "broken",
    [
        {**ITEMS[0], "question_type": "poem"},
        {**ITEMS[0], "haystack_dates": []},
        {k: v for k, v in ITEMS[0].items() if k != "answer_session_ids"},
        "no item",
    ],
)
def test_another_form_is_refused(tmp_path: Path, broken: Any) -> None:
    path = tmp_path / "broken.json"
    path.write_text(json.dumps([broken]))
    with pytest.raises(InputError):
        load(path)
    path.write_text(json.dumps([ITEMS[0], ITEMS[0]]))
    with pytest.raises(InputError, match="'q1' twice"):
        load(path)


def test_recall_and_ndcg_by_hand() -> None:
    ranking = ["a", "x", "b", "y"]
    assert retrieval_scores(ranking, {"a", "b"}, 1) == {"recall_any": 1.0, "recall_all": 0.0, "ndcg_any": 1.0}
    assert retrieval_scores(ranking, {"a", "b"}, 3)["recall_all"] == 1.0
    # The first two places are not discounted: 1 + 1/log2(3) of an ideal 1 + 1.
    assert ndcg(ranking, {"a", "b"}, 3) == pytest.approx((1 + 1 / math.log2(3)) / 2)
    assert ndcg(["x", "a"], {"a"}, 5) == 1.0
    assert ndcg(["x", "y", "z", "a"], {"a"}, 5) == pytest.approx(1 / 2)
    assert (ndcg(["x"], {"a"}, 5), ndcg([], {"a"}, 5)) == (0.0, 0.0)


def test_budgets_grow_until_enough_sessions_are_seen() -> None:
    found = {1: ["s1_1"], 3: ["s1_1", "s1_2", "s2_1"], 10: ["s1_1", "s1_2", "s2_1", "s1_3", "s3_1"]}
    assert first(found, 1, session_of) == ["s1"]
    assert first(found, 3, session_of) == ["s1", "s2", "s3"]
    assert first(found, 10, session_of) == ["s1", "s2", "s3"]
    assert first(found, 3, lambda label: label if label.startswith("s1") else None) == ["s1_1", "s1_2", "s1_3"]


def test_each_type_has_its_question_to_the_judge_and_abstention_comes_first() -> None:
    prompts = {kind: marking(Query("q", "a", (), kind), "r", abstains=False) for kind in TYPES}
    assert len({asked.prompt for asked in prompts.values()}) == 4
    assert {prompts[kind].prompt for kind in TYPES if "single-session-user" in kind or kind == "multi-session"} == {
        "longmemeval_answer"
    }
    assert [tag for tag, _ in prompts["single-session-preference"].blocks] == ["question", "description", "response"]
    assert {marking(Query("q", "a", (), kind), "r", abstains=True).prompt for kind in TYPES} == {
        "longmemeval_abstention"
    }
    assert [read_mark(text, "yes").right for text in ("Yes.", "no", "I say YES", "")] == [True, False, True, False]
    assert [read_mark(text, "yes").readable for text in ("Yes.", "no", "perhaps")] == [True, True, False]


def test_accuracy_counts_abstentions_inside_their_type() -> None:
    told = accuracy(
        [
            ("multi-session", False, True),
            ("multi-session", True, False),
            ("knowledge-update", False, True),
            ("knowledge-update", False, True),
        ]
    )
    assert told["overall"] == 0.75 and told["abstention"] == 0.0 and told["count"] == 4
    assert told["by_type"] == {"multi-session": 0.5, "knowledge-update": 1.0} and told["task_averaged"] == 0.75
    assert accuracy([("multi-session", False, True)])["abstention"] is None


def test_retrieval_and_accuracy_of_methods_side_by_side(data: Path, tmp_path: Path) -> None:
    def respond(body: dict[str, Any]) -> Answer:
        text = body["messages"][0]["content"]
        assert len(body["messages"]) == 1 and body["max_tokens"] == 10 and body["temperature"] == 0
        return Answer("Yes" if "cannot be answered" not in text else "No.")

    plan = Plan(("dense", "bm25", "seem"), (1, 3), 200, answer_k=2)
    with Server(respond) as server:
        judge = EndpointJudge(Endpoint(server.url, "judge", concurrency=2))
        report = measure(load(data), plan, models(), tmp_path, judge)
        # Equal responses are marked once, and a second run marks nothing.
        marked = len(server.requests)
        assert 4 <= marked <= 12
        assert measure(load(data), plan, models(), tmp_path, judge)["methods"]["seem"]["answers"]["accuracy"]
        assert len(server.requests) == marked
    assert report["questions"]["all"] == 4 and report["questions"]["measured"] == 2
    for told in report["methods"].values():
        assert told["turn"]["recall_all"]["3"] <= told["session"]["recall_any"]["3"] <= 1.0
        assert told["answers"]["accuracy"]["overall"] == 0.75 and told["answers"]["accuracy"]["abstention"] == 0.0
        assert [line["question_id"] for line in told["answers"]["hypotheses"]] == ["q1", "q2", "q3_abs", "q4"]
    assert report["methods"]["bm25"]["turn"]["recall_all"]["1"] == 1.0
    assert report["methods"]["bm25"]["session"]["ndcg_any"]["3"] == 1.0
    assert "| bm25 | 1.000" in tables(report)
