"""WhatsApp's text export, of Android or iOS, alone or in its zip or folder.

Takes a path and the zone of the phone, which the file does not tell; gives drafts in the file's order. Day or month
first is decided from the file as a whole (see ``whatsapp_dates``). What WhatsApp itself says is a system message; media
become placeholders; what was deleted for all is passed over, since its words are gone. A key holds the time as it stands
in the file, so that neither zone nor date order changes it. A Problem's line counts lines.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.sources.archive import one
from seem.sources.drafts import Defaults, Problem, to_drafts
from seem.sources.whatsapp_dates import STAMP, Stamp, decided, moment, stamp_of
from seem.store.batch import Draft

# Marks of writing direction: before a line that WhatsApp itself wrote, and around names.
_MARKS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
_HEAD = re.compile(rf"(?P<open>\[)?{STAMP}(?(open)\]|[^\S\n]*[-–—][^\S\n])[^\S\n]?(?P<rest>.*)", re.DOTALL)
_SAID = re.compile(r"(?P<who>[^:\n]{1,100}?):(?: |$)(?P<text>.*)", re.DOTALL)
_ATTACHED = re.compile(
    r"<(?:attached|Anhang|adjunto|pièce jointe|allegato|anexado): ?(?P<ios>[^<>\n]+)>"
    r"|^(?P<android>[^\n]{1,200}\.\w{2,5}) \((?:file attached|Datei angehängt|archivo adjunto|fichier joint|"
    r"file allegato|arquivo anexado)\)"
)
_OMITTED = re.compile(
    r"<(?:Media omitted|Medien ausgeschlossen|Medien weggelassen|Multimedia omitido|Médias omis|Media omessi|"
    r"Mídia oculta|Arquivo de mídia oculto)>"
    r"|^(?P<kind>image|video|audio|sticker|GIF|document|Contact card|video note|voice message) omitted$",
    re.IGNORECASE,
)
_EDITED = re.compile(
    r"<(?:This message was edited|Diese Nachricht wurde bearbeitet|Se editó este mensaje\.?|Ce message a été modifié|"
    r"Questo messaggio è stato modificato|Mensagem editada)>$"
)
_DELETED = re.compile(
    r"(?:This message was deleted(?: by admin [^\n]*)?|You deleted this message(?: as admin)?|"
    r"Diese Nachricht wurde gelöscht|Du hast diese Nachricht gelöscht|Se eliminó este mensaje|Eliminaste este mensaje|"
    r"Ce message a été supprimé|Vous avez supprimé ce message|Questo messaggio è stato eliminato|"
    r"Hai eliminato questo messaggio|Mensagem apagada|Você apagou esta mensagem)\.?"
)
# «Ana changed the group description: swim at six» has a colon, but no speaker.
_DOES = re.compile(
    r"\b(?:changed|created|added|removed|joined|left|pinned|turned (?:on|off)|started a call|is a contact|"
    r"end-to-end encrypted|security code|now an admin)\b"
)


@dataclass(slots=True)
class _Entry:
    """One message as its lines come in."""

    line: int
    stamp: Stamp
    lines: list[str]


def read(source: Path, problems: list[Problem], *, zone: tzinfo | None = None) -> Iterator[Draft]:
    """Give drafts of the chat; raise InputError where there is no chat, or no zone."""
    entries = list(_entries(one(source, r"(?:_chat|WhatsApp.*)\.txt").decode("utf-8-sig", "replace"), problems))
    if not entries:
        raise InputError(f"The file {str(source)!r} is no WhatsApp export: no line begins with a date and a time.")
    if zone is None:
        raise InputError("A WhatsApp export tells no time zone; name the phone's, like Europe/Tallinn (--zone).")
    session = _session(source)
    return to_drafts(_messages(entries, session, problems), problems, Defaults(zone, session))


def _session(source: Path) -> str:
    """Give the chat's name; a browser numbers what it downloads again."""
    named = source.absolute().parent if source.name == "_chat.txt" else source
    stem = re.sub(r" \(\d+\)$", "", named.name.removesuffix(".txt").removesuffix(".zip"))
    return re.sub(r"^WhatsApp Chat (?:with|-) ", "", stem) or "WhatsApp"


def _entries(text: str, problems: list[Problem]) -> Iterator[_Entry]:
    entry: _Entry | None = None
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        match = _HEAD.fullmatch(line.lstrip(_MARKS))
        if match:
            if entry is not None:
                yield entry
            entry = _Entry(number, stamp_of(match), [match["rest"]])
        elif entry is not None:
            entry.lines.append(line)
        elif line.strip():
            problems.append(Problem(number, "no message with a date and a time stands before this line"))
    if entry is not None:
        yield entry


def _messages(entries: list[_Entry], session: str, problems: list[Problem]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    order, sure = decided([entry.stamp for entry in entries])
    seen: Counter[str] = Counter()
    for entry in entries:
        time = moment(entry.stamp, order)
        if time is None:
            problems.append(Problem(entry.line, f"{entry.stamp.text!r} is no time in the order {order}"))
            continue
        told = _message("\n".join(entry.lines))
        if told is None:
            continue
        content = json.dumps([session, entry.stamp.text, told.pop("told"), told["speaker"]])
        seen[content] += 1
        metadata = told["metadata"] | ({} if sure else {"date_order_assumed": order})
        key = hashlib.sha256(f"{seen[content]} {content}".encode()).hexdigest()
        yield entry.line, {**told, "id": key, "time": time, "metadata": metadata}


def _message(text: str) -> dict[str, Any] | None:
    """Give a message's fields, ``told`` being what its key holds; ``None`` where the words were deleted."""
    said = _SAID.fullmatch(text)
    if said is None or _DOES.search(said["who"]):
        words = _unmarked(text)
        return {"text": words, "speaker": "WhatsApp", "role": "system", "metadata": {}, "told": words}
    words = _unmarked(said["text"])
    who = said["who"].strip(_MARKS + "~ \u202f\u00a0") or said["who"]
    if _DELETED.fullmatch(words):
        return None
    edited = _EDITED.search(words)
    words = words[: edited.start()].rstrip(f"{_MARKS} \n") if edited else words
    media = _media(words)
    rest = _OMITTED.sub("", _ATTACHED.sub("", words)).strip() if media else words
    # WhatsApp marks its own words («Missed voice call») by their direction.
    own = said["text"].startswith("\u200e") and not media
    return {
        "text": rest or f"[{', '.join(media)}]",
        "speaker": who,
        "role": "system" if own else "user",
        "infer": bool(rest) and not own,
        "metadata": ({"media": media} if media else {}) | ({"edited": True} if edited else {}),
        # With or without the media, an export tells of the same message.
        "told": rest or "[media]",
    }


def _media(words: str) -> list[str]:
    found = [match["ios"] or match["android"] for match in _ATTACHED.finditer(words)]
    omitted = _OMITTED.search(words)
    return [name.strip() for name in found] or ([(omitted["kind"] or "media").lower()] if omitted else [])


def _unmarked(text: str) -> str:
    """Give the words without the marks that WhatsApp puts before a line and around a name."""
    return re.sub("[\u2068\u2069]", "", text).strip(f"{_MARKS} \n").replace("\n\u200e", "\n")
