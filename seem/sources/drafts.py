"""From the loose fields of a message to a Draft: names of fields, times, characters, keys.

Takes mappings, gives drafts and Problems. A message without an id gets a key from its content and from how often
that content came before in the same request: two equal sentences are two passages, and the same request again gives the
same keys. Knows nothing about files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from types import MappingProxyType
from typing import Any

from seem.store.batch import Draft

ROLE_NAMES = MappingProxyType({"user": "User", "assistant": "Assistant", "tool": "Tool"})
NOT_CONVERSATION = frozenset({"system", "developer"})

_TEXT = ("text", "content")
_SPEAKER = ("speaker", "name")
_TIME = ("time", "timestamp", "created_at")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MILLISECONDS_FROM = 1e11
_NUMBER = re.compile(r"-?\d{9,}(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was left out: its line in the file (or its number among the messages, from 1), and why."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a message gets that does not say itself; ``zone`` belongs to times without one."""

    zone: tzinfo = UTC
    session: str = ""
    time: datetime | None = None
    readers: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    infer: bool = True


def to_drafts(
    messages: Iterable[tuple[int, Any]], problems: list[Problem], defaults: Defaults = Defaults()
) -> Iterator[Draft]:
    """Give a draft for each (line, message) that can be used; the others are told in ``problems``."""
    seen: Counter[str] = Counter()
    said: dict[str, tuple[str, str]] = {}
    for line, message in messages:
        try:
            draft = _draft(message, defaults, seen)
        except (ValueError, RecursionError) as error:
            deep = isinstance(error, RecursionError)
            problems.append(Problem(line, "the message is nested too deeply" if deep else str(error)))
            continue
        if said.setdefault(draft.key, (draft.speaker, draft.text)) == (draft.speaker, draft.text):
            yield draft
        else:
            problems.append(Problem(line, f"the id {shown(draft.key)} was given before, to another text"))


def parse_time(value: Any, zone: tzinfo) -> tuple[datetime, bool]:
    """Give an aware time and whether its zone was assumed; raise ValueError that says what is wrong.

    Accepts datetimes, ISO 8601, and unix seconds or milliseconds, as numbers or digits.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
            value = datetime.fromtimestamp(seconds, UTC)
        time = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"time {shown(value)} is neither ISO 8601 nor unix seconds or milliseconds") from error
    if not isinstance(time, datetime):
        raise ValueError(f"time {shown(value)} is neither ISO 8601 nor unix seconds or milliseconds")
    assumed = time.utcoffset() is None
    time = time.replace(tzinfo=zone) if assumed else time
    if not 1 < time.year < 9999:
        raise ValueError(f"time {shown(value)} lies outside the calendar")
    return time, assumed


def shown(value: Any) -> str:
    """Give a value as a Problem shows it, on one line and short."""
    told = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else repr(value)
    return told if len(told) <= 60 else f"{told[:57]}…"


def worded_key(own: str, text: str) -> str:
    """Give the key of a message that its program may edit: its id there and a hash of the words.

    The same words again are the same passage; edited ones are a new passage beside the old.
    """
    return f"{own}/{hashlib.sha256(storable(text).encode()).hexdigest()[:12]}"


def storable(value: Any) -> Any:
    """Give the value with U+FFFD for what no database takes: lone surrogates and NUL; mappings and lists throughout."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable(inner) for inner in value]
    return value


def _draft(message: Any, defaults: Defaults, seen: Counter[str]) -> Draft:
    if not isinstance(message, Mapping):
        raise ValueError(f"a message is an object with a text, this is {shown(message)}")
    role = _word(message, ("role",))
    text, left_out = _text(message)
    metadata = {**defaults.metadata, **_metadata(message)} | ({"role": role} if role else {})
    metadata |= {"parts_left_out": left_out} if left_out else {}
    time, told = defaults.time, _first(message, _TIME)
    if told is not None:
        time, assumed = parse_time(told, defaults.zone)
        metadata |= {"zone_assumed": True} if assumed else {}
    speaker = _word(message, _SPEAKER) or ROLE_NAMES.get(role, role)
    session = _word(message, ("session",)) or storable(defaults.session)
    image = _word(message, ("image",))
    return Draft(
        text=text,
        key=_word(message, ("id",)) or _content_key(seen, session, speaker, time, text, image),
        speaker=speaker,
        session=session,
        time=time,
        image=image,
        readers=_readers(message) or defaults.readers,
        metadata=storable(metadata),
        infer=defaults.infer and message.get("infer") is not False and role not in NOT_CONVERSATION,
    )


def _first(message: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((message[name] for name in names if message.get(name) is not None), None)


def _text(message: Mapping[str, Any]) -> tuple[str, int]:
    """Give the text and how many of its parts were none; OpenAI has lists of typed parts."""
    told, left_out = _first(message, _TEXT), 0
    if isinstance(told, list):
        words = [part["text"] for part in told if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
        told, left_out = "\n".join(words), len(told) - len(words)
    if told is not None and not isinstance(told, str):
        raise ValueError(f"the text must be a string, this is {shown(told)}")
    if not told or not told.strip():
        raise ValueError("the text is empty")
    return storable(told), left_out


def _word(message: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Give a short field as text; a number serves as one."""
    told = _first(message, names)
    if told is None:
        return ""
    if isinstance(told, bool) or not isinstance(told, str | int):
        raise ValueError(f"{names[0]} must be a string, this is {shown(told)}")
    return str(storable(str(told)))


def _readers(message: Mapping[str, Any]) -> tuple[str, ...]:
    """Give who may read; what is malformed must not turn into everyone."""
    told = message.get("readers")
    if told is None:
        return ()
    if not isinstance(told, list | tuple) or not told or not all(isinstance(reader, str) and reader for reader in told):
        raise ValueError(f"readers must be a list of names, this is {shown(told)}; leave it out for everyone")
    return tuple(storable(reader) for reader in told)


def _metadata(message: Mapping[str, Any]) -> Mapping[str, Any]:
    told = message.get("metadata")
    if told is not None and not isinstance(told, Mapping):
        raise ValueError(f"metadata must be an object, this is {shown(told)}")
    return told or {}


def _content_key(seen: Counter[str], session: str, speaker: str, time: datetime | None, text: str, image: str) -> str:
    content = json.dumps([session, speaker, time.astimezone(UTC).isoformat() if time else None, text, image])
    seen[content] += 1
    return hashlib.sha256(f"{seen[content]} {content}".encode()).hexdigest()
