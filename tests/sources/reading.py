"""What the tests of the importers share: a file read whole, into drafts and problems."""

from __future__ import annotations

from datetime import tzinfo
from pathlib import Path

from seem.sources import Problem, read
from seem.store.batch import Draft


def taken(format: str, path: Path, zone: tzinfo | None = None) -> tuple[list[Draft], list[Problem]]:
    """Read a file of a format twice; give what it holds, after checking that a repeat gives the same keys."""
    problems: list[Problem] = []
    drafts = list(read(format, path, problems, zone=zone))
    assert [draft.key for draft in read(format, path, [], zone=zone)] == [draft.key for draft in drafts]
    return drafts, problems
