"""Plain logs: one passage an entry, the lines of a traceback with the entry that they belong to.

Takes a path, gives drafts in the file's order. An entry begins with its time (ISO 8601, Apache, syslog, unix seconds),
perhaps after a level; a time without a zone gets the one given, and a syslog time, which tells no year, stays in the text
and leaves the entry without a time. The session is the file's name up to the first dot, so that a rotated log goes on
with its own; the speaker the program where a line names it. Knows nothing about storage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

from seem.sources.drafts import Defaults, Problem, to_drafts
from seem.sources.files import read_lines
from seem.store.batch import Draft

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|FATAL|SEVERE|ALERT|EMERG|PANIC"
_LEVEL = re.compile(rf"\b(?P<plain>{_LEVELS})\b|[\[<(](?P<framed>(?i:{_LEVELS}))[\])>]|\blevel=\"?(?P<told>\w+)")
_LEVEL_REACH = 80
_CLOCK = r"(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
_ZONE = r"(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)"
_MONTH = rf"(?P<mon>{'|'.join(_MONTHS)})"
_LEAD = rf"(?:<\d{{1,3}}>(?:\d )?)?(?P<before>\[?(?:{_LEVELS})\]?:? +)?"
_DATED = re.compile(rf"{_LEAD}\[?(?P<y>\d{{4}})[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)(?:T| +){_CLOCK} ?(?:{_ZONE}\b)?\]?")
_WEB = re.compile(rf"(?P<before>\S+ \S+ \S+ )\[(?P<d>\d\d)/{_MONTH}/(?P<y>\d{{4}}):{_CLOCK} {_ZONE}\]")
_APACHE = re.compile(rf"\[\w{{3}} {_MONTH} +(?P<d>\d\d?) {_CLOCK} (?P<y>\d{{4}})\]")
_UNIX = re.compile(r"\[?(?P<unix>\d{10}(?:\.\d{1,9})?)\]?(?=[\s:])")
_SYSLOG = re.compile(rf"(?:<\d{{1,3}}>)?{_MONTH} +(?P<d>\d\d?) {_CLOCK} ")
_STAMPS = (_DATED, _WEB, _APACHE, _UNIX, _SYSLOG)
# «host program[pid]: »; without the number it counts only behind a syslog time.
_PROGRAM = re.compile(r"\S+ (?P<program>[\w./@-]+)(?P<pid>\[\d+\])?: ")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_BETWEEN = re.compile(r"[\s|:,-]+")


@dataclass(slots=True)
class _Entry:
    """One entry as its lines come in."""

    line: int
    time: datetime | None
    speaker: str
    text: list[str]


def read(source: Path, problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Give drafts of the file's entries; raise InputError where it cannot be read."""
    name = source.name.partition(".")[0] or source.name
    messages = ((entry.line, _message(entry)) for entry in _entries(source, problems, name))
    return to_drafts(messages, problems, Defaults(zone, name))


def _entries(source: Path, problems: list[Problem], name: str) -> Iterator[_Entry]:
    entry: _Entry | None = None
    lost = False
    for number, raw in read_lines(source):
        line = _COLOUR.sub("", raw.decode("utf-8-sig" if number == 1 else "utf-8", "replace")).rstrip()
        stamp = next((match for pattern in _STAMPS if (match := pattern.match(line))), None)
        if stamp is None:
            if entry is not None:
                entry.text.append(line)
            elif not lost:
                problems.append(Problem(number, "no entry with a time stands before this line"))
            continue
        if entry is not None:
            yield entry
        entry, lost = None, False
        try:
            time = _time(stamp)
        except (ValueError, OverflowError):
            lost = True
            problems.append(Problem(number, f"{stamp[0].strip()!r} is no time; the entry is left out"))
            continue
        program = _PROGRAM.match(line[stamp.end() :].lstrip())
        known = program is not None and (program["pid"] or stamp.re is _SYSLOG)
        entry = _Entry(number, time, program["program"] if program and known else name, [_words(line, stamp)])
    if entry is not None:
        yield entry


def _words(line: str, stamp: re.Match[str]) -> str:
    """Give the line without its time; what else stands before the text (a level, a client) stays."""
    if stamp.re is _SYSLOG:
        return line
    before = stamp["before"] if "before" in stamp.re.groupindex else ""
    behind = line[stamp.end() :]
    between = _BETWEEN.match(behind)
    return (before or "") + (behind[between.end() :] if between else behind)


def _time(stamp: re.Match[str]) -> datetime | None:
    """Give the time, without a zone where none is told; ``None`` where the year is missing."""
    parts = stamp.groupdict()
    if parts.get("unix"):
        return datetime.fromtimestamp(float(parts["unix"]), UTC)
    month = _MONTHS.index(parts["mon"]) + 1 if parts.get("mon") else int(parts["mo"])
    # A leap year, so that a syslog's 29 February stands.
    year, day = int(parts.get("y") or 2000), int(parts["d"])
    micro = int((parts["fraction"] or "0").ljust(6, "0")[:6])
    told = datetime(year, month, day, int(parts["h"]), int(parts["mi"]), min(int(parts["s"]), 59), micro)
    if stamp.re is _SYSLOG:
        return None
    zone = parts.get("zone")
    if not zone:
        return told
    if zone in ("Z", "UTC", "GMT"):
        return told.replace(tzinfo=UTC)
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return told.replace(tzinfo=timezone(-offset if zone[0] == "-" else offset))


def _message(entry: _Entry) -> Mapping[str, Any]:
    level = _LEVEL.search(entry.text[0][:_LEVEL_REACH])
    told = next((word for word in level.groups() if word), "").upper() if level else ""
    return {
        "text": "\n".join(entry.text).strip(),
        "speaker": entry.speaker,
        "time": entry.time,
        "metadata": {"line": entry.line} | ({"level": told} if told else {}),
    }
