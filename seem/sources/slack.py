"""Slack's export: a folder or zip with users.json, channels.json and a file a day in each channel's folder.

Takes a path, gives drafts channel by channel in the order in which they were written, a thread as a session of its own
after its channel. Mentions become names, an edit that is told as an event replaces what it edits, what was deleted is
not told; files become placeholders. A time is local to its writer, whose zone users.json tells. A Problem's line counts
the messages of the file that it names. Knows nothing about storage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from seem.errors import InputError
from seem.sources.archive import Files, files
from seem.sources.drafts import Defaults, Problem, parse_time, to_drafts, worded_key
from seem.sources.files import records
from seem.sources.slack_text import Names, plain, words_of
from seem.store.batch import Draft

_CHANNELS = ("channels.json", "groups.json", "mpims.json", "dms.json")
_DELETED = ("tombstone", "message_deleted")
# Told by Slack, not by the person.
_SERVICE = ("channel_", "group_", "pinned_item", "unpinned_item", "bot_add", "bot_remove", "huddle_", "reminder_add")


def read(source: Path, problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Give drafts of every channel; raise InputError where the path is no such export."""
    inside = files(source)
    days: dict[str, list[str]] = {}
    for name in inside:
        folder, _, last = name.rpartition("/")
        if folder and last.endswith(".json") and not last.startswith("._") and "canvas" not in last:
            days.setdefault(folder, []).append(name)
    root = next((name.removesuffix("users.json") for name in inside if name.rpartition("/")[2] == "users.json"), "")
    days.pop(root.rstrip("/"), None)
    if not days:
        raise InputError(f"{str(source)!r} is no Slack export: it holds no channel folders with JSON files.")
    people = _listed(inside, f"{root}users.json", problems)
    channels = {c["id"]: c for name in _CHANNELS for c in _listed(inside, root + name, problems)}
    names = Names(
        {person["id"]: _called(person) for person in people},
        {number: _channel_name(channel) for number, channel in channels.items()},
    )
    zones = {person["id"]: _zone(person, zone) for person in people}
    numbers = {_channel_name(channel): number for number, channel in channels.items()}
    messages = (
        pair
        for folder, parts in days.items()
        for pair in _channel(folder.removeprefix(root), numbers, _messages(inside, parts, problems), names, zones, zone)
    )
    return to_drafts(_reported(messages, problems), problems, Defaults(zone))


def _listed(inside: Files, name: str, problems: list[Problem]) -> list[Mapping[str, Any]]:
    """Give the records of users.json or of a list of channels; without it, numbers stand for names."""
    if name not in inside:
        return []
    try:
        told = records(inside[name](), problems)
    except ValueError as error:
        problems.append(Problem(1, f"{name}: not read, so that numbers stand for names: {error}"))
        return []
    return [record for record in told if isinstance(record, Mapping) and isinstance(record.get("id"), str)]


def _channel_name(channel: Mapping[str, Any]) -> str:
    told = channel.get("name")
    return told if isinstance(told, str) and told else str(channel["id"])


def _called(person: Mapping[str, Any]) -> str:
    profile = person.get("profile")
    profile = profile if isinstance(profile, Mapping) else {}
    told = (profile.get("display_name"), profile.get("real_name"), person.get("real_name"), person.get("name"))
    return next((name for name in told if isinstance(name, str) and name.strip()), str(person["id"]))


def _zone(person: Mapping[str, Any], zone: tzinfo) -> tzinfo:
    try:
        return ZoneInfo(person["tz"])
    except (KeyError, TypeError, ValueError, OSError, ZoneInfoNotFoundError):
        offset = person.get("tz_offset")
        exact = isinstance(offset, int) and abs(offset) <= 14 * 3600
        return timezone(timedelta(seconds=offset)) if exact and isinstance(offset, int) else zone


