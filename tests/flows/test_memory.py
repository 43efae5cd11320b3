"""The front door, end to end on scripted models: what goes in is found, corrected and forgotten."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from seem.errors import InputError, ModelError, NotFoundError
from seem.memory import Memory
from seem.models.fakes import ScriptedExtractor
from seem.store.batch import Snapshot
from seem.store.verify import verify
from seem.types import Passage
from tests.flows.people import CODE, GROWING, MARK, NARVA, PAINTED, PLANTED, SCRIPT, TARTU, THANKS, memory, said, texts

JANUARY, JUNE = "2024-01-02T10:00+00:00", "2024-06-02T10:00+00:00"


@pytest.fixture
def ana(home: Path) -> Iterator[Memory]:
    with memory(home) as opened:
        opened.add(said(TARTU, PLANTED, THANKS), user_id="ana", timestamp=JANUARY)
        opened.add(said(NARVA, GROWING), user_id="ana", timestamp=JUNE)
        yield opened
        assert verify(opened.parts.store, None) == []


def residue(folder: Path, mark: str = MARK) -> list[str]:
    return [file.name for file in folder.iterdir() if mark.encode() in file.read_bytes()]


def test_what_is_added_is_told_and_found(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        told = opened.add(said(TARTU, PLANTED, THANKS), user_id="ana", timestamp=JANUARY)["results"]
        assert [item["event"] for item in told] == ["ADD"] * 3
        assert [item["status"] for item in told] == ["done"] * 3
        assert told[0]["frame"]["passages"] == [told[0]["id"]]
        assert [(f["subject"], f["object"]) for f in told[0]["facts"]] == [("Ana", "Tartu")]
        assert told[2]["frame"] is None
        later = opened.add(said(GROWING), user_id="ana", timestamp=JUNE)["results"][0]
        assert (later["event"], later["frame"]["passages"]) == ("MERGE", [told[1]["id"], later["id"]])
        assert verify(opened.parts.store, None) == []


def test_a_repeat_changes_nothing(ana: Memory) -> None:
    before = ana.parts.store.stats(None)
    told = ana.add(said(NARVA, GROWING), user_id="ana", timestamp=JUNE)["results"]
    assert [item["event"] for item in told] == ["NOOP", "NOOP"]
    assert told[0]["facts"][0]["object"] == "Narva"
    assert ana.parts.store.stats(None) == before


def test_search_gives_passages_frames_facts_and_a_context_that_cites(ana: Memory) -> None:
    found = ana.search("Where does Ana live?", user_id="ana", explain=True)
    assert set(texts(found)) == {TARTU, NARVA, PLANTED, GROWING, THANKS}
    assert found["results"][0]["memory"] == TARTU
    assert found["results"][0]["score_details"]["bm25"] == 1.0
    assert {f["object"] for f in found["facts"]} == {"Tartu", "Narva"}
    assert "Facts:\n- Ana lives in" in found["context"]
    assert [r["score"] for r in found["results"]] == sorted((r["score"] for r in found["results"]), reverse=True)


def test_both_id_styles_and_limit(ana: Memory) -> None:
    top = ana.search("tree", user_id="ana", top_k=2)
    assert texts(top) == texts(ana.search("tree", filters={"user_id": "ana"}, limit=2))
    assert len(top["results"]) == 2
    assert texts(ana.get_all(filters={"user_id": "ana"}, limit=1)) == [TARTU]
    for wrong in (
        {"user_id": "ana", "filters": {"user_id": "bo"}},
        {},
        {"user_id": " "},
        {"user_id": "ana", "top_k": 3, "limit": 4},
        {"user_id": "ana", "top_k": 0},
        {"user_id": "ana", "expand": "sometimes"},
        {"filters": "ana"},
    ):
        with pytest.raises(InputError):
            ana.search("tree", **wrong)
    with pytest.raises(InputError, match="empty"):
        ana.search("  ", user_id="ana")


def test_a_threshold_holds_for_all_that_is_given(ana: Memory) -> None:
    best = ana.search("Where does Ana live?", user_id="ana")["results"][0]["score"]
    found = ana.search("Where does Ana live?", user_id="ana", threshold=best)
    assert texts(found) == [TARTU]
    assert NARVA not in found["context"]
    assert [f["object"] for f in found["facts"]] == ["Tartu"]


def test_filters_narrow_before_ranking(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        opened.add(said(TARTU), user_id="ana", run_id="r1", metadata={"mood": "good"})
        opened.add(said(PLANTED), user_id="ana", run_id="r2", metadata={"mood": "bad"})
        assert texts(opened.search("Ana", user_id="ana", run_id="r2")) == [PLANTED]
        assert texts(opened.search("Ana", user_id="ana", filters={"mood": "good"})) == [TARTU]
        assert texts(opened.search("Ana", user_id="ana", filters={"NOT": {"mood": "good"}}, top_k=1)) == [PLANTED]
        assert opened.search("Ana", user_id="ana", filters={"mood": "ugly"})["context"] == ""


def test_a_frame_is_folded_from_what_the_filter_leaves(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        opened.add(said(CODE), user_id="ana", metadata={"room": 1})
        merged = opened.add(said(PAINTED), user_id="ana", metadata={"room": 2})["results"][0]
        assert merged["event"] == "MERGE"
        found = opened.search("door", user_id="ana", filters={"room": 2}, expand="always")
        assert texts(found) == [PAINTED]
        assert MARK not in repr(found)


def test_an_answer_comes_with_its_evidence(ana: Memory) -> None:
    told = ana.answer("Where does Ana live?", user_id="ana")
    assert TARTU in told["answer"]
    assert told["model"] == "scripted"
    assert told["results"]
    assert ana.answer("Where?", user_id="nobody")["answer"] == "Not mentioned"


def test_a_later_fact_closes_the_earlier_one(ana: Memory) -> None:
    facts = {f["object"]: f for f in ana.search("Where does Ana live?", user_id="ana")["facts"]}
    assert facts["Tartu"]["invalid_at"] == "2024-05"
    assert facts["Tartu"]["superseded_by"] == facts["Narva"]["id"]
    assert facts["Narva"]["invalid_at"] is None
    assert [e["event"] for e in ana.history(facts["Tartu"]["id"])] == ["SUPERSEDE"]
    ana.delete(facts["Narva"]["passages"][0])
    assert ana.get(facts["Tartu"]["id"])["invalid_at"] is None


def test_get_gives_passage_frame_and_fact(ana: Memory) -> None:
    passage = ana.get_all(user_id="ana")["results"][1]
    told = ana.get(passage["id"])
    assert told["memory"] == PLANTED
    frame = ana.get(told["frame"]["id"])
    assert frame["passages"][0] == passage["id"]
    for unknown in ("p_none", "f_none", "k_none"):
        with pytest.raises(NotFoundError):
            ana.get(unknown)


def test_an_update_makes_frame_and_facts_anew(ana: Memory) -> None:
    passage = ana.get_all(user_id="ana")["results"][0]
    told = ana.update(passage["id"], text="I live in Pärnu")
    assert (told["event"], told["memory"], told["status"]) == ("UPDATE", "I live in Pärnu", "done")
    assert told["updated_at"] is not None
    assert TARTU not in texts(ana.search("Tartu", user_id="ana"))
    assert "Tartu" not in repr(ana.search("Where does Ana live?", user_id="ana")["facts"])
    changes = ana.history(passage["id"])
    assert [c["event"] for c in changes] == ["ADD", "UPDATE"]
    assert (changes[1]["old_memory"], changes[1]["new_memory"]) == (TARTU, "I live in Pärnu")
    assert ana.add(said(TARTU, PLANTED, THANKS), user_id="ana", timestamp=JANUARY)["results"][0]["event"] == "NOOP"


def test_an_update_of_metadata_keeps_the_rest(ana: Memory) -> None:
    passage = ana.get_all(user_id="ana")["results"][0]
    told = ana.update(passage["id"], metadata={"mood": "good"})
    assert (told["memory"], told["metadata"]["mood"], told["user_id"]) == (TARTU, "good", "ana")
    assert told["facts"][0]["object"] == "Tartu"
    assert texts(ana.get_all(user_id="ana", filters={"mood": "good"})) == [TARTU]
    for wrong in ({"text": " "}, {}, {"metadata": {"user_id": "bo"}}):
        with pytest.raises(InputError):
            ana.update(passage["id"], **wrong)


def test_deleting_a_passage_refolds_what_remains(ana: Memory) -> None:
    first, second = (p["id"] for p in ana.get_all(user_id="ana")["results"] if "tree" in p["memory"])
    frame = ana.get(first)["frame"]["id"]
    assert ana.delete(first) == {"deleted": [first]}
    assert ana.get(frame)["passages"] == [second]
    assert "planted a tree" not in ana.get(frame)["summary"]
    with pytest.raises(NotFoundError):
        ana.delete(first)
    assert ana.history(first)[-1]["is_deleted"]


def test_no_byte_of_a_deleted_passage_remains(tmp_path: Path) -> None:
    """O-21."""
    with memory(tmp_path) as opened:
        gone, kept = opened.add(said(CODE, PAINTED), user_id="ana")["results"]
        assert kept["frame"]["passages"] == [gone["id"], kept["id"]]
        assert MARK in opened.get(kept["frame"]["id"])["summary"]
        opened.delete(gone["id"])
        frame = opened.get(kept["frame"]["id"])
        assert frame["passages"] == [kept["id"]]
        for told in (frame, opened.search(f"door code {MARK}", user_id="ana"), opened.get_all(user_id="ana")):
            assert MARK not in repr(told).replace(f"code {MARK}'", "")
        for item in (gone["id"], kept["id"], frame["id"]):
            assert MARK not in repr(opened.history(item))
        assert residue(tmp_path) == []
        assert verify(opened.parts.store, None) == []
    with memory(tmp_path) as opened:
        assert MARK not in repr(opened.search("door code", user_id="ana"))
    assert residue(tmp_path) == []


def test_forgetting_one_user_leaves_the_others(home: Path) -> None:
    """O-22: counts are exact, the others' rows stay, and nobody is forgotten without being named."""
    with memory(home) as opened:
        for user in ("iris", "juno"):
            opened.add(said(TARTU, PLANTED), user_id=user, run_id="s1")
            opened.add(said(NARVA), user_id=user, run_id="s2")
        before = opened.parts.store.load("user_id:juno")
        assert opened.delete_all(user_id="iris") == {"deleted": 3}
        after = opened.parts.store.load("user_id:juno")
        assert (after.passages, after.frames, after.facts) == (before.passages, before.frames, before.facts)
        assert opened.delete_all(user_id="juno", run_id="s1") == {"deleted": 2}
        assert texts(opened.search("Ana", user_id="juno")) == [NARVA]
        assert opened.delete_all(user_id="nobody") == {"deleted": 0}
        with pytest.raises(InputError, match="whose memory"):
            opened.delete_all()
        assert verify(opened.parts.store, None) == []
        assert opened.reset() == {"deleted": 1, "memories": 1}
        assert opened.search("Ana", user_id="juno")["results"] == []


