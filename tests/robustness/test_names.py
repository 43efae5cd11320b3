"""Names: one person under several forms, two persons under one, the same letters in other bytes."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from seem.memory import Memory
from seem.models.fakes import ScriptedExtractor
from seem.types import Event, Extraction, Fact
from seem.write.alias import stated
from seem.write.link import entity_key
from tests.flows.people import memory, said, texts
from tests.robustness.scan import sound


def told(*facts: tuple[str, str, str]) -> Extraction:
    return Extraction("", (Event((facts[0][0],), facts[0][1]),), tuple(Fact(*fact) for fact in facts))


def entities(opened: Memory) -> dict[str, set[str]]:
    """Give each entity's forms under its name."""
    with opened.pipeline.states.state("user_id:ana") as state:
        return {e.name: {e.name, *e.aliases} for e in state.entities.values()}


def knows(opened: Memory, script: dict[str, Extraction]) -> Memory:
    for text in script:
        opened.add(said(text, name="Bo"), user_id="ana", run_id="s1")
    return opened


CLINIC = {
    "Dr. Ingrid Solheim opened the clinic.": told(("Dr. Ingrid Solheim", "opened", "clinic")),
    "Ingrid hired two nurses.": told(("Ingrid", "hired", "two nurses")),
    "Solheim says the clinic closes at five.": told(("Solheim", "says closes at five", "clinic")),
    "Inga - that is what everyone calls Ingrid - is on leave.": told(("Inga", "is on", "leave")),
}


def test_surname_title_and_nickname_are_one_person(tmp_path: Path) -> None:
    """O-12: four surface forms, one entity, and asking by any of them gives the same passages."""
    with memory(tmp_path, ScriptedExtractor(CLINIC)) as opened:
        knows(opened, CLINIC)
        forms = entities(opened)
        assert forms["Dr. Ingrid Solheim"] == {"Dr. Ingrid Solheim", "Ingrid", "Solheim", "Inga"}
        assert set(forms) == {"Dr. Ingrid Solheim", "clinic", "two nurses", "leave"}
        found = [
            set(texts(opened.search(f"What about {name}?", user_id="ana"))) for name in forms["Dr. Ingrid Solheim"]
        ]
        assert found == [set(CLINIC)] * 4
        assert sound(opened)


def test_a_nickname_that_is_used_before_or_after_it_is_explained_is_known(tmp_path: Path) -> None:
    """O-12: also in a later passage, and only where one person is meant."""
    script = {
        "Robert sold his boat.": told(("Robert", "sold", "boat")),
        "Robert goes by Bo these days.": Extraction(""),
        "Bo bought a kayak.": told(("Bo", "bought", "kayak")),
    }
    with memory(tmp_path, ScriptedExtractor(script)) as opened:
        assert entities(knows(opened, script))["Robert"] == {"Robert", "Bo"}


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("Inga, that's what we call Ingrid, is away", [("Inga", "Ingrid")]),
        ("My uncle Robert, known as Bo, came.", [("Bo", "Robert")]),
        ("Margaret, called Peggy by her friends, won.", [("Peggy", "Margaret")]),
        ("Bo is short for Robert.", [("Bo", "Robert")]),
        ("Nobody thinks that Bo is short for Robert.", []),
        ("We called Marek yesterday.", []),
        ("The dish is known as risotto.", []),
        ("A " * 20_000, []),
    ],
)
def test_second_names_are_read_from_what_states_them(text: str, pairs: list[tuple[str, str]]) -> None:
    """O-12."""
    assert stated(text) == pairs


def test_two_of_one_name_stay_two(tmp_path: Path) -> None:
    """O-13: the brother and the dentist share a name, no entity and no frame."""
    script = {
        "My brother Marek broke his wrist skating.": told(("Bo's brother Marek", "broke", "wrist")),
        "Marek, the dentist on Elm Row, moved my appointment.": told(
            ("Marek, the dentist on Elm Row", "moved", "appointment")
        ),
        "My brother Marek had the cast removed.": told(("Bo's brother Marek", "had removed", "cast")),
    }
    with memory(tmp_path, ScriptedExtractor(script)) as opened:
        knows(opened, script)
        with opened.pipeline.states.state("user_id:ana") as state:
            named = {f.fact.object: state.entities[f.subject_id].name for f in state.facts.values()}
            assert all(len(frame.provenance) == 1 for frame in state.frames.values())
        assert named["wrist"] == named["cast"] != named["appointment"]


ZOE = "Zoë Müller"
PAIRS = [
    (ZOE, unicodedata.normalize("NFD", ZOE), True),
    ("K2", "Ｋ２", True),
    ("한빛 상사", "한빛상사", True),
    (ZOE, "Zo\u200bë Müller", True),
    ("김하준", "김하진", False),
    ("Александр", "Александра", False),
    ("محمد", "محمود", False),
]


@pytest.mark.parametrize(("one", "other", "same"), PAIRS)
def test_same_letters_are_one_name_and_other_letters_another(tmp_path: Path, one: str, other: str, same: bool) -> None:
    """O-14: either form finds both passages, no key is empty, and the words come back as given."""
    script = {f"{name} plays the oboe": told((name, "plays", "oboe")) for name in (one, other)}
    assert entity_key(one) and entity_key(other)
    with memory(tmp_path, ScriptedExtractor(script)) as opened:
        knows(opened, script)
        players = [name for name in entities(opened) if name != "oboe"]
        assert len(players) == (1 if same else 2)
        assert texts(opened.get_all(user_id="ana")) == list(script)
        for name in (one, other) if same else ():
            assert set(texts(opened.search(name, user_id="ana", top_k=2))) == set(script)
