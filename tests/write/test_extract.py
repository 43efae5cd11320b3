"""The tuned extractor around a decoder that is cut off: whole lines are kept, the rest is asked again in halves, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from seem.models.adapters import Manifest
from seem.models.base import BaseModel
from seem.models.greedy import Generated, Request
from seem.prompts.window import halves, windows
from seem.types import Extraction, Passage
from seem.write.extract import TunedExtractor

PIANO = "I sold the piano on Saturday. Rune fetched it with a van. We settled on 340 crowns."
CUT = "E Odile| sold the piano|when on Saturday\nE Rune| fetched it|how with a van\nE Odile| settled on 3"
Writes = Callable[[str], tuple[str, bool]]


class Writing:
    """Writes what it is told for the words that a prompt shows; counts the prompts of each call."""

    batch_size = 8
    base = BaseModel("writing", Path("."), "0" * 64)

    def __init__(self, writes: Writes) -> None:
        self.writes = writes
        self.calls: list[int] = []

    def load(self, adapter: str, *, task: str) -> Manifest:
        return Manifest(task, "writing", "", "", "1")

    def generate(self, requests: Sequence[Request], *, task: str, max_tokens: int) -> list[Generated]:
        self.calls += [len(requests)] if requests else []
        told = [self.writes(request.prompt.split("\n")[-3]) for request in requests]
        return [Generated(text, finished, -0.1, len(text), 0) for text, finished in told]


def extract(writes: Writes, text: str = PIANO) -> tuple[Extraction, list[int]]:
    decoder: Any = Writing(writes)
    [found] = TunedExtractor(decoder).extract([(Passage("p1", "m", text, speaker="Odile"), [], ["Odile"])])
    return found, decoder.calls


def actions(found: Extraction) -> list[str]:
    return [event.action for event in found.events]


def test_a_cut_off_answer_is_asked_again_in_halves_and_nothing_is_told_twice() -> None:
    """O-01 (a)."""

    def writes(shown: str) -> tuple[str, bool]:
        if "Saturday" in shown and "crowns" in shown:
            return CUT, False
        lines = {
            "piano": "E Odile| sold the piano\n",
            "van": "E Rune| fetched it\n",
            "crowns": "E Odile| settled on 340 crowns\n",
        }
        return "".join(line for cue, line in lines.items() if cue in shown), True

    found, calls = extract(writes)
    assert actions(found) == ["sold the piano", "fetched it", "settled on 340 crowns"]
    assert not found.truncated and calls == [1, 2]


def test_what_was_whole_is_kept_where_the_halves_give_less() -> None:
    """O-01 (a)."""
    found, calls = extract(lambda shown: (CUT, False) if "Saturday" in shown and "crowns" in shown else ("E Od", False))
    assert actions(found) == ["sold the piano", "fetched it"]
    assert found.truncated and calls == [1, 2]


@pytest.mark.parametrize("text", ["\n" * 3000, "{" + "\n" * 3000, "E Odile| " + "a" * 3000, "", "none none none"])
def test_an_answer_without_end_costs_two_calls_and_says_so(text: str) -> None:
    """O-01 (b)."""
    found, calls = extract(lambda _shown: (text, False))
    assert (found.events, found.facts, found.truncated) == ((), (), True)
    assert calls == [1, 2]


def test_one_word_cannot_be_halved() -> None:
    """O-01 (b)."""
    found, calls = extract(lambda _shown: ("E", False), "Yes")
    assert found.truncated and calls == [1]


@pytest.mark.parametrize(
    "text", [PIANO, "one two", "a" * 3000, "No end here\nbut a line break", "。".join(["林舟买了书"] * 9)]
)
def test_halves_hold_every_word_and_the_picture_once(text: str) -> None:
    [window] = windows(Passage("p", "m", text[:400], speaker="Ana", image="a cat"), ())
    first, second = halves(window)
    both = f"{first.turn.text} {second.turn.text}".split()
    assert "".join(both) == "".join(window.turn.text.split())
    assert (first.image.text, second.image.text) == ("", "a cat")
    assert second.before_speaker == "Ana" and len(first.turn.text) < len(window.turn.text)
