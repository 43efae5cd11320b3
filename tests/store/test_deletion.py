"""Deleting leaves no residue: not in rows, not in history, not in the bytes of the files."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from seem.errors import StoreError
from seem.store.batch import Change, WriteBatch
from seem.store.store import Store
from seem.store.verify import verify
from seem.types import Event, Frame
from tests.store.conftest import Place
from tests.store.samples import draft, extraction, fill

MARK = "ZQ-MARK-41"
TEXTS = (f"Sunniva's door code is {MARK}.", "Sunniva repainted her door blue.")


def refolded(store: Store, memory: str, keep: str) -> Frame:
    return Frame(f"f_{memory}", memory, (keep,), TEXTS[1], (Event(("Sunniva",), TEXTS[1]),))


def test_no_byte_of_a_deleted_passage_remains(place: Place) -> None:
    with Store(place.address) as store:
        gone, kept = fill(store, "oak", TEXTS)
        store.apply("oak", WriteBatch(failed={gone.id: f"cannot parse {MARK}"}))
        if place.cluster is not None:
            # What the planner samples of the rows is kept apart from them.
            place.run("ANALYZE")
        assert place.residue(MARK)
        frame = refolded(store, "oak", kept.id)
        history = [
            Change(frame.id, "UPDATE", store.frame(frame.id).summary, frame.summary, "sunniva"),
            Change(gone.id, "DELETE", gone.text, None, "sunniva"),
            Change("q_oak", "DELETE", f"the code is {MARK}"),
        ]
        store.apply("oak", WriteBatch(remove_passages=[gone.id], frames=[frame], history=history))
        store.purge()
        assert place.residue(MARK) == []
        snapshot = store.load("oak")
        assert MARK not in repr(snapshot)
        assert snapshot.frames["f_oak"] == frame
        assert snapshot.facts == {}
        assert ("fact", "q_oak") not in snapshot.vectors
        assert ("passage", gone.id) not in snapshot.vectors
        assert ("extraction", gone.id) not in snapshot.vectors
        for item_id in (gone.id, kept.id, frame.id, "q_oak"):
            assert MARK not in repr(store.history(item_id))
        assert [entry.change.event for entry in store.history(gone.id)] == ["ADD", "DELETE"]
        assert store.history(frame.id)[1].change.new == TEXTS[1]
        assert verify(store, None) == []
    with Store(place.address) as store:
        assert store.frame("f_oak").provenance == (kept.id,)
    assert place.residue(MARK) == []


def test_text_that_once_was_in_a_frame_is_forgotten_after_a_split(place: Place) -> None:
    with Store(place.address) as store:
        gone, kept = fill(store, "oak", TEXTS)
        split = [refolded(store, "oak", kept.id), Frame("f_2", "oak", (gone.id,), TEXTS[0], ())]
        moved = Change("f_oak", "SPLIT", store.frame("f_oak").summary, TEXTS[1])
        store.apply("oak", WriteBatch(frames=split, history=[moved]))
        assert MARK in repr(store.history("f_oak"))
        store.apply("oak", WriteBatch(remove_passages=[gone.id]))
        assert MARK not in repr(store.history("f_oak"))
        assert "f_2" not in store.load("oak").frames
        store.purge()
        assert place.residue(MARK) == []


def test_a_frame_that_still_tells_of_it_refuses_the_deletion(place: Place) -> None:
    with Store(place.address) as store:
        gone, _ = fill(store, "oak", TEXTS)
        before = store.load("oak")
        with pytest.raises(StoreError, match=r"f_oak.*refolded"):
            store.apply("oak", WriteBatch(remove_passages=[gone.id]))
        after = store.load("oak")
        assert (after.passages, after.frames, after.generation) == (before.passages, before.frames, before.generation)
        with pytest.raises(StoreError, match=r"f_oak.*refolded"):
            store.apply("oak", WriteBatch(remove_extractions=[gone.id]))
        with pytest.raises(StoreError, match=r"f_oak.*refolded"):
            store.apply("oak", WriteBatch(remove_extractions=[gone.id], extractions=[extraction(gone.id, "anew")]))
        store.apply(
            "oak",
            WriteBatch(
                remove_extractions=[gone.id], frames=[refolded(store, "oak", before.frames["f_oak"].provenance[1])]
            ),
        )
        assert ("extraction", gone.id) not in store.load("oak").vectors


def test_many_deletions_leave_nothing_in_page_gaps(place: Place) -> None:
    rng = random.Random(3)
    with Store(place.address) as store:
        texts = [f"{MARK if n % 5 == 0 else 'kept'} {n} " + "lorem " * rng.randint(1, 400) for n in range(400)]
        added = [passage for passage, _ in store.add_passages("oak", [draft(text) for text in texts])]
        store.apply(
            "oak", WriteBatch(extractions=[extraction(p.id, p.text[:50]) for p in added], done=[p.id for p in added])
        )
        gone = [passage.id for passage in added if passage.text.startswith(MARK)]
        store.apply("oak", WriteBatch(remove_passages=gone))
        store.purge()
        assert place.residue(MARK) == []
        # The audit trail alone still knows which ids there were.
        assert len(store.passages("oak")) == 320


def test_deleting_one_memory_leaves_the_others(place: Place) -> None:
    with Store(place.address) as store:
        fill(store, "iris", TEXTS)
        fill(store, "juno", ("One.", "Two.", "Three."))
        before = store.load("juno")
        counts = store.delete_memory("iris")
        store.purge()
        assert counts == {
            "passages": 2,
            "extractions": 2,
            "frames": 1,
            "entities": 2,
            "facts": 1,
            "vectors": 6,
            "history": 4,
        }
        assert place.residue(MARK) == []
        after = store.load("juno")
        assert (after.passages, after.frames, after.facts) == (before.passages, before.frames, before.facts)
        assert after.vectors.keys() == before.vectors.keys()
        assert verify(store, None) == []
        assert store.stats("iris")["passages"] == 0


def test_purge_says_when_a_reader_keeps_the_log(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path, busy_timeout=0.2) as store:
        fill(store, "oak", TEXTS)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM passages").fetchone()
        store.delete_memory("oak")
        with pytest.raises(StoreError, match=r"reading|locked"):
            store.purge()
        reader.close()
        store.purge()
        assert [file.name for file in tmp_path.iterdir() if MARK.encode() in file.read_bytes()] == []
    with Store(":memory:") as store:
        fill(store, "oak", TEXTS)
        store.purge()
