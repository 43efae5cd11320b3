"""LoCoMo's data quirks and scoring rules, each by a case, on an invented file in LoCoMo form."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from seem.errors import InputError
from training.benchmarks.averages import all_found, average, bootstrap, evidence_recall
from training.benchmarks.cases import Query
from training.benchmarks.figures import answer_figures
from training.benchmarks.locomo import BENCH, marking
from training.benchmarks.locomo_data import (
    CATEGORIES,
    NOT_MENTIONED,
    Question,
    Sample,
    check_categories,
    evidence_ids,
    load,
)
from training.benchmarks.locomo_scores import (
    REPORT_ORDER,
    adversarial_score,
    bleu1,
    exact_match,
    harness_f1,
    normalise,
    official_f1,
    score_answer,
    token_f1,
)


def turn(name: str, speaker: str, text: str, **more: Any) -> dict[str, Any]:
    return {"dia_id": name, "speaker": speaker, "text": text, **more}


SAMPLE: dict[str, Any] = {
    "sample_id": "invented-1",
    "conversation": {
        "speaker_a": "Odile",
        "speaker_b": "Rune",
        # Out of order, and with a date for a session that is not there.
        "session_10": [turn("D10:1", "Rune", "The van broke down.")],
        "session_10_date_time": "12:05 am on 2 July, 2024",
        "session_2": [
            turn("D2:1", "Odile", "I sold the piano.", blip_caption="a photo of a piano", img_url=["x"]),
            turn("D2:2", "Rune", "At last!", blip_caption=None),
        ],
        "session_2_date_time": "1:56 pm on 8 May, 2024",
        "session_11_date_time": "3:00 pm on 9 July, 2024",
    },
    "event_summary": {"never": "read"},
    "qa": [
        {
            "question": "What did they do?",
            "answer": "sold a piano, broke a van",
            "evidence": ["D2:1; D10:1"],
            "category": 1,
        },
        {"question": "Which year?", "answer": 2024, "evidence": ["D:2:1"], "category": 2},
        {"question": "Is Odile musical?", "answer": "Likely yes; she had a piano", "evidence": [], "category": 3},
        {"question": "What broke down?", "answer": "the van", "evidence": ["D10:01", "D", "D10:19"], "category": 4},
        {
            "question": "What did Rune sell?",
            "evidence": ["D2:1"],
            "category": 5,
            "adversarial_answer": "the piano",
        },
        {
            "question": "Is the van Odile's?",
            "answer": "No",
            "evidence": ["D10:1"],
            "category": 5,
            "adversarial_answer": "Yes",
        },
    ],
}


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    path = tmp_path / "invented.json"
    path.write_text(json.dumps([SAMPLE]), encoding="utf-8")
    (loaded,) = load(path)
    return loaded


def question(category: int, answer: str, trap: str = "") -> Question:
    return Question("?", answer, (), category, trap)


def queries(sample: Sample) -> list[Query]:
    return [Query(q.text, q.answer, q.evidence, str(q.category), q.trap) for q in sample.questions]


def test_sessions_that_exist_are_read_in_numeric_order(sample: Sample) -> None:
    assert [(each.id, each.session) for each in sample.turns] == [("D2:1", 2), ("D2:2", 2), ("D10:1", 10)]
    assert sample.turns[0].time == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert sample.turns[2].time == datetime(2024, 7, 2, 0, 5, tzinfo=UTC)
    assert [each.image for each in sample.turns] == ["a photo of a piano", "", ""]
    assert (sample.id, sample.speakers) == ("invented-1", ("Odile", "Rune"))


def test_answers_are_strings_and_adversarial_ones_lack_none(sample: Sample) -> None:
    """O-37: an adversarial item without the usual field is read."""
    assert [each.answer for each in sample.questions][1:] == [
        "2024",
        "Likely yes; she had a piano",
        "the van",
        NOT_MENTIONED,
        "No",
    ]
    assert [each.trap for each in sample.questions] == ["", "", "", "", "the piano", "Yes"]


def test_evidence_of_the_file_is_normalised_and_what_is_unknown_is_told(sample: Sample) -> None:
    assert [each.evidence for each in sample.questions] == [
        ("D2:1", "D10:1"),
        ("D2:1",),
        (),
        ("D10:1", "D10:19"),
        ("D2:1",),
        ("D10:1",),
    ]
    assert sample.questions[3].unknown == ("D", "D10:19")
    assert all(each.unknown == () for number, each in enumerate(sample.questions) if number != 3)


@pytest.mark.parametrize(
    ("entries", "ids", "scraps"),
    [
        (["D8:6; D9:17"], ("D8:6", "D9:17"), ()),
        (["D9:1 D4:4 D4:6"], ("D9:1", "D4:4", "D4:6"), ()),
        (["D21:18,D21:22"], ("D21:18", "D21:22"), ()),
        (["D:11:26"], ("D11:26",), ()),
        (["D30:05"], ("D30:5",), ()),
        (["D"], (), ("D",)),
        (["D1:18", "D", "D1:18"], ("D1:18",), ("D",)),
        ([], (), ()),
    ],
)
def test_evidence_quirks(entries: list[str], ids: tuple[str, ...], scraps: tuple[str, ...]) -> None:
    assert evidence_ids(entries) == (ids, scraps)


@pytest.mark.parametrize("text", ["{", "[{}]", '[{"sample_id": "x", "conversation": [], "qa": []}]', "[1]"])
def test_a_file_in_another_form_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"bad\.json"):
        load(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        load(tmp_path / "nowhere.json")


def test_the_names_of_the_categories_fit_their_content(sample: Sample) -> None:
    """O-37."""
    assert CATEGORIES == {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
    assert sorted(REPORT_ORDER) == sorted(CATEGORIES)
    check_categories([sample])


@pytest.mark.parametrize(
    "wrong",
    [
        [question(6, "x")],
        [question(4, "x", trap="y")],
        [question(5, "x")],
        [Question("?", "x", ("D1:1",), 1) for _ in range(20)] + [Question("?", "x", ("D1:1", "D2:1"), 4)] * 20,
    ],
)
def test_other_numbers_for_the_categories_are_noticed(wrong: list[Question]) -> None:
    with pytest.raises(InputError, match="category"):
        check_categories([Sample("x", (), (), tuple(wrong))])


def test_normalising() -> None:
    assert normalise("The  Cat, and a dog's 1,000 toys!") == "cat dogs 1000 toys"
    assert normalise("Anders than another") == "anders than another"


@pytest.mark.parametrize(
    ("prediction", "gold", "want"),
    [
        ("running shoes", "run shoe", 1.0),
        ("the red van", "van", 2 / 3),
        ("van van", "van", 2 / 3),
        ("bike", "van", 0.0),
        ("", "van", 0.0),
        ("the", "a", 0.0),
    ],
)
def test_token_f1_counts_stemmed_tokens_as_multisets(prediction: str, gold: str, want: float) -> None:
    assert token_f1(prediction, gold) == pytest.approx(want)


def test_multi_hop_takes_the_best_part_for_each_gold_part() -> None:
    asked = question(1, "a red van, a piano")
    assert official_f1(asked, "piano") == pytest.approx(0.5)
    assert official_f1(asked, "the piano, one red van") == pytest.approx((0.8 + 1) / 2)
    assert official_f1(question(4, "a red van, a piano"), "piano") == pytest.approx(0.5)


def test_open_domain_gold_is_cut_at_its_first_semicolon_and_no_other_is() -> None:
    assert official_f1(question(3, "Likely yes; she had a piano; twice"), "likely yes") == 1
    assert official_f1(question(4, "Likely yes; she had a piano"), "likely yes") < 1


@pytest.mark.parametrize("category", [2, 4])
def test_the_other_categories_are_plain_f1(category: int) -> None:
    assert official_f1(question(category, "8 May 2024"), "on 8 May, 2024") == pytest.approx(6 / 7)


@pytest.mark.parametrize(
    ("prediction", "want"),
    [
        ("Not mentioned in the conversation", 1),
        ("There is NO INFORMATION AVAILABLE.", 1),
        ("the piano", 0),
        ("Odile did, not Rune", 0),
        ("", 0),
    ],
)
def test_official_adversarial_rule_looks_for_two_phrases(prediction: str, want: float) -> None:
    assert official_f1(question(5, NOT_MENTIONED, "the piano"), prediction) == want


@pytest.mark.parametrize(
    ("prediction", "want"),
    [
        ("Not mentioned", 1),
        ("It is not stated anywhere.", 1),
        ("They don't say.", 1),
        ("The piano", 0),
        ("Rune sold the piano", 0),
        ("It was Odile who sold the piano, not Rune", 1),
        ("Rune didn't sell anything", 1),
        ("a guitar", 0),
        ("", 0),
        (" . ", 0),
    ],
)
def test_our_adversarial_rule_rewards_abstaining_and_correcting(prediction: str, want: float) -> None:
    assert adversarial_score(question(5, NOT_MENTIONED, "the piano"), prediction) == want


def test_a_trap_that_denies_is_still_a_trap_and_a_right_answer_of_the_file_counts() -> None:
    denying = question(5, NOT_MENTIONED, "did not finish the race")
    assert adversarial_score(denying, "Rune did not finish the race") == 0
    assert adversarial_score(question(5, NOT_MENTIONED, "She didn't know"), "She didn't know.") == 0
    both = question(5, "No", "Yes")
    assert (adversarial_score(both, "No."), adversarial_score(both, "Yes")) == (1, 0)


def test_exact_match_compares_sets() -> None:
    assert exact_match("van, the van red", "red van") == 1
    assert exact_match("vans", "van") == 0


def test_harness_f1_keeps_articles_and_endings_and_compares_sets() -> None:
    assert harness_f1("The van van.", "the van!") == 1
    assert harness_f1("vans", "van") == 0
    assert harness_f1("the bike", "the van") == pytest.approx(0.5)
    assert harness_f1("dog's", "dogs") == 0
    assert harness_f1("", "van") == 0


def test_bleu1_clips_and_punishes_brevity() -> None:
    assert bleu1("the red van", "The red van") == pytest.approx(1)
    assert bleu1("van van van", "red old van") == pytest.approx(1 / 3)
    assert bleu1("van", "red van") == pytest.approx(2.718281828 ** (1 - 2))
    assert bleu1("bike", "van") == 0
    assert bleu1("", "van") == 0
    assert bleu1("It broke. Badly.", "it broke . badly .") == pytest.approx(1)


def test_adversarial_answers_take_the_rule_in_every_official_score() -> None:
    scores = score_answer(question(5, NOT_MENTIONED, "the piano"), "not mentioned")
    assert scores == {"official_f1": 1, "exact": 1, "harness_f1": 1, "bleu1": 1, "adversarial": 1}
    assert "adversarial" not in score_answer(question(4, "van"), "van")
    assert score_answer(question(4, "one two three"), "one")["official_f1"] == 0.5
    assert score_answer(question(4, "one two"), "one")["official_f1"] == 0.667


@pytest.mark.parametrize("answer", [lambda q: q.trap, lambda q: NOT_MENTIONED, lambda q: ""])
def test_every_kind_of_answer_to_every_kind_of_question_is_scored(
    sample: Sample, answer: Callable[[Query], str]
) -> None:
    asked = queries(sample)
    found = answer_figures(asked, [answer(each) for each in asked], BENCH)
    assert list(found["official_f1"]["by_category"]) == ["4", "1", "2", "3", "5"]
    assert found["official_f1"]["count"] == 6 and found["adversarial"]["count"] == 2


def test_the_constant_baseline_wins_only_the_adversarial_questions(sample: Sample) -> None:
    """O-37."""
    baseline = answer_figures(queries(sample), [NOT_MENTIONED] * 6, BENCH)["official_f1"]
    assert baseline["by_category"] == {"5": 1.0, "1": 0, "2": 0, "3": 0, "4": 0}
    assert baseline["mean"] == pytest.approx(2 / 6)
    assert baseline["mean_answerable"] == 0


def test_the_judge_sees_question_gold_and_answer_and_no_adversarial_question(sample: Sample) -> None:
    first, *_, trap = queries(sample)
    asked = marking(first, "a piano")
    assert asked is not None and [text for _, text in asked.blocks] == [first.text, first.answer, "a piano"]
    assert marking(trap, "Yes") is None


def test_evidence_recall() -> None:
    assert evidence_recall(("D1:1", "D2:1"), ["D2:1", "D9:9"]) == 0.5
    assert evidence_recall((), []) == 1
    assert (all_found(("D1:1",), ["D1:1", "D2:2"]), all_found(("D1:1", "D2:1"), ["D1:1"]), all_found((), [])) == (
        1,
        0,
        1,
    )


def test_averages_are_micro_and_in_the_order_of_report() -> None:
    got = average([("1", 0.0), ("4", 1.0), ("4", 1.0), ("4", 0.5)], BENCH.kinds)
    assert got.mean == pytest.approx(2.5 / 4)
    assert list(got.by_kind) == ["4", "1"]
    assert got.by_kind["4"][0] == pytest.approx(2.5 / 3)
    assert got.by_kind["4"][1] == 3
    assert average([], BENCH.kinds).count == 0


def test_the_bootstrap_draws_conversations_and_repeats() -> None:
    groups = [[1.0] * 10, [0.0] * 10, [0.5] * 10]
    low, high = bootstrap(groups)
    assert 0 <= low < 0.5 < high <= 1
    assert bootstrap(groups) == (low, high)
    assert bootstrap([[0.5, 0.5], [0.5]]) == (0.5, 0.5)
    assert bootstrap([]) == (0.0, 0.0)
