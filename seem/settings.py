"""Values into a tree of frozen dataclasses, with every problem told at once.

Takes leaves (dotted key -> value and where it came from), gives the tree; a field's type, and ``setting(...)`` for a
range or a pattern, say what is allowed. Also reads leaves from YAML, in which a duplicate key is a problem and an alias
or a key that is no word is refused. Knows no particular setting.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import yaml

from seem.errors import ConfigError

Leaves = dict[str, tuple[Any, str]]
Tree = TypeVar("Tree")


def setting(
    default: Any, *, low: float | None = None, high: float | None = None, pattern: str = "", says: str = ""
) -> Any:
    """Give a field whose value must lie in [low, high] or match ``pattern``; ``says`` tells people what is expected."""
    return field(default=default, metadata={"low": low, "high": high, "pattern": pattern, "says": says})


def keys(kind: Any, prefix: str = "") -> Iterator[str]:
    """Give the dotted key of every setting in the tree; fields marked ``derived`` are none."""
    hints = get_type_hints(kind)
    for part in _fields(kind):
        if dataclasses.is_dataclass(hints[part.name]):
            yield from keys(hints[part.name], f"{prefix}{part.name}.")
        else:
            yield prefix + part.name


def flatten(values: Mapping[Any, Any], origin: str, problems: list[str]) -> Leaves:
    """Give the leaves of nested mappings; a key told twice, nested and dotted, is a problem."""
    leaves: Leaves = {}
    for key, value in values.items():
        inner: Leaves = {str(key): (None if value == {} else value, origin)}
        if isinstance(value, Mapping) and value:
            inner = {f"{key}.{name}": leaf for name, leaf in flatten(value, origin, problems).items()}
        problems += [f"{name}: given twice" for name in inner.keys() & leaves.keys()]
        leaves |= inner
    return leaves


def build(kind: type[Tree], leaves: Leaves, problems: list[str], elsewhere: Mapping[str, str]) -> Tree:
    """Build the tree; what cannot be used is added to ``problems`` and its default stands in.

    ``elsewhere`` maps names that people bring from other libraries to the keys that mean the same here.
    """
    known = list(keys(kind))
    sections = {key.rsplit(".", depth)[0] for key in known for depth in range(1, key.count(".") + 1)}
    for key, (value, _) in leaves.items():
        if key in sections:
            problems += [] if value is None else [f"{key}: a section of settings, not a value; got {shown(value)}"]
        elif key not in known:
            problems += [told for told in [_unknown(key, known, sections, elsewhere)] if told not in problems]
    return cast(Tree, _build(kind, "", leaves, problems))


def read_yaml(path: Path, problems: list[str]) -> Leaves:
    """Read the leaves of a YAML file; raise ConfigError where there is nothing to read."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The configuration file {str(path)!r} cannot be read: {error}.") from error
    try:
        values = parse_yaml(text, problems)
    except ValueError as error:
        raise ConfigError(f"The configuration file {str(path)!r} is not YAML: {error}.") from error
    if not isinstance(values, Mapping | None):
        raise ConfigError(f"The configuration file {str(path)!r} must hold sections of settings, not {shown(values)}.")
    return flatten(values or {}, "file", problems)


def parse_yaml(text: str, problems: list[str]) -> Any:
    """Parse YAML; raise ValueError that says on one line what is wrong."""
    try:
        loader = _Loader(text, problems)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    # A value that its tag does not fit (!!bool x, !!timestamp x) is a KeyError or an AttributeError in PyYAML.
    except (yaml.YAMLError, ValueError, KeyError, AttributeError) as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def shown(value: Any) -> str:
    """Give a value as a problem shows it, on one line and short."""
    told = repr(value)
    return told if len(told) <= 120 else f"{told[:117]}…"


