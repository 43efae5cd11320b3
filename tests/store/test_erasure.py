"""What an erasure looks for, and what it sees in files: traces are found wherever they lie, living words are none."""

from __future__ import annotations

import random
import shutil
import sqlite3
import zipfile
from pathlib import Path

import pytest

from seem.errors import StoreError
from seem.store import look
from seem.store.batch import Change, WriteBatch
from seem.store.erasure import Erased
from seem.store.look import Needles
from seem.store.store import Store
from tests.store.samples import draft, extraction, fill

MARK = "ZQ-MARK-41"


def test_needles_are_found_wherever_they_lie_and_nothing_else() -> None:
    rng = random.Random(4)
    for _ in range(200):
        data = bytes(rng.choice(b"abc") for _ in range(rng.randint(0, 60)))
        needles = [bytes(rng.choice(b"abc") for _ in range(rng.randint(3, 12))) for _ in range(rng.choice((5, 80)))]
        parts = [data[place : place + 7] for place in range(0, len(data), 7)]
        assert Needles(needles).inside_all(parts) == {n for n in needles if len(n) >= look.SHORTEST and n in data}


def test_a_piece_of_a_long_text_gives_it_away(tmp_path: Path) -> None:
    rng = random.Random(5)
    text = " ".join(f"{rng.choice(('oak', 'elm', 'ash'))}{rng.randint(0, 9999)}" for _ in range(2000))
    page = tmp_path / "page"
    page.write_bytes(b"\0" * 100 + text.encode()[5000:5120] + b"\0" * 100)
    seen = Erased([text]).look(None, [page])
    assert (seen.hits > 0, seen.bytes, seen.files[0]["file"]) == (True, 320, "page")
    page.write_bytes(text[::-1].encode())
    assert Erased([text]).look(None, [page]).hits == 0


@pytest.mark.parametrize(
    "form", ['{"text": "Zoë\u2019s key is ZQ-MARK-41"}', '{"text": "Zo\\u00eb\\u2019s key is ZQ-MARK-41"}']
)
def test_json_hides_nothing(tmp_path: Path, form: str) -> None:
    export = tmp_path / "a.jsonl"
    export.write_text(form, "utf-8")
    assert Erased(["Zoë\u2019s key is ZQ-MARK-41"]).look(None, [export]).hits == 1
    assert Erased(["quite another text"]).look(None, [export]).hits == 0