def test_a_name_that_begins_like_another_is_another(tmp_path: Path) -> None:
    """O-26: names are compared letter by letter, case and separators included."""
    users = ("oak", "oakridge", "oak:north", "OAK")
    with memory(tmp_path) as opened:
        for user in users:
            opened.add(f"{user} keeps bees", user_id=user)
        assert texts(opened.search("who keeps bees", user_id="oak")) == ["oak keeps bees"]
        assert texts(opened.get_all(user_id="oak")) == ["oak keeps bees"]
        assert opened.parts.store.stats("user_id:oak")["passages"] == 1
        assert opened.delete_all(user_id="oak") == {"deleted": 1}
        assert [len(opened.get_all(user_id=user)["results"]) for user in users] == [0, 1, 1, 1]
        with pytest.raises(InputError):
            opened.get_all(user_id="")


def test_infer_false_stores_and_indexes_only(tmp_path: Path) -> None:
    extractor = ScriptedExtractor(SCRIPT)
    with memory(tmp_path, extractor) as opened:
        told = opened.add(said(TARTU), user_id="ana", infer=False)["results"][0]
        assert (told["status"], told["frame"], told["facts"]) == ("raw", None, [])
        assert texts(opened.search("Tartu", user_id="ana")) == [TARTU]
        assert opened.update(told["id"], text=NARVA)["status"] == "raw"
        assert opened.retry() == {"done": 0, "failed": {}}
        assert extractor.calls == []
        assert verify(opened.parts.store, None) == []


