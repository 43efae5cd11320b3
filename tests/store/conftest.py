"""The places where a store may lie; each test of the store that asks for ``place`` runs over all of them."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.postgres import Cluster

_numbers = itertools.count()


@dataclass(frozen=True)
class Place:
    """Where a test's store lies, and a way to it that does not go through the store."""

    address: Path | str
    schema: str = ""
    cluster: Cluster | None = None

    def run(self, statement: str) -> None:
        """Run a statement that no constraint stops."""
        if self.cluster is not None:
            self.cluster.run(statement, schema=self.schema)
            return
        connection = sqlite3.connect(self.address)
        connection.execute(statement)
        connection.commit()
        connection.close()

    def blob(self, data: bytes) -> str:
        """Write bytes as SQL does here."""
        return f"x'{data.hex()}'" if self.cluster is None else f"'\\x{data.hex()}'::bytea"

    def residue(self, mark: str) -> list[str]:
        """Give the files that hold the mark."""
        if self.cluster is not None:
            return self.cluster.residue(mark)
        path = Path(self.address)
        files = [path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")]
        return [file.name for file in files if file.exists() and mark.encode() in file.read_bytes()]


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "file":
        yield Place(tmp_path / "new folder" / "memory.db")
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    schema = f"place{next(_numbers)}"
    yield Place(cluster.url(schema), schema, cluster)
    cluster.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
