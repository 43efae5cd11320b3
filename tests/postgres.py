"""A private PostgreSQL for the tests: made once a session in a folder of its own, without fsync; a schema for each test."""

from __future__ import annotations

import glob
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
max_connections = 100
shared_buffers = 32MB
fsync = off
full_page_writes = off
wal_recycle = off
min_wal_size = 2MB
max_wal_size = 64MB
log_min_messages = fatal
"""
_numbers = itertools.count()


class Cluster:
    """A running server."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.data = folder / "data"
        self._folder = folder
        # The server refuses to be root, and initdb too.
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
            self._as = {"user": "postgres", "group": "postgres", "extra_groups": []}
        made = ["-D", str(self.data), "-U", "seem", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        initdb = [str(programs / "initdb"), *made, "--wal-segsize=1"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **self._as)
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS.format(folder=folder))
        self._log = (folder / "log").open("w")
        command = [str(programs / "postgres"), "-D", str(self.data)]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, cwd=folder, **self._as)
        until = time.monotonic() + 120
        while True:
            try:
                self.run("SELECT 1")
                return
            except Exception:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError((folder / "log").read_text()) from None
                time.sleep(0.1)

    def url(self, schema: str | None = None, **query: str) -> str:
        """Give a store's URL; without a name of a schema, one that nobody has used."""
        named = {"host": str(self._folder), "schema": schema or f"t{next(_numbers)}", **query}
        return "postgresql://seem@/postgres?" + "&".join(f"{name}={value}" for name, value in named.items())

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """Give a connection of the superuser, each statement for itself."""
        import psycopg

        with psycopg.connect(f"host={self._folder} user=seem dbname=postgres", autocommit=True) as connection:
            yield connection

    def run(self, *statements: str, schema: str = "public") -> None:
        """Run statements as the superuser, whom no constraint stops."""
        with self.connection() as connection:
            connection.execute(f"SET search_path TO {schema}")
            connection.execute("SET session_replication_role = replica")
            for statement in statements:
                connection.execute(statement)

    def residue(self, mark: str) -> list[str]:
        """Give the files that hold the mark, once all is on disk and the write-ahead log has moved on."""
        self.run("CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT")
        files = [path for path in self.data.rglob("*") if path.is_file()]
        return [str(path.relative_to(self.data)) for path in files if mark.encode() in _bytes(path)]

    def stop(self) -> None:
        """End the server at once and remove its folder."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(60)
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


@contextmanager
def running() -> Iterator[Cluster]:
    """Give a server, or skip the test with the reason why there is none."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install -e '.[postgres]'")
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [shutil.which("initdb") or ""]
    if not found[-1]:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    # Not below pytest's own folder, into which only its user may look. Short, since it holds a socket.
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="seem-pg-", dir="/tmp")), Path(found[-1]).parent)
    try:
        yield cluster
    finally:
        cluster.stop()
