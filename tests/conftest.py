"""What tests of several rooms share: a PostgreSQL server, started when the first test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres import Cluster, running


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Give the server of this session; skip where it is not installed."""
    with running() as started:
        yield started