class _Loader(yaml.SafeLoader):
    """Tells of duplicate keys, of which YAML would silently keep the last.

    An alias is refused: twenty of them can stand for a million values, or for themselves.
    """

    def __init__(self, text: str, problems: list[str]) -> None:
        super().__init__(text)
        self.problems = problems

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="an alias; write the value out",
                problem_mark=self.peek_event().start_mark,  # type: ignore[no-untyped-call]
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key must be a word", problem_mark=key.start_mark)
            if key.value in seen:
                self.problems.append(f"{key.value}: given twice, the second time in line {key.start_mark.line + 1}")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _fields(kind: Any) -> list[dataclasses.Field[Any]]:
    return [part for part in dataclasses.fields(kind) if not part.metadata.get("derived")]


def _build(kind: Any, prefix: str, leaves: Leaves, problems: list[str]) -> Any:
    hints = get_type_hints(kind)
    given: dict[str, Any] = {}
    for part in _fields(kind):
        key, hint = prefix + part.name, hints[part.name]
        if dataclasses.is_dataclass(hint):
            given[part.name] = _build(hint, f"{key}.", leaves, problems)
        elif key in leaves:
            value, _ = leaves[key]
            try:
                given[part.name] = _within(_typed(value, hint), part)
            except ValueError as error:
                problems.append(f"{key}: expected {error}, got {shown(value)}")
    return kind(**given)


def _typed(value: Any, hint: Any) -> Any:
    """Give the value as the type hint wants it, or raise ValueError that says what was expected."""
    if get_origin(hint) is Literal:
        if value in get_args(hint) and isinstance(value, str):
            return value
        raise ValueError(_nearest_choice(value, get_args(hint)))
    if get_origin(hint) in (Union, UnionType):
        if value is None and NoneType in get_args(hint):
            return None
        (inner,) = [choice for choice in get_args(hint) if choice is not NoneType]
        return _typed(value, inner)
    if hint is Path:
        try:
            if isinstance(value, str | Path) and "\0" not in str(value) and Path(value).expanduser().is_absolute():
                return Path(value).expanduser()
        except RuntimeError:  # the home of somebody who is not on this machine
            pass
        raise ValueError("an absolute path, or one that begins with ~")
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise ValueError("a number of ordinary size") from None
    if isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise ValueError({int: "a whole number", float: "a number", str: "text", bool: "true or false"}[hint])


def _within(value: Any, part: dataclasses.Field[Any]) -> Any:
    """Give the value back, or raise ValueError where it is out of the field's range or pattern."""
    low, high = part.metadata.get("low"), part.metadata.get("high")
    if isinstance(value, int | float) and not isinstance(value, bool):
        too_low, too_high = low is not None and value < low, high is not None and value > high
        if too_low or too_high or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(f"a number from {low} to {high}")
    pattern = part.metadata.get("pattern")
    if pattern and isinstance(value, str) and not re.fullmatch(pattern, value):
        raise ValueError(part.metadata["says"])
    return value


def _nearest_choice(value: Any, choices: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(value), choices, n=1)
    return f"one of {', '.join(choices)}" + (f" (nearest: {close[0]})" if close else "")


def _unknown(key: str, known: Sequence[str], sections: set[str], elsewhere: Mapping[str, str]) -> str:
    """Say that a key is unknown, and which valid one is nearest; of an unknown section only the section is told."""
    wrong, choices = key, [*sorted(sections), *known]
    head = key.partition(".")[0]
    if "." in key and head not in choices:
        wrong, choices = head, sorted(sections)
    parent, _, name = wrong.rpartition(".")
    siblings = [choice for choice in choices if choice.rpartition(".")[0] == parent]
    close = difflib.get_close_matches(wrong, siblings, n=1)
    close = close or [elsewhere[match] for match in difflib.get_close_matches(wrong, elsewhere, n=1, cutoff=0.7)]
    close = close or [choice for choice in choices if choice.rpartition(".")[2] == name]
    close = close or difflib.get_close_matches(wrong, choices, n=1, cutoff=0.4)
    nearest = f"the nearest valid key is {close[0]}" if close else f"valid are {', '.join(choices)}"
    return f"{wrong}: unknown; {nearest}"
