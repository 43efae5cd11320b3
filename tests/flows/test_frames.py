"""Frames corrected by hand: what was put apart or together stays so, can be taken back, and leaves a history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from seem.config import Config
from seem.errors import InputError, NotFoundError
from seem.memory import Memory
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge
from seem.store.verify import verify
from seem.types import Event, Extraction, Fact
from seem.wiring import Parts
from tests.flows.people import said

A, B, C, D = (f"the shed story, part {n}" for n in "abcd")
OTHER = "a swim in the lake"
AGAIN = "the shed story, part c, told again"
SAME = {frozenset({one, other}): 0.9 for one in (A, B, C, D) for other in (A, B, C, D) if one < other}
JANUARY, JUNE = "2024-01-02T10:00+00:00", "2024-06-02T10:00+00:00"


def opened(folder: Path, script: Mapping[frozenset[str], float], facts: Mapping[str, Any] | None = None) -> Memory:
    config = Config.from_dict({"data_dir": str(folder)})
    extractor = ScriptedExtractor(dict(facts or {}))
    return Memory(parts=Parts(config, encoder=HashingEncoder(), extractor=extractor, judge=ScriptedJudge(script)))


def frames(memory: Memory) -> set[frozenset[str]]:
    """Give the frames as sets of their passages' words, checked against the store."""
    assert verify(memory.parts.store, None) == []
    words = {p["id"]: p["memory"] for p in memory.get_all(user_id="ana")["results"]}
    told = memory.page("frames", 100, user_id="ana")["results"]
    for frame in told:
        assert all(words[p] in frame["summary"] for p in frame["passages"])
        assert not any(text in frame["summary"] for p, text in words.items() if p not in frame["passages"])
    return {frozenset(words[p] for p in frame["passages"]) for frame in told}


def groups(*told: set[str]) -> set[frozenset[str]]:
    return {frozenset(words) for words in told}


@pytest.fixture
def ana(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path, SAME) as memory:
        memory.add(said(A, B, C, OTHER), user_id="ana", timestamp=JANUARY)
        assert frames(memory) == groups({A, B, C}, {OTHER})
        yield memory
        assert verify(memory.parts.store, None) == []


def ids(memory: Memory) -> dict[str, str]:
    return {p["memory"]: p["id"] for p in memory.get_all(user_id="ana")["results"]}


def frame_of(memory: Memory, text: str) -> str:
    return str(memory.get(ids(memory)[text])["frame"]["id"])


def test_a_split_is_kept_when_more_is_told_and_words_change(ana: Memory, tmp_path: Path) -> None:
    frame = frame_of(ana, C)
    told = ana.split(frame, [ids(ana)[C]], actor="ana")
    assert [f["passages"] for f in told["frames"]] == [[ids(ana)[A], ids(ana)[B]], [ids(ana)[C]]]
    assert frames(ana) == groups({A, B}, {C}, {OTHER})
    ana.update(ids(ana)[C], text=AGAIN)
    ana.update(ids(ana)[AGAIN], text=C)
    assert frames(ana) == groups({A, B}, {C}, {OTHER})
    ana.add(said(D), user_id="ana", timestamp=JUNE)
    assert frames(ana) in (groups({A, B, D}, {C}, {OTHER}), groups({A, B}, {C, D}, {OTHER}))
    with opened(tmp_path, SAME) as again:
        again.update(ids(again)[C], text=AGAIN)
        again.update(ids(again)[AGAIN], text=C)
        assert not any({A, C} <= frame for frame in frames(again))


def test_a_merge_is_kept_when_words_change(ana: Memory) -> None:
    lake, shed = frame_of(ana, OTHER), frame_of(ana, A)
    (merged,) = ana.merge([lake, shed])["frames"]
    assert merged["id"] == min(lake, shed)
    assert frames(ana) == groups({A, B, C, OTHER})
    with pytest.raises(NotFoundError):
        ana.get(max(lake, shed))
    ana.update(ids(ana)[OTHER], text="a swim in the cold lake")
    assert frames(ana) == groups({A, B, C, "a swim in the cold lake"})


def test_a_passage_is_reassigned(ana: Memory) -> None:
    ana.reassign(ids(ana)[B], frame_of(ana, OTHER))
    assert frames(ana) == groups({A, C}, {B, OTHER})
    ana.reassign(ids(ana)[B])
    assert frames(ana) == groups({A, C}, {B}, {OTHER})
    ana.reassign(ids(ana)[B], frame_of(ana, A))
    assert frames(ana) == groups({A, B, C}, {OTHER})
    ana.reassign(ids(ana)[OTHER], frame_of(ana, A))
    assert frames(ana) == groups({A, B, C, OTHER})