def _messages(inside: Files, parts: list[str], problems: list[Problem]) -> list[tuple[int, str, Mapping[str, Any]]]:
    """Give (number, file, message) of a channel by its time, edited and deleted as its events tell."""
    found: dict[str, tuple[int, str, Mapping[str, Any]]] = {}
    gone: set[str] = set()
    for name in parts:
        try:
            told = records(inside[name](), problems)
        except ValueError as error:
            problems.append(Problem(1, f"{name}: {error}"))
            continue
        for number, message in enumerate(told, 1):
            ts = message.get("ts") if isinstance(message, Mapping) else None
            if not isinstance(ts, str) or not _is_time(ts):
                problems.append(Problem(number, f"{name}: a message is an object with a ts"))
                continue
            kind, inner = message.get("subtype"), message.get("message")
            if kind in _DELETED:
                told_of = message.get("deleted_ts")
                gone.add(told_of if isinstance(told_of, str) else ts)
            elif kind == "message_changed" and isinstance(inner, Mapping) and isinstance(inner.get("ts"), str):
                if _is_time(inner["ts"]):
                    found[inner["ts"]] = (number, name, inner)
            else:
                found.setdefault(ts, (number, name, message))
    return [found[ts] for ts in sorted(found, key=float) if ts not in gone]


def _is_time(ts: str) -> bool:
    try:
        parse_time(float(ts), UTC)
    except (ValueError, OverflowError):
        return False
    return True


Told = tuple[int, str, Mapping[str, Any] | str]


def _channel(
    folder: str,
    numbers: Mapping[str, str],
    messages: list[tuple[int, str, Mapping[str, Any]]],
    names: Names,
    zones: Mapping[str, tzinfo],
    zone: tzinfo,
) -> Iterator[Told]:
    """Give the channel's own messages, then its threads, each whole."""
    threads: dict[str, list[Told]] = {"": []}
    for number, file, message in messages:
        thread = message.get("thread_ts")
        session = f"{folder}/{thread}" if isinstance(thread, str) and thread else folder
        try:
            told: Mapping[str, Any] | str = {
                **_message(message, names, zones, zone, f"slack/{numbers.get(folder, folder)}/{message['ts']}"),
                "session": session,
            }
        except ValueError as error:
            told = str(error)
        threads.setdefault(session if session != folder else "", []).append((number, file, told))
    for thread in threads.values():
        yield from thread


def _reported(messages: Iterator[Told], problems: list[Problem]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, file, told in messages:
        if isinstance(told, str):
            problems.append(Problem(number, f"{file}: {told}"))
        else:
            yield number, told


def _message(
    message: Mapping[str, Any], names: Names, zones: Mapping[str, tzinfo], zone: tzinfo, own: str
) -> Mapping[str, Any]:
    user, subtype = message.get("user"), message.get("subtype")
    raw = words_of(message)
    media = _files(message)
    words = plain(raw, names)
    text = words or (f"[{', '.join(media)}]" if media else "")
    if not text:
        raise ValueError("the message holds neither words nor a file")
    service = isinstance(subtype, str) and subtype.startswith(_SERVICE)
    edited = message.get("edited")
    thread = message.get("thread_ts")
    told = {
        "ts": message["ts"],
        "files": media,
        "edited": edited.get("ts") if isinstance(edited, Mapping) else None,
        "reply_to": thread if thread != message["ts"] else None,
    }
    return {
        "id": worded_key(own, raw or text),
        "text": text,
        "role": "system" if service else "user",
        "speaker": _speaker(message, names),
        "time": _local(message["ts"], zones.get(user, zone) if isinstance(user, str) else zone),
        "infer": bool(words),
        "metadata": {name: value for name, value in told.items() if value},
    }


def _local(ts: str, zone: tzinfo) -> datetime:
    return parse_time(float(ts), UTC)[0].astimezone(zone)


def _speaker(message: Mapping[str, Any], names: Names) -> str:
    user = message.get("user")
    if isinstance(user, str) and user in names.people:
        return names.people[user]
    for field in ("user_profile", "bot_profile"):
        profile = message.get(field)
        if isinstance(profile, Mapping) and (called := _called({"id": user or "", "profile": profile, **profile})):
            return called
    told = (message.get("username"), user, message.get("bot_id"))
    return next((name for name in told if isinstance(name, str) and name), "Slack")


def _files(message: Mapping[str, Any]) -> list[str]:
    told = message.get("files") or ([message["file"]] if message.get("file") else [])
    found = []
    for file in told if isinstance(told, list) else []:
        if isinstance(file, Mapping):
            name = file.get("title") or file.get("name")
            gone = file.get("mode") in ("tombstone", "hidden_by_limit")
            found.append("file no longer there" if gone else f"file {name}" if isinstance(name, str) else "file")
    return found
