"""How long passages are kept: by age, by session, by number; what is due, rule by rule.

Takes the rules and the passages of one memory, gives those that are due. Changes nothing. Knows nothing about storage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from seem.config import Retention
from seem.errors import InputError
from seem.selection import arrived, said, span
from seem.types import Passage

NAMES = ("older_than", "idle_session", "keep", "keep_sessions", "session", "clock")


def rules(configured: Retention, given: dict[str, Any]) -> Retention:
    """Give the rules: those given for this run, or where none is given, the configured ones; refuse none at all."""
    told = {name: value for name, value in given.items() if value is not None}
    unknown = sorted(set(told) - set(NAMES))
    if unknown:
        raise InputError(f"there is no rule {unknown[0]!r}; rules are {', '.join(NAMES)}")
    only_narrowed = not set(told) - {"session", "clock"}
    chosen = Retention(**{**({} if not only_narrowed else _plain(configured)), **told})
    if not (chosen.older_than or chosen.idle_session or chosen.keep is not None or chosen.keep_sessions is not None):
        raise InputError(
            "no rule says how long to keep anything; give older_than, idle_session, keep or keep_sessions, "
            "or set them under retention"
        )
    for name in ("keep", "keep_sessions"):
        number = getattr(chosen, name)
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
            raise InputError(f"{name} must be a whole number from 0, not {number!r}")
    if chosen.clock not in ("stored", "said"):
        raise InputError(f"clock must be stored or said, not {chosen.clock!r}")
    return chosen


def due(passages: Sequence[Passage], rules: Retention, now: datetime) -> dict[str, list[str]]:
    """Give the ids of the passages that each rule lets go, in order of arrival; a passage may be due under several."""
    clock: Callable[[Passage], datetime] = said if rules.clock == "said" else arrived
    bound = [p for p in passages if not rules.session or fnmatchcase(p.session, rules.session)]
    last: dict[str, datetime] = {}
    for passage in bound:
        last[passage.session] = max(clock(passage), last.get(passage.session, clock(passage)))
    found: dict[str, list[str]] = {}
    if rules.older_than:
        edge = now - span(rules.older_than, "older_than")
        found["older_than"] = [p.id for p in bound if clock(p) < edge]
    if rules.idle_session:
        edge = now - span(rules.idle_session, "idle_session")
        found["idle_session"] = [p.id for p in bound if p.session and last[p.session] < edge]
    if rules.keep is not None:
        latest = sorted(bound, key=lambda p: (clock(p), p.position))
        beyond = {p.id for p in latest[: max(0, len(latest) - rules.keep)]}
        found["keep"] = [p.id for p in bound if p.id in beyond]
    if rules.keep_sessions is not None:
        named = sorted((name for name in last if name), key=lambda name: (last[name], name))
        old = set(named[: max(0, len(named) - rules.keep_sessions)])
        found["keep_sessions"] = [p.id for p in bound if p.session in old]
    return found


def _plain(configured: Retention) -> dict[str, Any]:
    return {name: getattr(configured, name) for name in NAMES}