def test_corrections_are_taken_back_one_by_one(ana: Memory) -> None:
    before = {f["id"]: f for f in ana.page("frames", 9, user_id="ana")["results"]}
    shed, lake = frame_of(ana, A), frame_of(ana, OTHER)
    ana.split(shed, [ids(ana)[C]])
    ana.merge([frame_of(ana, C), lake])
    with pytest.raises(InputError, match="take that back first"):
        ana.undo(shed)
    ana.undo(user_id="ana")
    assert frames(ana) == groups({A, B}, {C}, {OTHER})
    ana.undo(ids(ana)[C])
    assert {f["id"]: f for f in ana.page("frames", 9, user_id="ana")["results"]} == before
    with pytest.raises(InputError, match="nothing that was moved"):
        ana.undo(shed)
    # The judge has its say again: nothing of the split is left.
    ana.update(ids(ana)[C], text=AGAIN)
    ana.update(ids(ana)[AGAIN], text=C)
    assert frames(ana) == groups({A, B, C}, {OTHER})


def test_what_came_since_stays_when_a_correction_is_taken_back(tmp_path: Path) -> None:
    with opened(tmp_path, SAME | {frozenset({D, C}): 0.0}) as memory:
        memory.add(said(A, B, C, OTHER), user_id="ana", timestamp=JANUARY)
        memory.split(frame_of(memory, A), [ids(memory)[A], ids(memory)[B]])
        memory.add(said(D), user_id="ana", timestamp=JUNE)
        assert frames(memory) == groups({A, B, D}, {C}, {OTHER})
        memory.undo(user_id="ana")
        assert frames(memory) == groups({A, B, C, D}, {OTHER})


def test_the_history_tells_members_and_nothing_that_was_deleted(ana: Memory) -> None:
    shed = frame_of(ana, A)
    ana.split(shed, [ids(ana)[C]], actor="ana")
    ana.undo(shed, actor="bo")
    a, b, c = (ids(ana)[text] for text in (A, B, C))
    told = [(e["event"], e["actor_id"], e["old_passages"], e["new_passages"]) for e in ana.history(shed)]
    assert told == [
        ("FUSE", None, [], [a, b, c]),
        ("SPLIT", "ana", [a, b, c], [a, b]),
        ("UNDO", "bo", [a, b], [a, b, c]),
    ]
    assert C in str(ana.history(shed)[1]["old_memory"])
    ana.delete(c)
    assert C not in repr(ana.history(shed)) and c not in repr(ana.history(shed))
    assert [e["new_passages"] for e in ana.history(shed)] == [[a, b]] * 3
    with pytest.raises(InputError, match="nothing that was moved"):
        ana.undo(shed)


def test_what_cannot_be_corrected_is_told(ana: Memory) -> None:
    shed, known = frame_of(ana, A), ids(ana)
    with pytest.raises(InputError, match="not all"):
        ana.split(shed, [known[A], known[B], known[C]])
    with pytest.raises(InputError, match="not none"):
        ana.split(shed, [])
    with pytest.raises(InputError, match="not in the frame"):
        ana.split(shed, [known[OTHER]])
    with pytest.raises(InputError, match="two or more"):
        ana.merge([shed, shed])
    ana.add("something of Bo's", user_id="bo")
    foreign = str(ana.page("frames", 1, user_id="bo")["results"][0]["id"])
    with pytest.raises(InputError, match="2 memories"):
        ana.merge([shed, foreign])
    with pytest.raises(NotFoundError):
        ana.reassign(known[A], foreign)
    with pytest.raises(InputError, match="already"):
        ana.reassign(known[A], shed)
    with pytest.raises(InputError, match="already"):
        ana.reassign(known[OTHER])
    with pytest.raises(NotFoundError):
        ana.undo("f_none")
    with pytest.raises(InputError, match="no correction"):
        ana.undo(user_id="ana")
    raw = ana.add("a raw remark", user_id="ana", infer=False)["results"][0]["id"]
    with pytest.raises(InputError, match="no event"):
        ana.reassign(raw, shed)


def test_new_words_take_a_passage_out_only_below_the_second_threshold(tmp_path: Path) -> None:
    doubtful, foreign = "the shed, perhaps", "the boat story"
    script = dict(SAME)
    for text in (A, B):
        script |= {frozenset({text, doubtful}): 0.3, frozenset({text, foreign}): 0.1}
    with opened(tmp_path, script) as memory:
        memory.add(said(A, B, C), user_id="ana", timestamp=JANUARY)
        shed = frame_of(memory, A)
        memory.update(ids(memory)[C], text=doubtful)
        assert frames(memory) == groups({A, B, doubtful})
        memory.update(ids(memory)[doubtful], text=foreign)
        assert frames(memory) == groups({A, B}, {foreign})
        events = [(e["event"], e["actor_id"]) for e in memory.history(shed)]
        assert events[-2:] == [("UPDATE", None), ("SPLIT", "judge")]


@pytest.mark.parametrize("pieces", [2, 8])
def test_bulk_and_stream_end_in_the_same_frames(tmp_path: Path, pieces: int) -> None:
    texts = [f"{topic}, part {n}" for n in range(8) for topic in ("the shed", "the boat", "the fair")]
    script = {
        frozenset({one, other}): 0.9 if one[:8] == other[:8] and int(one[-1]) // 3 == int(other[-1]) // 3 else 0.2
        for one in texts
        for other in texts
        if one < other
    }
    with opened(tmp_path / "bulk", script) as memory:
        memory.add(said(*texts), user_id="ana", timestamp=JANUARY)
        bulk = frames(memory)
    size = len(texts) // pieces
    with opened(tmp_path / "stream", script) as memory:
        for start in range(0, len(texts), size):
            memory.add(said(*texts[start : start + size]), user_id="ana", timestamp=JANUARY)
        assert frames(memory) == bulk
    assert len(bulk) < len(texts)


