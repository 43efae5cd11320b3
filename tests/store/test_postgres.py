"""What only PostgreSQL can do to a store: wait by memory, refuse, be away; and what stays of a deletion while others read."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from seem.errors import ConfigError, StoreError
from seem.store.batch import WriteBatch
from seem.store.postgres import lock
from seem.store.store import Store
from tests.postgres import Cluster
from tests.store.samples import draft, fill


def test_a_memory_is_written_by_one_at_a_time_and_others_meanwhile(cluster: Cluster) -> None:
    url = cluster.url()
    with Store(url, busy_timeout=0.3) as store, Store(url) as other:
        fill(store, "oak")
        with other._engine.begin() as connection:
            lock(connection, "memory oak")
            assert store.apply("elm", WriteBatch()) == 1
            with pytest.raises(StoreError, match=r"locked .* 0\.3 s"):
                store.add_passages("oak", [draft("late")])
        assert len(store.passages("oak")) == 2
        store.add_passages("oak", [draft("late")])


def test_many_threads_of_many_processes_open_one_schema(cluster: Cluster) -> None:
    url = cluster.url()
    start = threading.Barrier(6)

    def opened(number: int) -> str:
        start.wait()
        with Store(url) as store:
            store.add_passages("oak", [draft(f"of {number}")])
            return store.name

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(opened, range(6)))) == 1
    with Store(url) as store:
        assert sorted(passage.position for passage in store.passages("oak")) == list(range(6))


def test_schemas_do_not_meet(cluster: Cluster) -> None:
    with Store(cluster.url('a-b"c')) as one, Store(cluster.url("a-b")) as other:
        fill(one, "oak")
        assert other.memories() == []
        with pytest.raises(ConfigError, match="63 bytes"):
            Store(cluster.url("x" * 64))


def test_a_purge_says_when_somebody_still_reads_what_was_deleted(cluster: Cluster) -> None:
    with Store(cluster.url("busy"), busy_timeout=0.3) as store:
        fill(store, "oak", ("Sunniva's door code is QX-MARK-77.", "Rune fetched it."))
        with cluster.connection() as reader:
            # Of another table: a transaction keeps old rows of every table alive.
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM pg_class")
            store.delete_memory("oak")
            with pytest.raises(StoreError, match="reading"):
                store.purge()
            assert cluster.residue("QX-MARK-77")
        store.purge()
        assert cluster.residue("QX-MARK-77") == []


def test_what_cannot_be_opened_or_written_is_told(cluster: Cluster) -> None:
    cluster.run("CREATE SCHEMA songs", "CREATE TABLE songs.songs (name text)")
    cluster.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0", "CREATE ROLE guest LOGIN")
    with Store(cluster.url("readable")) as store:
        fill(store, "oak")
    cluster.run("GRANT USAGE ON SCHEMA readable TO guest", "GRANT SELECT ON ALL TABLES IN SCHEMA readable TO guest")
    for url, words in (
        (cluster.url("songs"), "another program"),
        (cluster.url(port="1"), "cannot be reached"),
        (cluster.url().replace("/postgres?", "/nowhere?"), "cannot be reached"),
        (cluster.url().replace("/postgres?", "/latin?"), "LATIN1"),
        (cluster.url().replace("seem@", "guest@"), "lacks a right"),
    ):
        with pytest.raises(StoreError, match=words) as caught:
            Store(url, busy_timeout=2)
        assert "password" in str(caught.value) or "secret" not in str(caught.value)
    with Store(cluster.url("readable", options="-c%20default_transaction_read_only%3Don")) as store:
        with pytest.raises(StoreError, match="read-only"):
            store.add_passages("oak", [draft("late")])
        assert len(store.passages("oak")) == 2
    with Store(cluster.url("readable").replace("seem@", "guest@")) as store:
        with pytest.raises(StoreError, match="lacks a right"):
            store.add_passages("oak", [draft("late")])


def test_a_connection_that_broke_is_made_anew(cluster: Cluster) -> None:
    with Store(cluster.url()) as store:
        fill(store, "oak")
        cluster.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'seem' AND pid <> pg_backend_pid()"
        )
        assert len(store.passages("oak")) == 2
