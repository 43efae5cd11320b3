"""Metadata filters: the operators that users of memory libraries know, as a predicate over passages.

``{"mood": "good", "year": {"gte": 2020}, "AND": […], "OR": […], "NOT": …}``; ``"*"`` means «is present». Knows nothing
about storage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from seem.errors import InputError
from seem.scope import IDS
from seem.types import Passage

Test = Callable[[Mapping[str, Any]], bool]


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def safe(value: Any, wanted: Any) -> bool:
        try:
            return value is not None and bool(compare(value, wanted))
        except TypeError:
            return False

    return safe


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda v, w: v == w,
    "ne": lambda v, w: v != w,
    # A list is searched, since a set cannot tell whether it holds a value that is itself a list.
    "in": lambda v, w: v in list(w),
    "nin": lambda v, w: v not in list(w),
    "gt": _ordered(lambda v, w: v > w),
    "gte": _ordered(lambda v, w: v >= w),
    "lt": _ordered(lambda v, w: v < w),
    "lte": _ordered(lambda v, w: v <= w),
    "contains": lambda v, w: isinstance(v, str) and str(w) in v,
    "icontains": lambda v, w: isinstance(v, str) and str(w).casefold() in v.casefold(),
}


def matcher(filters: Mapping[str, Any] | None) -> Test:
    """Compile filters; raise InputError where an operator is unknown or misused."""
    tests = [_test(key, value) for key, value in (filters or {}).items()]
    return lambda fields: all(test(fields) for test in tests)


def fields(passage: Passage) -> dict[str, Any]:
    """Give what filters can see of a passage: its metadata, and its own attributes."""
    own = {
        "speaker": passage.speaker,
        "session": passage.session,
        "time": passage.time.isoformat() if passage.time else None,
    }
    return {**passage.metadata, **own}


def without_ids(filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give the filters less the ids that say whose memory is meant."""
    return {k: v for k, v in (filters or {}).items() if k not in IDS}


def _test(key: str, value: Any) -> Test:
    if key in ("AND", "OR"):
        if not isinstance(value, (list, tuple)):
            raise InputError(f"filter {key} takes a list of filters, not {value!r}")
        parts = [matcher(_mapping(key, part)) for part in value]
        return (lambda f: all(p(f) for p in parts)) if key == "AND" else (lambda f: any(p(f) for p in parts))
    if key == "NOT":
        parts = [matcher(_mapping(key, part)) for part in (value if isinstance(value, (list, tuple)) else [value])]
        return lambda f: not any(p(f) for p in parts)
    if value == "*":
        return lambda f: f.get(key) is not None
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in _OPERATORS]
        if unknown:
            raise InputError(f"filter {key!r}: unknown operator {unknown[0]!r}; known are {', '.join(_OPERATORS)}")
        bad = [n for n in ("in", "nin") if n in value and not isinstance(value[n], (list, tuple, set))]
        if bad:
            raise InputError(f"filter {key!r}: {bad[0]} takes a list, not {value[bad[0]]!r}")
        return lambda f: all(_OPERATORS[name](f.get(key), wanted) for name, wanted in value.items())
    if isinstance(value, (list, tuple)):
        return lambda f: f.get(key) in value
    return lambda f: f.get(key) == value


def _mapping(key: str, part: Any) -> Mapping[str, Any]:
    if not isinstance(part, Mapping):
        raise InputError(f"filter {key} takes filters, not {part!r}")
    return part
