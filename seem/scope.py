"""Whose memory is meant: the three ids of memory libraries onto one memory and a filter.

The owner is ``user_id`` if given, else ``agent_id``, else ``run_id``; the other ids narrow what is read and are kept
with every passage. Ids are compared letter by letter. Knows nothing about storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seem.errors import InputError

IDS = ("user_id", "agent_id", "run_id")


@dataclass(frozen=True, slots=True)
class Scope:
    """A memory's key, and the ids that a passage must carry."""

    memory: str
    ids: Mapping[str, str]

    def metadata(self) -> dict[str, str]:
        """Give what is kept with each passage that is added."""
        return dict(self.ids)


def scope(filters: Mapping[str, Any] | None = None, **ids: str | None) -> Scope:
    """Join the ids at top level and those inside ``filters``; refuse none at all, empty ones, and contradictions."""
    if filters is not None and not isinstance(filters, Mapping):
        raise InputError(f"filters must be a mapping of fields to values, not {filters!r}")
    given: dict[str, str] = {}
    inside = {k: v for k, v in (filters or {}).items() if k in IDS}
    for name in IDS:
        values = [v for v in (ids.get(name), inside.get(name)) if v is not None]
        if len(values) == 2 and values[0] != values[1]:
            raise InputError(f"{name} is given twice with different values; give it once")
        for value in values:
            if not isinstance(value, str) or not value.strip():
                raise InputError(f"{name} must be a non-empty string, not {value!r}")
            given[name] = value
    if not given:
        raise InputError("whose memory is meant? give at least one of user_id, agent_id, run_id")
    owner = next(name for name in IDS if name in given)
    return Scope(f"{owner}:{given[owner]}", given)