def test_a_failed_passage_fails_alone_stays_findable_and_is_finished_later(tmp_path: Path) -> None:
    extractor = ScriptedExtractor({**SCRIPT, TARTU: RuntimeError("the model is out of breath")})
    with memory(tmp_path, extractor) as opened:
        told = opened.add(said(PLANTED, TARTU, NARVA), user_id="ana", timestamp=JANUARY)["results"]
        assert [item["status"] for item in told] == ["done", "failed", "done"]
        assert "out of breath" in told[1]["error"]
        assert TARTU in texts(opened.search("Tartu", user_id="ana"))
        assert verify(opened.parts.store, None) == []
        assert list(opened.retry()["failed"]) == [told[1]["id"]]
        extractor.script[TARTU] = SCRIPT[TARTU]
        assert opened.retry() == {"done": 1, "failed": {}}
        assert opened.get(told[1]["id"])["facts"][0]["object"] == "Tartu"
        assert extractor.calls.count(PLANTED) <= 3
        assert verify(opened.parts.store, None) == []


def test_a_crash_in_the_middle_is_finished_by_a_repeat(home: Path) -> None:
    def crash(passage: Passage) -> None:
        if passage.text == NARVA:
            raise KeyboardInterrupt

    extractor = ScriptedExtractor(SCRIPT, before=crash)
    with memory(home, extractor) as opened:
        opened.add(said(PLANTED), user_id="ana", timestamp=JANUARY)
        with pytest.raises(KeyboardInterrupt):
            opened.add(said(TARTU, NARVA), user_id="ana", timestamp=JANUARY)
    again = ScriptedExtractor(SCRIPT)
    with memory(home, again) as opened:
        assert TARTU in texts(opened.search("Tartu", user_id="ana"))
        told = opened.add(said(TARTU, NARVA), user_id="ana", timestamp=JANUARY)["results"]
        assert [(item["event"], item["status"]) for item in told] == [("NOOP", "done")] * 2
        assert again.calls == [TARTU, NARVA]
        assert opened.parts.store.stats(None)["frames"] == 3
        assert verify(opened.parts.store, None) == []


