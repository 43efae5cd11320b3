"""Labels onto spans: the twin holds copied words only, and never with the other polarity."""

from __future__ import annotations

from seem.prompts.window import windows
from seem.types import Event, Extraction, Fact, Passage, TimeSpan
from seem.write.ground import shown_words
from seem.write.polarity import is_negated
from training.corpus import split
from training.examples.extract import labelled
from training.examples.projection import project


def projected(text: str, label: Extraction) -> Extraction:
    return project(windows(Passage("p", "m", text, speaker="Ana"), [], ["Ben"])[0], label)[0]


def test_each_slot_is_a_run_of_the_words_shown() -> None:
    for turn in labelled(split("dev"))[:150]:
        window = windows(turn.passage, turn.context, turn.names)[0]
        twin, _ = project(window, turn.label)
        shown = " ".join(" ".join(text.split()) for text in shown_words(window)).translate(str.maketrans("|;<", "/,‹"))
        for event in twin.events:
            for value in (*event.participants, event.action, event.location, event.causality, event.manner):
                assert value is None or value in shown


def test_a_denied_label_never_loses_its_denial() -> None:
    label = Extraction("p", (Event(("Ana",), "did not get the job"),))
    assert projected("So I didn't get the job, they took Ben.", label).events[0].action == "didn't get the job"
    assert projected("They gave the job to Ben.", label).events == ()


def test_polarity_agrees_over_the_corpus() -> None:
    flips = pairs = 0
    for turn in labelled(split("dev")):
        window = windows(turn.passage, turn.context, turn.names)[0]
        one = Extraction("p", turn.label.events[:1])
        twin, _ = project(window, one)
        if twin.events:
            pairs += 1
            flips += is_negated(twin.events[0].action) != is_negated(one.events[0].action)
    assert pairs > 150 and flips == 0


def test_a_person_is_a_name_where_the_words_say_i() -> None:
    label = Extraction(
        "p",
        (Event(("Ana", "Ana's brother"), "drove to Riga"),),
        (Fact("Ana's brother", "lives in", "Riga", TimeSpan("since May")),),
    )
    twin = projected("I drove to Riga, my brother lives there since May.", label)
    assert twin.events[0].participants == ("Ana", "my brother")
    assert twin.facts[0].subject == "my brother" and twin.facts[0].time == TimeSpan("since May")