TARTU, NARVA, STILL, TREE = "I live in Tartu", "I moved to Narva", "Ana lives in Narva", "I planted a tree"
FACTS = {
    TARTU: Extraction("", (Event(("Ana",), "lives in Tartu"),), (Fact("Ana", "lives in", "Tartu"),)),
    NARVA: Extraction("", (Event(("Ana",), "moved to Narva"),), (Fact("Ana", "moved to", "Narva"),)),
    STILL: Extraction("", (Event(("Ana",), "lives in Narva"),), (Fact("Ana", "moved to", "Narva"),)),
}


def held(memory: Memory, as_of: Any) -> list[str]:
    found = memory.search("Where does Ana live?", user_id="ana", as_of=as_of)
    texts = {item["memory"] for item in found["results"]}
    assert all(text in found["context"] for text in texts)
    return sorted([*texts, *(f"{f['object']} {f['valid_at']} {f['invalid_at']}" for f in found["facts"])])


def test_a_question_as_of_a_moment_gets_what_was_said_and_held_by_then(tmp_path: Path) -> None:
    with opened(tmp_path, {}, FACTS) as memory:
        memory.add(said(TARTU), user_id="ana", timestamp=JANUARY)
        memory.add(said(TREE), user_id="ana", timestamp="2024-03-02T10:00+00:00")
        memory.add(said(NARVA), user_id="ana", timestamp=JUNE)
        memory.add(said(STILL), user_id="ana", timestamp="2024-08-02T10:00+00:00")
        (tartu,) = (f for f in memory.page("facts", 9, user_id="ana")["results"] if f["object"] == "Tartu")
        assert (tartu["invalid_at"], tartu["expired_at"] is None) == ("2024-06-02", False)
        assert held(memory, "2023-12-31") == []
        assert held(memory, "2024-01-02") == sorted([TARTU, "Tartu 2024-01-02 None"])
        assert held(memory, "2024-05") == sorted([TARTU, TREE, "Tartu 2024-01-02 None"])
        assert held(memory, "2024-06-02T09:59:59Z") == held(memory, "2024-05")
        assert held(memory, "2024-06-02T12:00:00+02:00") == sorted([TARTU, TREE, NARVA, "Narva 2024-06-02 None"])
        assert held(memory, 1_722_600_000) == sorted([TARTU, TREE, NARVA, STILL, "Narva 2024-06-02 None"])
        for wrong in ("2024-13", "soon", "2024-02-30"):
            with pytest.raises(InputError, match="as_of"):
                memory.search("Where?", user_id="ana", as_of=wrong)
        found = memory.search("Where does Ana live?", user_id="ana", as_of="2024-07", filters={"session": "none"})
        assert found["results"] == found["facts"] == []
        memory.delete(ids(memory)[NARVA])
        memory.delete(ids(memory)[STILL])
        assert memory.get(tartu["id"])["invalid_at"] is None


def test_show_tells_who_said_what_and_which_version_lost(tmp_path: Path) -> None:
    sold = "I live in Tartu and sold the piano for 340 crowns"
    again = "I moved to Narva and sold the piano for 360 crowns"
    script = {
        sold: Extraction("", (Event(("Ana",), "sold the piano for 340 crowns"),), (Fact("Ana", "lives in", "Tartu"),)),
        again: Extraction("", (Event(("Ana",), "sold the piano for 360 crowns"),), (Fact("Ana", "moved to", "Narva"),)),
    }
    with opened(tmp_path, {frozenset({sold, again}): 0.9}, script) as memory:
        memory.add(said(sold), user_id="ana", timestamp=JANUARY)
        memory.add(said(again), user_id="ana", timestamp=JUNE)
        first, second = ids(memory)[sold], ids(memory)[again]
        (event,) = memory.show(frame_of(memory, sold))["versions"]
        assert [(v["passage"], v["time"][:7], v["holds"]) for v in event["slots"]["action"]] == [
            (first, "2024-01", False),
            (second, "2024-06", True),
        ]
        told = memory.show(first)
        (tartu,) = told["facts"]
        assert (told["kind"], told["extraction"]["model"], told["frame"]["versions"]) == (
            "passage",
            "scripted",
            [event],
        )
        assert (tartu["holds"], tartu["ended_by"]["object"]) == (False, "Narva")
        narva = memory.show(tartu["superseded_by"])
        assert (narva["holds"], [f["id"] for f in narva["ended"]]) == (True, [tartu["id"]])
        memory.delete(second)
        assert memory.show(tartu["id"])["holds"]
        assert "360" not in repr(memory.show(first)) and "Narva" not in repr(memory.history(tartu["id"]))
        with pytest.raises(NotFoundError):
            memory.show(second)
