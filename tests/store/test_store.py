"""The store keeps what it is given, gives it back unchanged, and says clearly when it cannot."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from seem.errors import ConfigError, InputError, NotFoundError, SeemError, StoreError
from seem.store import schema
from seem.store.batch import Change, Draft, WriteBatch
from seem.store.store import StaleError, Store
from seem.store.verify import verify
from seem.types import Frame
from tests.store.conftest import Place
from tests.store.samples import draft, extraction, fill, unit


@pytest.fixture(params=["file", "memory", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    address: str | Path = ":memory:" if request.param == "memory" else tmp_path / "new folder" / "memory.db"
    if request.param == "postgres":
        address = request.getfixturevalue("cluster").url()
    with Store(address) as opened:
        yield opened


def test_passages_come_back_byte_for_byte(store: Store) -> None:
    text = "Zoe\u0308  said:\r\n\t\u201cK2\u201d \x00 \x1a0\x1a1 \x1a\x00 \U0001f3b9 \u200b\ufeff"
    when = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    given = Draft(text, "k1", "Zoë", "s1", when, "a piano", ("ana", "ben"), {"n": [1, {"ü": None}]})
    [(passage, new)] = store.add_passages("oak", [given])
    assert new
    assert passage == store.passage(passage.id) == store.load("oak").passages[passage.id]
    assert (passage.text, passage.speaker, passage.session, passage.image) == (text, "Zoë", "s1", "a piano")
    assert passage.time == when
    assert passage.time.utcoffset() == timedelta(hours=5, minutes=45)
    assert passage.readers == ("ana", "ben")
    assert passage.metadata == {"n": [1, {"ü": None}]}
    assert (passage.position, passage.status) == (0, "pending")
    assert passage.created_at is not None
    assert passage.created_at.tzinfo is not None


def test_ids_sort_by_arrival_and_positions_are_not_given_twice(store: Store) -> None:
    added = store.add_passages("oak", [draft(f"text {number}", infer=number % 2 == 0) for number in range(50)])
    passages = [passage for passage, _ in added]
    assert [passage.position for passage in passages] == list(range(50))
    assert [passage.id for passage in passages] == sorted(passage.id for passage in passages)
    assert {(passage.id[:2], len(passage.id)) for passage in passages} == {("p_", 28)}
    assert [passage.position for passage in store.passages("oak", status="raw", limit=2, offset=1)] == [3, 5]
    store.apply("oak", WriteBatch(remove_passages=[passages[-1].id]))
    [(again, new)] = store.add_passages("oak", [draft("text 49")])
    assert new
    assert again.position == 50
    assert again.id > passages[-1].id


def test_repeat_is_harmless(store: Store) -> None:
    first = store.add_passages("oak", [draft("a", "k1"), draft("b", "k2"), draft("a again", "k1")])
    assert [new for _, new in first] == [True, True, False]
    assert first[2][0] == first[0][0]
    generation = store.generation("oak")
    second = store.add_passages("oak", [draft("b", "k2"), draft("c", "k3")])
    assert [new for _, new in second] == [False, True]
    assert second[0][0].id == first[1][0].id
    assert store.generation("oak") == generation + 1
    store.add_passages("oak", [draft("c", "k3")])
    assert store.generation("oak") == generation + 1
    assert [passage.text for passage in store.passages("oak")] == ["a", "b", "c"]


def test_whole_memory_round_trip(store: Store) -> None:
    passages = fill(store, "oak")
    snapshot = store.load("oak")
    assert (snapshot.generation, snapshot.encoder) == (2, "enc-1")
    assert list(snapshot.passages) == [passage.id for passage in passages]
    assert snapshot.extractions[passages[0].id] == extraction(passages[0].id, "I sold the piano.")
    frame = snapshot.frames["f_oak"]
    assert frame == store.frame("f_oak")
    assert frame.provenance == tuple(snapshot.passages)
    fact = snapshot.facts["q_oak"]
    assert fact == store.fact("q_oak")
    assert fact.fact.time is not None
    assert fact.fact.time.start == "2024-05-04"
    assert snapshot.entities["n_oak_odile"].aliases == ("Odi", "Mrs O")
    assert np.array_equal(snapshot.vectors["passage", passages[1].id], unit(1))
    assert store.stats("oak")["done"] == 2
    assert store.stats(None) | {"memories": 1} == store.stats(None)
    assert verify(store, "oak") == verify(store, None) == []


def test_order_of_rewritten_frames_and_facts_stays(store: Store) -> None:
    ids = [passage.id for passage, _ in store.add_passages("oak", [draft(str(n)) for n in range(3)])]
    frames = [Frame(f"f{n}", "oak", (ids[n],), str(n), ()) for n in (2, 0, 1)]
    store.apply("oak", WriteBatch(extractions=[extraction(item) for item in ids], frames=frames))
    store.apply("oak", WriteBatch(frames=[replace(frames[0], summary="changed")]))
    assert list(store.load("oak").frames) == ["f2", "f0", "f1"]
    assert store.frame("f2").summary == "changed"


def test_stale_batch_writes_nothing(store: Store) -> None:
    [(passage, _)] = store.add_passages("oak", [draft("a")])
    assert store.apply("oak", WriteBatch(done=[passage.id], extractions=[extraction(passage.id)]), expected=1) == 2
    with pytest.raises(StaleError, match="generation 2"):
        store.apply("oak", WriteBatch(remove_passages=[passage.id]), expected=1)
    assert store.passage(passage.id).status == "done"
    assert store.generation("oak") == 2
    with pytest.raises(StaleError):
        store.apply("elm", WriteBatch(), expected=3)
    assert store.memories() == ["oak"]


@pytest.mark.parametrize(
    "batch",
    [
        WriteBatch(done=["p_nowhere"]),
        WriteBatch(failed={"p_nowhere": "x"}),
        WriteBatch(extractions=[extraction("p_nowhere")]),
        WriteBatch(frames=[Frame("f1", "oak", ("p_nowhere",), "", ())]),
        WriteBatch(encoder="enc-2", vectors=[("frame", "f1", unit(1))]),
        WriteBatch(remove_entities=["n_oak_odile"]),
        WriteBatch(vectors=[("frame", "f1", unit(1))]),
        WriteBatch(frames=[Frame("f1", "elm", ("p",), "", ())]),
        WriteBatch(encoder="enc-1", vectors=[("frame", "f1", np.full(8, np.nan, np.float32))]),
        WriteBatch(history=[Change("f_oak", "UPDATE", "lone \ud800")]),
    ],
)
def test_batch_that_does_not_fit_is_refused_whole(store: Store, batch: WriteBatch) -> None:
    fill(store, "oak")
    before = store.load("oak")
    with pytest.raises(SeemError) as caught:
        store.apply("oak", replace(batch, remove_facts=["q_oak"] if not batch.remove_entities else []))
    assert "INSERT" not in str(caught.value)
    assert before.facts == store.load("oak").facts
    assert store.generation("oak") == before.generation


def test_a_passage_is_in_one_frame_and_in_one_memory(store: Store) -> None:
    passages = fill(store, "oak")
    fill(store, "elm")
    with pytest.raises(StoreError, match="two frames"):
        store.apply("oak", WriteBatch(frames=[Frame("f2", "oak", (passages[0].id,), "", ())]))
    with pytest.raises(StoreError, match="another memory"):
        store.apply("elm", WriteBatch(frames=[Frame("f_oak", "elm", (store.passages("elm")[0].id,), "taken", ())]))
    with pytest.raises(StoreError):
        store.apply("elm", WriteBatch(frames=[Frame("f3", "elm", (passages[0].id,), "", ())]))
    with pytest.raises(StoreError):
        store.apply("elm", WriteBatch(extractions=[extraction(passages[0].id, "of another")]))
    split = [
        Frame("f_oak", "oak", (passages[1].id,), "one", ()),
        Frame("f2", "oak", (passages[0].id,), "other", ()),
    ]
    store.apply("oak", WriteBatch(frames=split))
    assert store.frame("f2").provenance == (passages[0].id,)


def test_memories_are_compared_letter_by_letter(store: Store) -> None:
    for memory in ("oak", "oakridge", "oak:north", "OAK", "oak%"):
        store.add_passages(memory, [draft(f"of {memory}")])
    assert [passage.text for passage in store.passages("oak")] == ["of oak"]
    assert store.delete_memory("oak")["passages"] == 1
    assert store.delete_memory("oak")["passages"] == 0
    assert store.memories() == ["OAK", "oak%", "oak:north", "oakridge"]
    for verb in (store.load, store.passages, store.generation, store.delete_memory):
        with pytest.raises(InputError, match="empty"):
            verb("")


def test_generation_is_never_given_twice(store: Store) -> None:
    fill(store, "oak")
    before = store.generation("oak")
    store.delete_memory("oak")
    assert store.generation("oak") == 0
    fill(store, "oak")
    assert store.generation("oak") > before + 1
    store.delete_memory("oak")
    assert store.apply("oak", WriteBatch(), expected=0) > before


def test_failures_are_kept_counted_and_retried(store: Store) -> None:
    [(bad, _), (good, _)] = store.add_passages("oak", [draft("a"), draft("b")])
    store.add_passages("elm", [draft("c")])
    store.add_passages("elm", [draft("d", infer=False)])
    for attempt in (1, 2, 3):
        assert [passage.id for passage in store.pending("oak", 10)] == [bad.id, good.id]
        store.apply("oak", WriteBatch(failed={bad.id: f"out of memory {attempt}"}))
    assert store.failures("oak") == {bad.id: ("out of memory 3", 3)}
    assert [passage.text for passage in store.pending(None, 10)] == ["b", "c"]
    assert [passage.text for passage in store.pending(None, 1)] == ["b"]
    store.apply("oak", WriteBatch(passages=[replace(bad, status="pending")]))
    assert [passage.id for passage in store.pending("oak", 1)] == [bad.id]
    store.apply("oak", WriteBatch(done=[bad.id], extractions=[extraction(bad.id)]))
    assert store.failures("oak") == {}


def test_updated_passage_keeps_place_and_history(store: Store) -> None:
    [passage, _] = fill(store, "oak")
    change = Change(passage.id, "UPDATE", passage.text, "I sold the cello.", "odile")
    store.apply("oak", WriteBatch(passages=[replace(passage, text="I sold the cello.")], history=[change]))
    updated = store.passage(passage.id)
    assert (updated.text, updated.position) == ("I sold the cello.", 0)
    assert updated.updated_at is not None
    assert updated.created_at == passage.created_at
    assert [entry.change.event for entry in store.history(passage.id)] == ["ADD", "UPDATE"]
    assert store.history(passage.id)[1].change == change
    assert store.history("nothing") == []


def test_unknown_ids(store: Store) -> None:
    for read in (store.passage, store.frame, store.fact):
        with pytest.raises(NotFoundError, match="x_1"):
            read("x_1")
    assert store.load("oak").generation == 0


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (draft("lone \ud83d surrogate", "k2"), "passage 1 .*k2.*surrogate"),
        (draft("b", "k2", speaker="\udc00"), "surrogate"),
        (draft("b", "k2", metadata={"a": ["\udc00"]}), "surrogate"),
        (draft("b", "k2", metadata={"a": float("nan")}), "JSON"),
        (draft("b", "k2", metadata={"a": object()}), "JSON"),
        (Draft("b", ""), "key"),
        (Draft("b", "k2", time=datetime(2024, 1, 1)), "zone"),
    ],
)
def test_a_draft_that_cannot_be_kept_refuses_the_batch(store: Store, bad: Draft, words: str) -> None:
    with pytest.raises(InputError, match=words):
        store.add_passages("oak", [draft("a", "k1"), bad])
    assert store.memories() == []


def test_reindexing_with_another_encoder_replaces_every_vector(store: Store) -> None:
    fill(store, "oak")
    vectors = [(kind, item_id, unit(7, 4)) for kind, item_id in store.load("oak").vectors]
    with pytest.raises(StoreError, match=r"'enc-1'.*'enc-2'.*seem reindex"):
        store.apply("oak", WriteBatch(encoder="enc-2", vectors=vectors[:-1]))
    store.apply("oak", WriteBatch(encoder="enc-2", vectors=vectors))
    assert store.load("oak").encoder == "enc-2"
    assert verify(store, "oak") == []


@pytest.mark.parametrize("kind", ["file", "postgres"])
def test_migrated_tables_are_those_of_the_schema(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a%20b.db"
    with Store(path if kind == "file" else request.getfixturevalue("cluster").url()) as store:
        with store._engine.connect() as connection:
            options = {"version_table": schema.VERSION_TABLE}
            assert compare_metadata(MigrationContext.configure(connection, opts=options), schema.metadata) == []
    if kind == "file":
        with sqlite3.connect(path) as plain:
            assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        plain.close()


def test_foreign_and_damaged_files_are_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_bytes(b"not a database at all, but longer than a header\n" * 50)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE songs (name)")
    connection.close()
    torn = tmp_path / "torn.db"
    with Store(torn) as store:
        fill(store, "oak")
    torn.write_bytes(torn.read_bytes()[:4096] + b"\xa5" * 8192)
    for path, words in ((text, "not a SEEM database"), (other, "another program"), (torn, "damaged|refused")):
        before = path.read_bytes()
        with pytest.raises(StoreError, match=words), Store(path) as store:
            store.load("oak")
        assert path.read_bytes() == before
    with pytest.raises(StoreError, match="folder"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="cannot open"):
        Store(text / "below" / "a.db")
    with pytest.raises(ConfigError):
        Store("")
    with pytest.raises(StoreError, match="driver"):
        Store("nosuchdatabase://host/x")


def test_newer_schema_is_refused(place: Place) -> None:
    Store(place.address).close()
    place.run(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'")
    with pytest.raises(StoreError, match="newer SEEM"):
        Store(place.address)


def test_locked_full_and_read_only(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path, busy_timeout=0.2) as store:
        fill(store, "oak")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"locked .* 0\.2 s"):
            store.add_passages("oak", [draft("late")])
        assert len(store.passages("oak")) == 2
        other.execute("ROLLBACK")
        other.close()

        @sa.event.listens_for(store._engine, "begin")
        def small_disk(connection: sa.Connection) -> None:
            connection.exec_driver_sql("PRAGMA max_page_count = 1")

        with pytest.raises(StoreError, match="disk is full"):
            store.add_passages("oak", [draft("big " * 100_000, "k")])
        assert len(store.passages("oak")) == 2
    with Store(f"sqlite:///file:{path}?mode=ro&uri=true") as store:
        with pytest.raises(StoreError, match="read-only"):
            store.add_passages("oak", [draft("late")])
        assert len(store.passages("oak")) == 2
        assert verify(store, None) == []


def test_open_moments_are_utc(store: Store) -> None:
    [(passage, _)] = store.add_passages("oak", [Draft("timeless", "k")])
    assert passage.time is None
    assert passage.created_at is not None
    assert abs(datetime.now(UTC) - passage.created_at) < timedelta(minutes=1)