def test_a_missing_model_costs_no_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.flows.people import parts

    with Memory(parts=parts(tmp_path)) as opened:
        monkeypatch.setattr(opened.parts, "_given_extractor", None)
        monkeypatch.setattr(
            opened.parts, "_extractor", lambda: (_ for _ in ()).throw(ModelError("no adapter 'extract'"))
        )
        told = opened.add(said(TARTU), user_id="ana")["results"][0]
        assert (told["status"], told["error"]) == ("pending", "no adapter 'extract'")
        assert texts(opened.search("Tartu", user_id="ana")) == [TARTU]
    with memory(tmp_path) as opened:
        assert opened.retry() == {"done": 1, "failed": {}}
        assert opened.get(told["id"])["facts"][0]["object"] == "Tartu"


def test_two_threads_write_one_memory(home: Path) -> None:
    with memory(home) as opened:
        errors: list[BaseException] = []

        def write(name: str) -> None:
            try:
                for n in range(5):
                    opened.add(f"{name} counts to {n}", user_id="ana")
                    opened.search("counts", user_id="ana")
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=write, args=(name,)) for name in ("Ana", "Bo")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(opened.get_all(user_id="ana")["results"]) == 10
        assert opened.parts.store.stats(None)["done"] == 10
        assert verify(opened.parts.store, None) == []


def test_what_another_process_wrote_is_seen(home: Path) -> None:
    with memory(home) as here, memory(home) as there:
        here.add(said(TARTU), user_id="ana")
        assert texts(here.search("Tartu", user_id="ana")) == [TARTU]
        told = there.add(said(PLANTED), user_id="ana")["results"][0]
        assert PLANTED in texts(here.search("tree", user_id="ana"))
        assert here.add(said(GROWING), user_id="ana")["results"][0]["frame"]["passages"][0] == told["id"]
        there.delete(told["id"])
        assert PLANTED not in texts(here.search("tree", user_id="ana"))
        assert verify(here.parts.store, None) == []


def test_reopened_it_answers_the_same(ana: Memory, home: Path) -> None:
    asked = ("Where does Ana live?", "tree", "Why did it grow?", "thanks")
    before = [ana.search(question, user_id="ana", explain=True) for question in asked]
    with memory(home) as again:
        assert [again.search(question, user_id="ana", explain=True) for question in asked] == before


def test_what_cannot_be_remembered_is_told(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        for nothing in ("", "  ", [], {"role": "user"}, [{"role": "user", "content": ""}]):
            with pytest.raises(InputError, match="nothing to remember"):
                opened.add(nothing, user_id="ana")
        told = opened.add([*said(TARTU), {"role": "user", "content": 5}], user_id="ana")
        assert [p["line"] for p in told["problems"]] == [2]
        broken = opened.add("a lone \ud800 surrogate", user_id="ana")["results"][0]
        assert broken["memory"] == "a lone \N{REPLACEMENT CHARACTER} surrogate"
        with pytest.raises(InputError):
            opened.add(TARTU, user_id="\ud800")
        with pytest.raises(InputError, match="metadata"):
            opened.add("x", user_id="ana", metadata={"when": float("nan")})
        assert len(opened.get_all(user_id="ana")["results"]) == 2


def test_a_memory_that_grows_is_not_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with memory(tmp_path) as opened:
        opened.add(said(TARTU), user_id="ana")
        loads: list[str] = []
        load = opened.parts.store.load

        def counted(key: str) -> Snapshot:
            loads.append(key)
            return load(key)

        monkeypatch.setattr(opened.parts.store, "load", counted)
        opened.add(said(PLANTED), user_id="ana")
        opened.add(said(GROWING), user_id="ana")
        assert loads == []
