"""The same again: a client's retry adds nothing, a repeat adds a source, an update arrives."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from seem.models.fakes import ScriptedExtractor
from seem.types import Event, Extraction, Fact, Passage
from tests.flows.people import PLANTED, TARTU, memory, said, texts
from tests.robustness.scan import sound


def message(text: str, own: str, time: str = "2024-01-02T10:00+00:00") -> dict[str, Any]:
    return {"role": "user", "name": "Ana", "content": text, "id": own, "timestamp": time}


def test_a_retry_while_the_first_still_runs_and_after_a_restart_changes_nothing(tmp_path: Path) -> None:
    """O-15: one passage, one set of frames, and every reply carries the same ids."""
    began, go_on = threading.Event(), threading.Event()

    def slow(passage: Passage) -> None:
        began.set()
        assert go_on.wait(60)

    told: list[dict[str, Any]] = []

    with memory(tmp_path, ScriptedExtractor(before=slow)) as opened:

        def send() -> None:
            told.append(opened.add([message(PLANTED, "m1")], user_id="ana")["results"][0])

        senders = [threading.Thread(target=send) for _ in range(3)]
        senders[0].start()
        assert began.wait(60)
        for sender in senders[1:]:
            sender.start()
        go_on.set()
        for sender in senders:
            sender.join()
        send()
        assert sound(opened)
    with memory(tmp_path) as opened:
        told.append(opened.add([message(PLANTED, "m1")], user_id="ana")["results"][0])
        assert [item["event"] for item in told].count("ADD") == 1
        assert len({item["id"] for item in told}) == len({item["frame"]["id"] for item in told}) == 1
        counts = opened.parts.store.stats(None)
        assert (counts["passages"], counts["frames"]) == (1, 1)
        assert sound(opened)


def test_the_same_words_under_another_id_are_another_source_of_the_same_event(tmp_path: Path) -> None:
    """O-15: said twice on one day by one person in one session; no judge is asked."""
    script = {TARTU: Extraction("", (Event(("Ana",), "live in Tartu"),), (Fact("Ana", "lives in", "Tartu"),))}
    with memory(tmp_path, ScriptedExtractor(script)) as opened:
        first = opened.add([message(TARTU, "m1")], user_id="ana")["results"][0]
        again = opened.add([message(TARTU, "m2", "2024-01-02T10:05+00:00")], user_id="ana")["results"][0]
        assert again["id"] != first["id"]
        assert again["frame"]["passages"] == [first["id"], again["id"]]
        assert again["facts"][0]["passages"] == [first["id"], again["id"]]
        later = opened.add([message(TARTU, "m3", "2024-03-02T10:05+00:00")], user_id="ana")["results"][0]
        assert later["frame"]["passages"] == [later["id"]]
        assert sound(opened)


FIVE, SIX = "I have volunteered at the archive for five years.", "I have volunteered at the archive for six years now."


def test_a_repeat_does_not_swallow_the_update(tmp_path: Path) -> None:
    """O-17: three passages, the second a further source, the third a further fact; nothing is skipped unsaid."""
    script = {
        FIVE: Extraction("", (Event(("Ana",), "volunteered"),), (Fact("Ana", "has volunteered for", "five years"),)),
        SIX: Extraction("", (Event(("Ana",), "volunteered"),), (Fact("Ana", "has volunteered for", "six years"),)),
    }
    days = ((FIVE, "2023-02-10"), (FIVE, "2023-02-11"), (SIX, "2024-02-12"))
    with memory(tmp_path, ScriptedExtractor(script)) as opened:
        told = [opened.add(said(text), user_id="ana", timestamp=day)["results"][0] for text, day in days]
        assert [item["event"] for item in told] == ["ADD"] * 3 and len({item["id"] for item in told}) == 3
        assert texts(opened.get_all(user_id="ana")) == [FIVE, FIVE, SIX]
        five, six = told[0]["facts"][0], told[2]["facts"][0]
        assert opened.get(five["id"])["passages"] == [told[0]["id"], told[1]["id"]]
        assert (six["object"], six["valid_at"], six["invalid_at"]) == ("six years", "2024-02-12", None)
        assert SIX in opened.search("How long has Ana volunteered?", user_id="ana")["context"]
        assert sound(opened)
