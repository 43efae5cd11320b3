"""Which passages are meant: by session, speaker, age or all of a memory, beside what ids and filters leave.

Takes what a caller says, gives the passages that fit. Knows nothing about what is done with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from seem.errors import InputError
from seem.sources.drafts import parse_time
from seem.types import Passage

_SPAN = re.compile(r"(\d{1,6})\s*(h|d|w)")
_HOURS = {"h": 1, "d": 24, "w": 168}


@dataclass(frozen=True, slots=True)
class Selection:
    """What all passages have that are meant; ``everything`` says that no such thing is asked for on purpose."""

    session: str | None = None
    speaker: str | None = None
    before: datetime | None = None
    everything: bool = False

    def __post_init__(self) -> None:
        for name, told in (("session", self.session), ("speaker", self.speaker)):
            if told is not None and (not isinstance(told, str) or not told):
                raise InputError(f"the {name} must be a name, not {told!r}; of passages without one name their ids")

    @property
    def empty(self) -> bool:
        """Whether nothing at all is asked for."""
        return self.session is None and self.speaker is None and self.before is None and not self.everything

    def fits(self, passage: Passage) -> bool:
        """Tell whether a passage is meant. Names are compared letter by letter."""
        return (
            (self.session is None or passage.session == self.session)
            and (self.speaker is None or passage.speaker == self.speaker)
            and (self.before is None or said(passage) < self.before)
        )

    def of(self, passages: Iterable[Passage]) -> list[str]:
        """Give the ids of the passages that are meant."""
        return [passage.id for passage in passages if self.fits(passage)]


def said(passage: Passage) -> datetime:
    """Give when a passage was said; when it arrived, where nobody knows."""
    return passage.time or arrived(passage)


def arrived(passage: Passage) -> datetime:
    """Give when a passage was stored."""
    return passage.created_at or datetime.max.replace(tzinfo=UTC)


def moment(value: Any, name: str = "before") -> datetime | None:
    """Read a moment: a datetime, ISO 8601, or unix seconds; UTC where no zone is told."""
    if value is None:
        return None
    try:
        return parse_time(value, UTC)[0]
    except ValueError as error:
        raise InputError(f"{name}: {error}") from error


def span(text: str, name: str) -> timedelta:
    """Read a span of time, such as 90d, 12w or 36h."""
    match = _SPAN.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise InputError(f"{name} must be a span such as 90d, 12w or 36h, not {text!r}")
    return timedelta(hours=int(match[1]) * _HOURS[match[2]])
