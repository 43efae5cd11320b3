"""The prompts of large models: no example that could turn up as a memory, and data that stays data."""

from __future__ import annotations

import re
from datetime import datetime
from typing import get_args

import pytest

from seem.prompts import schemas
from seem.prompts.reading import read_object
from seem.prompts.texts import Task, answer_messages, extract_messages, judge_messages, render, system
from seem.types import Event, Extraction, Fact, Passage, TimeSpan

HOSTILE = '{name} {{0}} %s %(n)d ${HOME} </s> <|im_end|> </passage> ``` \\ " \ud83d \x00 \U0001f469\u200d\U0001f467'
WHEN = TimeSpan("last week", "2024-04-29", "2024-05-05")


@pytest.mark.parametrize("task", get_args(Task))
def test_every_prompt_is_there_and_holds_no_date_or_example_person(task: Task) -> None:
    """O-02, O-09: what a prompt does not name cannot be parroted."""
    text = system(task)
    assert len(text) > 300 and not re.search(r"\d{4}", text)
    sentences = re.split(r"(?<=[.:;?!])\s+|\n|«|\"|- ", text)
    inside = {w for s in sentences for w in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+", s)}
    assert inside <= {"Monday", "Tuesday", "Friday", "Saturday", "Sunday", "User", "Assistant"}


def test_data_is_shown_whole_and_cannot_close_its_fence() -> None:
    """O-05, O-07, O-08."""
    text = render("parse", [("question", HOSTILE)])[1]["content"]
    text.encode("utf-8")
    assert text.count("<") == 2 and text.endswith("\n</question>")
    for raw in ("{name} {{0}} %s %(n)d ${HOME}", "‹|im_end|>", "```", '\\ "', "\U0001f469\u200d\U0001f467"):
        assert raw in text


def test_what_is_shown_of_passages_and_notes() -> None:
    passage = Passage("p", "m", "Hi", 1, "Ana", "s", datetime.fromisoformat("2024-05-06T09:00+02:00"), "a red kite")
    before = [Passage(str(n), "m", f"turn {n}", n, "Ben") for n in range(3)]
    shown = extract_messages(passage, before, ["Cid"])[1]["content"]
    for told in ("2024-05-06T09:00+02:00 (Monday)", "Ana, Ben, Cid", "Ben: turn 2", "Ana: Hi [image: a red kite]"):
        assert told in shown
    assert "turn 0" not in shown
    event = Event(("Ana", "Ben"), "flew a kite", WHEN, "the beach", "fun", None)
    note = (passage, Extraction("p", (event,), (Fact("Ana", "owns", "kite", WHEN),), "Kites."))
    shown = judge_messages(note, (before[0], Extraction("0")))[1]["content"]
    assert (
        "event: Ana, Ben: flew a kite; when: last week (2024-04-29 to 2024-05-05); where: the beach; why: fun" in shown
    )
    assert "fact: Ana owns kite; when: 2024-04-29 to 2024-05-05" in shown and "said at: unknown" in shown
    assert "</evidence>\n\n<question>" in answer_messages("Why?", "x </evidence>")[1]["content"]


@pytest.mark.parametrize(
    ("text", "value", "complete"),
    [
        ('{"a": [1]}', {"a": [1]}, True),
        ('<think>{"a": 0}</think>Here {it} is: ```json\n{"a": "}\\""}\n```', {"a": '}"'}, True),
        ('{"events": [{"p": ["x", "y"], "t": {"text": "1"}}, {"p": ["z"', {"events": [{"p": ["x", "y"], "t": {"text": "1"}}]}, False),
        ('{"events": [{"a": 1}], "facts": [{"s": 1}, {"s"', {"events": [{"a": 1}], "facts": [{"s": 1}]}, False),
        ('{"events": [{"a": 1},]}', {"events": [{"a": 1}]}, False),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}, True),
        ("{" + "\n" * 3000, None, False),
        ("{" * 5000, None, False),
        ('{"a": ' + "[" * 100_000, None, False),
        ("<think>never ends {", None, False),
        ("they look alike", None, False),
        ("", None, False),
        ("{}", None, False),
    ],
)  # fmt: skip
def test_an_answer_is_read_as_far_as_it_is_whole(text: str, value: object, complete: bool) -> None:
    """O-01."""
    read = read_object(text)
    assert (read.value, read.complete) == (value, complete)


def test_schemas_are_strict() -> None:
    def objects(schema: object) -> list[dict[str, object]]:
        if isinstance(schema, dict):
            found = [schema] if schema.get("type") == "object" else []
            return found + [o for inner in schema.values() for o in objects(inner)]
        return [o for inner in schema for o in objects(inner)] if isinstance(schema, list) else []

    names = [n for n in vars(schemas) if n.isupper() and not n.startswith("_")]
    assert len(names) == 8
    for schema in (getattr(schemas, n) for n in names):
        for part in objects(schema):
            assert part["additionalProperties"] is False and part["required"] == list(part["properties"])  # type: ignore[call-overload]
