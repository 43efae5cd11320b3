"""The homes of a memory that the main flows are played in: a folder with its file, and one whose store is in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.people import STORES


@pytest.fixture(params=["file", "postgres"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "postgres":
        STORES[tmp_path] = request.getfixturevalue("cluster").url()
    yield tmp_path
    STORES.pop(tmp_path, None)
