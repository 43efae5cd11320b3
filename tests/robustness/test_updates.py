"""What changed: the old holds until its day, the new from then on, and both can be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from seem.models.fakes import ScriptedExtractor
from seem.types import Event, Extraction, Fact
from tests.flows.people import memory, said
from tests.robustness.scan import sound

CHANGES = {
    "home": (("I live in Tartu.", ("lives in", "Tartu")), ("I moved to Narva.", ("moved to", "Narva"))),
    "liking": (("I adore coriander.", ("adores", "coriander")), ("I cannot stand coriander any more.", ("cannot stand", "coriander"))),
    "habit": (("I take the 7:10 train.", ("takes", "the 7:10 train")), ("I no longer take the 7:10 train.", ("no longer takes", "the 7:10 train"))),
    "job": (("I work at the bakery.", ("works at", "the bakery")), ("I no longer work at the bakery.", ("no longer works at", "the bakery"))),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_closes_the_old_fact_on_its_day_and_leaves_one_that_holds(tmp_path: Path, name: str) -> None:
    """O-19, O-11 (c): whatever the offset of the moments; asked as of before, the old one holds."""
    told = [(text, "Ana", relation, thing) for text, (relation, thing) in CHANGES[name]]
    script = {
        text: Extraction("", (Event((who,), f"{relation} {thing}"),), (Fact(who, relation, thing),))
        for text, who, relation, thing in told
    }
    with memory(tmp_path, ScriptedExtractor(script)) as opened:
        opened.add(said(told[0][0]), user_id="ana", timestamp="2024-04-02T23:00+05:00")
        opened.add(said(told[1][0]), user_id="ana", timestamp="2024-05-02 09:00")
        facts = {f["relation"]: f for f in opened.search("what does Ana do?", user_id="ana")["facts"]}
        old, new = (opened.get(facts[relation]["id"]) for _, _, relation, _ in told)
        assert (old["valid_at"], old["invalid_at"], old["superseded_by"]) == ("2024-04-02", "2024-05-02", new["id"])
        assert (new["valid_at"], new["invalid_at"]) == ("2024-05-02", None)
        before = opened.search("what does Ana do?", user_id="ana", as_of="2024-04-20T12:00+00:00")
        assert [f["relation"] for f in before["facts"]] == [told[0][2]]
        assert told[1][0] not in before["context"]
        assert sound(opened)


def test_a_further_fact_about_the_same_pair_closes_none(tmp_path: Path) -> None:
    """O-18."""
    first, second = (
        "Petra conducts the Harbour Choir.",
        "Petra also keeps the Harbour Choir's accounts and lent it her van.",
    )
    events = (Event(("Petra",), "keeps the Harbour Choir's accounts"),)
    script = {
        first: Extraction("", (Event(("Petra",), "conducts the Harbour Choir"),), (Fact("Petra", "conducts", "Harbour Choir"),)),
        second: Extraction("", events, (Fact("Petra", "keeps accounts of", "Harbour Choir"), Fact("Petra", "lent a van to", "Harbour Choir"))),
    }  # fmt: skip
    with memory(tmp_path, ScriptedExtractor(script)) as opened:
        opened.add(said(first), user_id="ana", timestamp="2024-04-02T10:00Z")
        opened.add(said(second), user_id="ana", timestamp="2024-05-02T10:00Z")
        facts = opened.search("What does Petra do for the Harbour Choir?", user_id="ana")["facts"]
        assert [fact["invalid_at"] for fact in facts] == [None] * 3
        assert sound(opened)
