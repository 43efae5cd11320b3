"""Stage metrics by small cases, and the agreement of two teachers that the corpus's guide reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from seem.errors import InputError
from seem.types import Event, Extraction, Fact, TimeSpan
from training.evaluate.metrics import content_tokens, score, token_f1, tokens
from training.evaluate.slots import (
    event_similarity,
    negated,
    null_score,
    report,
    time_exact,
    unsupported,
)
from training.judge.metrics import (
    average_precision,
    b_cubed,
    false_merges,
    proportion,
    recall_at_precision,
    trap_kind,
)
from training.judge.metrics import report as judge_report

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"


def span(raw: dict[str, Any] | None) -> TimeSpan | None:
    return TimeSpan(raw["text"], raw["start"], raw["end"]) if raw else None


def extraction(turn: dict[str, Any]) -> Extraction:
    """Read a turn of the corpus."""
    events = [
        Event(
            tuple(each["participants"]),
            each["action"],
            span(each["time"]),
            each["location"],
            each["causality"],
            each["manner"],
        )
        for each in (turn["frame"] or {"events": []})["events"]
    ]
    facts = [Fact(each["s"], each["r"], each["o"], span(each["time"])) for each in turn["facts"]]
    return Extraction(turn["id"], tuple(events), tuple(facts))


def turns(path: Path) -> dict[str, Extraction]:
    sessions = json.loads(path.read_text(encoding="utf-8"))["sessions"]
    return {turn["id"]: extraction(turn) for session in sessions for turn in session["turns"]}


def said(*events: Event, facts: tuple[Fact, ...] = ()) -> Extraction:
    return Extraction("p_1", events, facts)


def test_two_teachers_agree_as_the_guide_says() -> None:
    gold: list[Extraction] = []
    second: list[Extraction] = []
    for path in sorted((CORPUS / "second").glob("*.json")):
        labels, others = turns(CORPUS / "conversations" / path.name), turns(path)
        gold += [labels[name] for name in others]
        second += others.values()
    assert len(gold) == 55
    got = report(gold, second)
    assert got.null.f1 == pytest.approx(0.96, abs=0.01)
    assert got.slots.f1 == pytest.approx(0.65, abs=0.01)
    assert got.facts.f1 == pytest.approx(0.66, abs=0.01)
    assert got.intervals_equal == pytest.approx((40 / 44, 44))
    guide = {
        "participants": 0.75,
        "action": 0.59,
        "time": 0.80,
        "location": 0.67,
        "causality": 0.48,
        "manner": 0.47,
    }
    assert {slot: each.f1 for slot, each in got.by_slot.items()} == pytest.approx(guide, abs=0.045)
    assert report(gold, gold).slots.f1 == report(gold, gold).facts_strict.f1 == 1


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("The Running shoes", ("run", "shoe")),
        ("didn't go", ("did", "not", "go")),
        ("can't, cannot, won\u2019t", ("can", "not", "can", "not", "will", "not")),
        ("isn't", ("is", "not")),
        ("Tom's van", ("tom", "van")),
        ("at 5:30pm, for 1,000 kr", ("at", "5:30", "pm", "for", "1,000", "kr")),
        ("the end.Next", ("end", "next")),
        ("run_id café", ("run", "id", "café")),
        ("a", ()),
    ],
)
def test_tokens(text: str, want: tuple[str, ...]) -> None:
    assert tokens(text) == want


def test_content_tokens_keep_negations_and_drop_function_words() -> None:
    assert content_tokens("She did not go to the market in May") == {"not", "go", "market", "may"}


def test_token_f1_counts_multisets() -> None:
    assert token_f1("the red van", "red vans") == 1
    assert token_f1("van van", "van") == pytest.approx(2 / 3)
    assert (token_f1("", "van"), token_f1("", ""), token_f1("bike", "van")) == (0, 1, 0)


def test_a_score_with_an_empty_side_is_zero() -> None:
    assert (score(0, 0, 3).f1, score(0, 3, 0).f1, score(0, 0, 0).f1) == (0, 0, 0)
    assert score(1, 1, 2).f1 == pytest.approx(2 / 3)


def test_null_score_has_nothing_to_remember_as_its_positive_class() -> None:
    event, nothing = said(Event(("Tom",), "ran")), said()
    got = null_score([nothing, nothing, event, event], [nothing, event, nothing, event])
    assert (got.precision, got.recall, got.support, got.predicted) == (0.5, 0.5, 2, 2)


def test_similarity_is_over_the_slots_that_either_side_fills() -> None:
    one = Event(("Tom",), "ran", location="Oslo")
    other = Event(("Tom",), "ran", TimeSpan("last Tuesday"))
    assert event_similarity(one, other) == pytest.approx(2 / 4)


def test_slots_are_scored_over_aligned_pairs_and_counted_over_all_events() -> None:
    gold = said(Event(("Tom",), "ran home"), Event(("Mei",), "sang", location="Oslo"))
    predicted = said(
        Event(("Mei",), "sang", location="Bergen"),
        Event(("Tom",), "ran"),
        Event(("Rune",), "sold the piano"),
    )
    got = report([gold], [predicted])
    action = got.by_slot["action"]
    assert (action.support, action.predicted) == (2, 3)
    assert action.recall == pytest.approx((2 / 3 + 1) / 2)
    assert action.precision == pytest.approx((2 / 3 + 1) / 3)
    assert got.by_slot["location"].f1 == 0
    assert (got.slots.support, got.slots.predicted) == (5, 7)
    assert got.slots.recall == pytest.approx((2 + 2 / 3 + 1) / 5)
    assert got.slots_strict.recall == pytest.approx(3 / 5)


def test_alignment_takes_the_best_sum_and_not_the_first_best_pair() -> None:
    gold = said(Event(("Tom",), "ran a race today"), Event(("Tom",), "ran a race home"))
    predicted = said(Event(("Tom",), "ran a race home"), Event(("Tom",), "home"))
    assert report([gold], [predicted]).by_slot["action"].recall == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_pairs_at_or_below_the_line_do_not_count() -> None:
    gold, predicted = said(Event(("Tom",), "ran")), said(Event(("Mei",), "sold the old piano"))
    got = report([gold], [predicted])
    assert (got.slots.f1, got.slots.predicted, got.polarity_flips) == (0, 2, (0, 0))


def test_an_event_in_a_turn_without_any_costs_precision() -> None:
    got = report([said()], [said(Event(("Tom",), "ran"))])
    assert (got.slots.predicted, got.slots.support, got.null_accuracy) == (2, 0, (0, 1))


def test_participants_are_compared_once_after_folding_aliases() -> None:
    gold, predicted = said(Event(("User", "Tom"), "ran")), said(Event(("the user", "Tommy", "Tom"), "ran"))
    folded = report([gold], [predicted], aliases={"the user": "User", "tommy": "Tom"})
    assert folded.by_slot["participants"].f1 == 1
    assert report([gold], [predicted]).by_slot["participants"].f1 < 1


def test_facts_are_compared_as_one_text_and_their_ends_folded() -> None:
    gold = said(facts=(Fact("Tom", "lives in", "Oslo"), Fact("Tom", "owns", "van")))
    predicted = said(facts=(Fact("Tommy", "owns", "red van"),))
    got = report([gold], [predicted], aliases={"tommy": "Tom"}).facts
    assert (got.precision, got.recall) == pytest.approx((6 / 7, 3 / 7))


@pytest.mark.parametrize(
    ("action", "want"),
    [
        ("did not get the job", True),
        ("isn't coming", True),
        ("isn\u2019t coming", True),
        ("no longer eats meat", True),
        ("left without paying", True),
        ("Never sang", True),
        ("cannot swim", True),
        ("knows a notary in November", False),
        ("is allergic to nuts", False),
    ],
)
def test_negation(action: str, want: bool) -> None:
    assert negated(action) is want


def test_a_polarity_flip_is_one_side_negated_of_an_aligned_pair() -> None:
    gold = [said(Event(("Tom",), "is allergic to nuts"), Event(("Mei",), "did not sing"))]
    flipped = [said(Event(("Tom",), "is not allergic to nuts"), Event(("Mei",), "didn't sing"))]
    assert report(gold, flipped).polarity_flips == (0.5, 2)


def test_unsupported_counts_slots_with_a_word_that_was_not_shown() -> None:
    shown = [["Tom", "Mei: I sold my old pianos yesterday, not the van.", "friend"]]
    extraction = said(
        Event(("Mei",), "sold the old piano", TimeSpan("yesterday"), location="Oslo", manner="not happily"),
        facts=(Fact("Mei", "invented relation", "a piano", TimeSpan("last Tuesday")),),
    )
    assert unsupported([extraction], shown) == pytest.approx((3 / 8, 8))
    assert report([extraction], [extraction], shown=shown).unsupported == pytest.approx((3 / 8, 8))
    assert report([extraction], [extraction]).unsupported == (0, 0)
    with pytest.raises(InputError, match="windows"):
        unsupported([extraction], [])


def test_time_exact_wants_both_ends_and_asks_only_where_gold_has_a_time() -> None:
    gold = [TimeSpan("x", "2024", "2024"), TimeSpan("x", "2024", None), TimeSpan("x"), None]
    got = [TimeSpan("y", "2024", "2024"), TimeSpan("y", "2024", "2024"), None, TimeSpan("z")]
    assert time_exact(gold, got) == pytest.approx((1 / 3, 3))


def test_lists_of_other_turns_are_refused() -> None:
    with pytest.raises(InputError, match="same turns"):
        report([Extraction("p_1")], [Extraction("p_2")])


def test_clopper_pearson_bounds() -> None:
    assert proportion(0, 10).low == 0
    assert proportion(0, 10).high == pytest.approx(1 - 0.025**0.1)
    assert proportion(10, 10).low == pytest.approx(0.025**0.1)
    assert (proportion(10, 10).high, proportion(0, 0).count) == (1, 0)
    middle = proportion(8, 10)
    assert (middle.low, middle.high) == pytest.approx((0.4439, 0.9748), abs=1e-4)
    with pytest.raises(InputError):
        proportion(3, 2)


def test_the_judge_is_counted_from_its_threshold_on() -> None:
    got = judge_report([0.9, 0.8, 0.5, 0.2], [True, False, True, True], 0.5)
    assert (got.precision.value, got.precision.count) == pytest.approx((2 / 3, 3))
    assert (got.recall.value, got.recall.count) == pytest.approx((2 / 3, 3))
    with pytest.raises(InputError, match="label"):
        judge_report([0.9], [True, False], 0.5)


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_equals_the_known_one_ties_included(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = rng.integers(0, 6, 40) / 5, rng.random(40) < 0.3
    assert average_precision(scores, labels) == pytest.approx(average_precision_score(labels, scores))


def test_recall_at_a_wanted_precision() -> None:
    scores, labels = [0.9, 0.8, 0.7, 0.6], [True, False, True, True]
    assert recall_at_precision(scores, labels, 0.75) == (1, 0.6)
    assert recall_at_precision(scores, labels, 0.95) == pytest.approx((1 / 3, 0.9))
    assert recall_at_precision([0.9], [False], 0.95) == (0, float("inf"))


def test_false_merges_by_kind_of_trap() -> None:
    got = false_merges([0.9, 0.1, 0.1, 0.95], ["plan and execution"] * 3 + ["other person"], 0.9)
    assert (got["plan and execution"].value, got["other person"].value) == pytest.approx((1 / 3, 1))


@pytest.mark.parametrize(
    ("why", "want"),
    [
        ("plan and execution: the court date set and held", "plan and execution"),
        ("wish and execution: a swim", "plan and execution"),
        ("a cancelled plan and its replacement", "plan and its change"),
        ("plan and its failure: the scooter", "plan and its change"),
        ("event and its aftermath: x", "cause and effect"),
        ("Retold hypothetically: x", "retold hypothetically"),
        ("same kind, other event: x", "same kind, other instance"),
        ("other person: x", "other person"),
        ("same person, other event", "same topic, other event"),
    ],
)
def test_trap_kinds(why: str, want: str) -> None:
    assert trap_kind(why) == want


def test_b_cubed() -> None:
    gold = {"a": 1, "b": 1, "c": 2, "d": 3, "e": 4}
    merged = {"a": 1, "b": 1, "c": 1, "d": 3, "e": 4}
    got = b_cubed(gold, merged)
    assert got.precision == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1 + 1) / 5)
    assert got.recall == 1
    bare = b_cubed(gold, merged, singletons=False)
    assert bare.support == 3
    assert bare.precision == pytest.approx(5 / 9)
    apart = b_cubed(gold, {item: item for item in gold}, singletons=False)
    assert (apart.support, apart.precision, apart.recall) == (2, 1, 0.5)
    assert b_cubed(gold, gold).f1 == 1
    assert b_cubed({"a": 1}, {"a": 9}, singletons=False).support == 0
    with pytest.raises(InputError, match="items"):
        b_cubed(gold, {"a": 1})