def test_what_others_still_say_is_no_trace(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        gone, kept = (p for p, _ in store.add_passages("oak", [draft("ok thanks", "1"), draft("ok thanks", "2")]))
        texts = store.erased("oak", [gone.id])
        assert store.look(texts).hits == 0
        store.apply("oak", WriteBatch(remove_passages=[gone.id]))
        store.purge()
        seen = store.look(texts)
        assert (seen.hits, seen.said_elsewhere) == (0, 1)
        store.apply("oak", WriteBatch(remove_passages=[kept.id]))
        store.purge()
        seen = store.look(texts)
        assert (seen.hits, seen.said_elsewhere) == (0, 0)


def test_a_trace_in_the_log_a_free_page_or_a_file_beside_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        gone, kept = fill(store, "oak", (f"Sunniva's door code is {MARK}.", "Sunniva repainted her door blue."))
        texts = store.erased("oak", [gone.id])
        (tmp_path / "a.db.bak").write_bytes(path.read_bytes() + path.with_name("a.db-wal").read_bytes())
        frame = store.frame("f_oak")
        rest = WriteBatch(remove_passages=[gone.id], frames=[type(frame)(frame.id, "oak", (kept.id,), "Blue.", ())])
        store.apply("oak", rest)
        hits = {file["file"]: file["hits"] > 0 for file in store.look(texts).files}
        assert hits == {"a.db": False, "a.db-shm": False, "a.db-wal": True, "a.db.bak": True}
        store.purge()
        hits = {file["file"]: file["hits"] > 0 for file in store.look(texts).files}
        assert hits == {"a.db": False, "a.db-shm": False, "a.db-wal": False, "a.db.bak": True}
        (tmp_path / "a.db.bak").unlink()
        (tmp_path / "export.jsonl").write_text(MARK + " was here: Sunniva's door code is ZQ-MARK-41.")
        assert store.look(texts).hits == 0
        assert store.look(texts, tmp_path).hits > 0


def test_looking_takes_no_lock_away(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        texts = store.erased("oak", [p.id for p in fill(store, "oak")])
        with store._write("oak") as connection:
            connection.exec_driver_sql("SELECT 1")
            assert store.look(texts).bytes > 0
            other = sqlite3.connect(path, timeout=0)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            other.close()
            connection.rollback()


def test_old_words_of_a_corrected_passage_are_looked_for_too(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        [passage] = (p for p, _ in store.add_passages("oak", [draft(f"the code is {MARK}")]))
        changed = type(passage)(passage.id, "oak", "the code is secret", passage.position)
        told = Change(passage.id, "UPDATE", passage.text, changed.text)
        store.apply("oak", WriteBatch(passages=[changed], history=[told]))
        assert store.former("oak", [passage.id]) == {passage.id: {passage.text, changed.text}}
        (tmp_path / "old").write_text(f"«{passage.text}»")
        (tmp_path / "new").write_text("nothing of it")
        texts = store.erased("oak", [passage.id])
        assert [texts.in_file(tmp_path / name) for name in ("old", "new")] == [True, False]
        with zipfile.ZipFile(tmp_path / "packed", "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("chat.json", passage.text)
        assert texts.in_file(tmp_path / "packed")


def test_what_was_made_of_a_passage_goes_from_the_history_while_its_words_stay(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        kept, _ = fill(store, "oak")
        frame = store.frame("f_oak")
        left = type(frame)(frame.id, "oak", frame.provenance[1:], "Rune fetched it.", ())
        store.apply("oak", WriteBatch(remove_extractions=[kept.id], frames=[left], again=[kept.id], untold=[kept.id]))
        assert [entry.change.new for entry in store.history(kept.id)] == [kept.text]
        assert [entry.change.new for entry in store.history("f_oak")] == [None]
        assert [entry.change.new for entry in store.history("q_oak")] == [None]


def test_a_process_that_died_before_the_purge_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{MARK} {number} " + "lorem " * 50 for number in range(60)]
    with Store(tmp_path / "live" / "a.db") as store:
        added = [p for p, _ in store.add_passages("oak", [draft(text) for text in texts])]
        store.apply("oak", WriteBatch(extractions=[extraction(p.id, p.text[:50]) for p in added]))
        erased = store.erased("oak", [p.id for p in added[1:]])
        store.apply("oak", WriteBatch(remove_passages=[p.id for p in added[1:]]))
        # What a dead process leaves: the log as it was.
        shutil.copytree(tmp_path / "live", tmp_path / "dead")
    path = tmp_path / "dead" / "a.db"

    def marked() -> int:
        return sum(file.read_bytes().count(MARK.encode()) for file in path.parent.iterdir())

    assert marked() > 100
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM passages").fetchone()
    with Store(path, busy_timeout=0.2) as store:
        # Somebody reads, so it stays owed, and the store serves all the same.
        assert len(store.passages("oak")) == 1
    reader.close()
    purged: list[Store] = []
    real = Store.purge

    def counted(self: Store) -> None:
        purged.append(self)
        real(self)

    monkeypatch.setattr(Store, "purge", counted)
    with Store(path) as store:
        assert len(purged) == 1
        # The text, and its extraction's summary and event.
        assert marked() == 3
        assert store.look(erased).hits == 0
    with Store(path):
        assert len(purged) == 1


def test_a_search_that_cannot_run_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "nowhere"))
    with pytest.raises(StoreError, match="could not be searched"):
        Erased(["a text"]).look(None, [tmp_path / "a"])
