"""Telegram Desktop's JSON export: ``result.json`` of one chat or of all, alone or in its folder or zip.

Takes a path, gives drafts chat by chat. The words are those of the text entities; what is no text becomes a placeholder,
from which nothing is extracted; a service message likewise. The exporter's local time beside the unix time tells its
zone; older exports tell none and get the one given. A key holds chat, message and words, so that a later export adds the
new and the edited messages alone. A Problem's line counts messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.sources.archive import one
from seem.sources.drafts import Defaults, Problem, parse_time, to_drafts, worded_key
from seem.sources.files import parse, records
from seem.store.batch import Draft

_QUARTER = timedelta(minutes=15)
_MEDIA = ("photo", "file", "contact_information", "location_information", "game_title", "invoice_information")
# What a service message tells beside its action.
_DETAILS = ("title", "members", "inviter", "duration_seconds", "new_title", "emoticon", "information_text")


def read(source: Path, problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Give drafts of every chat; raise InputError where the file is no such export."""
    data = one(source, r"result\.json")
    try:
        chats = _chats(parse(data))
    except ValueError as error:
        chats = [_cut_off(data, problems)]
        if not chats[0]["messages"]:
            raise InputError(f"The file {str(source)!r} is not Telegram's result.json: {error}.") from error
    messages = ((chat, message) for chat in chats for message in chat["messages"])
    return to_drafts(_messages(messages, problems, zone), problems, Defaults(zone))


def _chats(told: Any) -> list[Mapping[str, Any]]:
    """Give the chats of a whole export, or the one of its own."""
    found: list[Any] = [told]
    if isinstance(told, Mapping) and "messages" not in told:
        lists = [told[name].get("list") for name in ("chats", "left_chats") if isinstance(told.get(name), Mapping)]
        found = [chat for chats in lists if isinstance(chats, list) for chat in chats]
    usable = [chat for chat in found if isinstance(chat, Mapping) and isinstance(chat.get("messages"), list)]
    if not usable:
        raise ValueError("it holds no chat with a list of messages")
    return usable


def _cut_off(data: bytes, problems: list[Problem]) -> Mapping[str, Any]:
    """Give what stands before the damage of one chat's export."""
    head = data.decode("utf-8-sig", "replace").partition('"messages"')[0].rstrip().rstrip(",")
    try:
        chat = parse(f"{head}}}".encode())
        return {**chat, "messages": records(data, problems, inside=("messages",))}
    except (ValueError, TypeError):
        return {"messages": []}


def _messages(
    told: Iterable[tuple[Mapping[str, Any], Any]], problems: list[Problem], zone: tzinfo
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, (chat, message) in enumerate(told, 1):
        try:
            yield number, _message(chat, message, zone)
        except ValueError as error:
            problems.append(Problem(number, str(error)))


def _message(chat: Mapping[str, Any], message: Any, zone: tzinfo) -> Mapping[str, Any]:
    if not isinstance(message, Mapping) or not isinstance(message.get("id"), int):
        raise ValueError("a message is an object with an id")
    name = next((told for key in ("name", "type") if isinstance(told := chat.get(key), str) and told), "chat")
    number = chat.get("id")
    number = number if isinstance(number, int | str) else name
    own = f"telegram/{number}"
    service = message.get("type") == "service"
    words = _service(message) if service else _words(message)
    media = [] if service else _media(message)
    text = words or (f"[{', '.join(media)}]" if media else "")
    told = {
        "chat": name,
        "message_id": message["id"],
        "media": media,
        "forwarded_from": message.get("forwarded_from"),
        "reply_to": message.get("reply_to_message_id"),
        "edited": message.get("edited"),
    }
    return {
        "id": worded_key(f"{own}/{message['id']}", text),
        "text": text,
        "role": "system" if service else "user",
        "speaker": _name(message, "actor") if service else _name(message, "from"),
        "session": f"{name}/{number}",
        "time": _time(message, zone),
        "infer": bool(words),
        "metadata": {key: value for key, value in told.items() if value},
    }


def _name(message: Mapping[str, Any], field: str) -> str:
    """Give who wrote it; a deleted account has no name, but an id."""
    told = message.get(field) or message.get(f"{field}_id")
    return str(told) if isinstance(told, str | int) and told else "Deleted account"


def _time(message: Mapping[str, Any], zone: tzinfo) -> Any:
    """Give the time in the zone of the exporter where both of its clocks are told."""
    unix, local = message.get("date_unixtime"), message.get("date")
    if unix is None:
        return local  # read, or refused, with the other fields
    time = parse_time(unix, zone)[0]
    try:
        gap = parse_time(local, UTC)[0].replace(tzinfo=UTC) - time
    except ValueError:
        return time.astimezone(zone)
    exact = gap % _QUARTER == timedelta() and abs(gap) <= timedelta(hours=14)
    return time.astimezone(timezone(gap) if exact else zone)


def _words(message: Mapping[str, Any]) -> str:
    told = message.get("text_entities") or message.get("text") or ""
    if not isinstance(told, str | list):
        raise ValueError("the text must be a string or a list of entities")
    entities = [told] if isinstance(told, str) else told
    told = [entity.get("text") if isinstance(entity, Mapping) else entity for entity in entities]
    words = [word for word in told if isinstance(word, str)]
    if len(words) < len(told):
        raise ValueError("an entity of the text has no words")
    poll = message.get("poll")
    return "".join(words).strip() or (_poll(poll) if isinstance(poll, Mapping) else "")


def _poll(poll: Mapping[str, Any]) -> str:
    answers = poll.get("answers")
    told = (
        [answer.get("text") for answer in answers if isinstance(answer, Mapping)] if isinstance(answers, list) else []
    )
    question, options = poll.get("question"), "; ".join(option for option in told if isinstance(option, str))
    return f"Poll: {question if isinstance(question, str) else ''} ({options})"


def _media(message: Mapping[str, Any]) -> list[str]:
    found = [kind.removesuffix("_information").removesuffix("_title") for kind in _MEDIA if message.get(kind)]
    kind = message.get("media_type")
    if isinstance(kind, str) and kind:
        emoji = message.get("sticker_emoji")
        found = [f"{kind.replace('_', ' ')} {emoji}" if isinstance(emoji, str) else kind.replace("_", " ")]
    place = message.get("place_name")
    return [f"{found[0]} {place}", *found[1:]] if found and isinstance(place, str) else found


def _service(message: Mapping[str, Any]) -> str:
    """Give a service message in words: who, what, and what it tells besides."""
    action = message.get("action")
    told = [_name(message, "actor"), action.replace("_", " ") if isinstance(action, str) else "service message"]
    details = [message.get(name) for name in _DETAILS]
    lists = [detail if isinstance(detail, list) else [detail] for detail in details if detail]
    words = ", ".join(str(word) for detail in lists for word in detail if isinstance(word, str | int))
    return " ".join(told) + (f": {words}" if words else "")
