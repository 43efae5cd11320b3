"""Grounding: what the source does not hold is dropped and counted, and no denial is lost on the way."""

from __future__ import annotations

from datetime import UTC, datetime

from seem.prompts.lines import parse
from seem.prompts.window import windows
from seem.types import Passage
from seem.write.ground import Grounded, ground


def grounded(text: str, output: str, speaker: str = "Alva", others: tuple[str, ...] = ("Bo",)) -> Grounded:
    passage = Passage("p", "m", text, speaker=speaker, time=datetime(2021, 11, 9, 18, 20, tzinfo=UTC))
    return ground(windows(passage, [], others)[0], passage, parse(output))


def test_a_stranger_is_dropped_and_counted() -> None:
    out = grounded(
        "Wind the bobbin before threading.", "E Amara Holt; Alva| Wind the bobbin\nE Amara Holt| Wind the bobbin\n"
    )
    assert [e.participants for e in out.events] == [("Alva",)]
    assert out.dropped == 3


def test_time_words_become_dates_by_code() -> None:
    out = grounded("I mended the gate yesterday.", "E Alva| mended the gate|when yesterday\n")
    assert out.events[0].time is not None
    assert (out.events[0].time.start, out.events[0].time.end) == ("2021-11-08", "2021-11-08")


def test_never_is_kept_with_what_it_forbids() -> None:
    out = grounded("Never give Biscuit grapes.", "E Alva| give Biscuit grapes\nF Biscuit| eats| grapes\n")
    assert out.events[0].action == "Never give Biscuit grapes"
    assert out.facts == ()


def test_a_denied_fact_may_say_so() -> None:
    out = grounded("Biscuit must not eat grapes.", "F Biscuit| must not eat| grapes\n")
    assert [(f.subject, f.relation, f.object) for f in out.facts] == [("Biscuit", "must not eat", "grapes")]


def test_a_relation_cannot_invent_a_denial() -> None:
    assert grounded("Biscuit eats carrots.", "F Biscuit| does not eat| carrots\n").facts == ()


def test_first_person_becomes_the_speaker() -> None:
    out = grounded(
        "My brother broke his wrist and I drove.",
        "E My brother| broke his wrist\nE I| drove\nF My brother| broke| his wrist\n",
    )
    assert [e.participants for e in out.events] == [("Alva's brother",), ("Alva",)]
    assert out.facts[0].subject == "Alva's brother"


def test_a_pronoun_is_no_end_of_a_fact() -> None:
    assert grounded("She likes it a lot.", "F She| likes| it\n").facts == ()


def test_copied_words_come_back_as_they_stood() -> None:
    out = grounded("pushed `{name} | %s; <b>` to main", "E Alva| pushed `{name} / %s, ‹b>` to main\n")
    assert out.events[0].action == "pushed `{name} | %s; <b>` to main"
