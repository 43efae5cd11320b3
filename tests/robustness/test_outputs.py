"""What a model may give that is cut off, invented, out of the list or unreadable: nothing is lost and nothing is made up."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from seem.memory import Memory
from seem.models.fakes import ScriptedExtractor
from seem.store.reader import MAX_ATTEMPTS
from seem.types import Event, Extraction, Fact
from tests.flows.people import GROWING, PAINTED, PLANTED, memory, parts, said
from tests.robustness.scan import scan, sound
from tests.serving.house import house

PIANO = "I sold the piano on Saturday. Rune fetched it with a van. We settled on 340 crowns."
SOLD, FETCHED, SETTLED = (
    Event(("Ana",), "sold the piano"),
    Event(("Rune",), "fetched it"),
    Event(("Ana", "Rune"), "settled"),
)
CUT = Extraction("", (SOLD, FETCHED), (Fact("Ana", "sold", "piano"),), truncated=True)
WHOLE = Extraction("", (SOLD, FETCHED, SETTLED), (Fact("Ana", "sold", "piano"), Fact("Rune", "fetched", "piano")))
NOTHING = Extraction("", truncated=True)


def actions(item: dict[str, Any]) -> list[str]:
    return [event["action"] for event in item["frame"]["events"]] if item["frame"] else []


def test_what_was_whole_of_a_cut_off_answer_is_kept_and_the_rest_asked_again(tmp_path: Path) -> None:
    """O-01 (a): two at once, three after a retry, never none, none twice, and not done while incomplete."""
    extractor = ScriptedExtractor({PIANO: CUT})
    with memory(tmp_path, extractor) as opened:
        told = opened.add(said(PIANO), user_id="ana")["results"][0]
        assert (told["status"], actions(told)) == ("failed", ["sold the piano", "fetched it"])
        assert "cut off" in told["error"] and "retry" in told["error"]
        assert opened.parts.store.stats(None)["failed"] == 1
        assert list(opened.retry()["failed"]) == [told["id"]]
        assert actions(opened.get(told["id"])) == ["sold the piano", "fetched it"]
        extractor.script[PIANO] = WHOLE
        assert opened.retry() == {"done": 1, "failed": {}}
        now = opened.get(told["id"])
        assert (now["status"], actions(now)) == ("done", ["sold the piano", "fetched it", "settled"])
        assert now["frame"]["id"] == told["frame"]["id"] and opened.parts.store.stats(None)["frames"] == 1
        assert sorted(fact["subject"] for fact in now["facts"]) == ["Ana", "Rune"]
        assert sound(opened)


def test_a_worse_second_answer_loses_nothing(tmp_path: Path) -> None:
    """O-01: a retry that is cut off earlier than the first keeps what the first gave."""
    extractor = ScriptedExtractor({PIANO: CUT})
    with memory(tmp_path, extractor) as opened:
        told = opened.add(said(PIANO), user_id="ana")["results"][0]
        extractor.script[PIANO] = NOTHING
        opened.retry()
        assert actions(opened.get(told["id"])) == ["sold the piano", "fetched it"]
        assert sound(opened)


def test_an_answer_without_end_costs_a_bounded_number_of_calls_and_loses_no_word(tmp_path: Path) -> None:
    """O-01 (b): the words are stored and found, and the status says that they wait."""
    extractor = ScriptedExtractor({PIANO: NOTHING})
    with memory(tmp_path, extractor) as opened:
        told = opened.add(said(PIANO), user_id="ana")["results"][0]
        for _ in range(MAX_ATTEMPTS + 3):
            opened.retry()
        assert len(extractor.calls) == MAX_ATTEMPTS
        assert opened.get(told["id"])["status"] == "failed"
        assert opened.search("piano", user_id="ana")["results"][0]["memory"] == PIANO
        assert sound(opened)


def test_the_reply_over_http_says_what_still_waits(tmp_path: Path) -> None:
    """O-01 (b)."""

    async def run() -> None:
        async with house(tmp_path, extractor=ScriptedExtractor({PIANO: NOTHING})) as home, home.client() as ana:
            told = (await ana.post("/v1/memories", json={"messages": said(PIANO), "user_id": "ana"})).json()
            assert told["results"][0]["status"] == "failed" and "cut off" in told["results"][0]["error"]

    asyncio.run(run())


BOBBIN = "Wind the bobbin before threading. Oil the hook every eight hours."


def test_a_stranger_whom_nobody_named_is_refused_and_counted(tmp_path: Path) -> None:
    """O-02: whichever model gave it, and wherever in the extraction the name stands."""
    script = Extraction(
        "",
        (
            Event(("Amara Holt", "bobbin"), "wind before threading", location="Amara Hall"),
            Event(("Amara Holt",), "won the cup"),
            Event(("hook",), "was oiled by Amara"),
        ),
        (Fact("Amara Holt", "won", "bobbin"), Fact("hook", "needs", "oil"), Fact("hook", "belongs to", "Amara Holt")),
        "Amara Holt winds the bobbin.",
    )
    with memory(tmp_path, ScriptedExtractor({BOBBIN: script})) as opened:
        told = opened.add(said(BOBBIN), user_id="ana")["results"][0]
        assert [e["participants"] for e in told["frame"]["events"]] == [["bobbin"]]
        assert [f["subject"] for f in told["facts"]] == ["hook"]
        assert "Amara" not in scan(opened)
        with opened.pipeline.states.state("user_id:ana") as state:
            assert state.extractions[told["id"]].dropped == 6
        assert sound(opened)


def test_who_was_named_earlier_in_the_memory_is_no_stranger(tmp_path: Path) -> None:
    """O-02: a name may come from another passage, from who spoke, or inflected."""
    script = Extraction(
        "", (Event(("Rune", "Ana"), "came", location="Rune's house"),), (Fact("Rune", "visited", "Ana"),)
    )
    with memory(tmp_path, ScriptedExtractor({"He came over.": script})) as opened:
        opened.add(said("I met Rune."), user_id="ana")
        told = opened.add(said("He came over."), user_id="ana")["results"][0]
        assert told["frame"]["events"][0]["location"] == "Rune's house" and len(told["facts"]) == 1


class Odd:
    """A judge that answers every pair with the same thing, whatever it is."""

    name = "odd"
    threshold = 0.5

    def __init__(self, verdict: Any) -> None:
        self.verdict = verdict

    def score(self, pairs: Any) -> Any:
        return [self.verdict] * len(pairs)


@pytest.mark.parametrize("verdict", ["12", "", "p1 p2", "they look alike", None, float("nan"), 12, ["a", "b"]])
def test_a_verdict_outside_the_list_merges_nothing_and_is_kept(tmp_path: Path, verdict: Any) -> None:
    """O-03."""
    given = parts(tmp_path)
    given.judge = Odd(verdict)
    with Memory(parts=given) as opened:
        told = opened.add(said(PLANTED, GROWING, PAINTED), user_id="ana", timestamp="2024-01-02T10:00Z")["results"]
        assert len({item["frame"]["id"] for item in told}) == 3
        kept = [e["new_memory"] for e in opened.history(told[1]["id"]) if e["event"] == "UNREADABLE"]
        assert kept == [repr(verdict)]
        assert sound(opened)


def test_an_extraction_of_a_passage_that_nobody_showed_is_ignored(tmp_path: Path) -> None:
    """O-03: what a model refers to must have been offered; what it left out stays queued."""

    class Lost(ScriptedExtractor):
        def extract(self, items: Any, *, progress: Any = None) -> list[Extraction]:
            return [Extraction("p_nobody", (SOLD,))]

    with memory(tmp_path, Lost()) as opened:
        told = opened.add(said(PIANO), user_id="ana")["results"][0]
        assert (told["status"], told["frame"]) == ("pending", None)
        assert sound(opened)
