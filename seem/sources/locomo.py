"""Conversations in the form of the LoCoMo benchmark: numbered sessions with a date in words, turns with a ``dia_id``.

Takes a path (one sample or a list of them) or a sample, gives drafts: session ``conv-26/S1``, key ``conv-26/D1:1``, the
caption of a shared picture as ``image``, ``dia_id`` and ``sample_id`` as metadata. Reads the conversation alone: no
question, no summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.sources.drafts import Defaults, Problem, to_drafts
from seem.sources.files import read_json
from seem.store.batch import Draft

_SESSION = re.compile(r"session_(\d+)")
_TIME_FORM = "%I:%M %p on %d %B, %Y"


def read(source: Path | Mapping[str, Any], problems: list[Problem], *, zone: tzinfo = UTC) -> Iterator[Draft]:
    """Give drafts of every sample, in numeric order of sessions; a Problem's line counts turns. Raise InputError."""
    told = read_json(source) if isinstance(source, Path) else source
    samples = [told] if isinstance(told, Mapping) else told
    name = f"The file {str(source)!r}" if isinstance(source, Path) else "The sample"
    if not isinstance(samples, list) or not all(_is_sample(sample) for sample in samples):
        raise InputError(f"{name} is not in LoCoMo form: samples with a conversation of session_1, session_2, ….")
    messages = (message for sample in samples for message in _messages(sample))
    return to_drafts(enumerate(messages, 1), problems, Defaults(zone))


def _is_sample(sample: Any) -> bool:
    conversation = sample.get("conversation") if isinstance(sample, Mapping) else None
    return isinstance(conversation, Mapping) and any(_SESSION.fullmatch(key) for key in conversation)


def _messages(sample: Mapping[str, Any]) -> Iterator[Any]:
    """Give a sample's turns as messages; sessions that are dated but not there are passed over."""
    conversation, sample_id = sample["conversation"], str(sample.get("sample_id") or "")
    prefix = f"{sample_id}/" if sample_id else ""
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
    for number in numbers:
        time = _time(conversation.get(f"session_{number}_date_time"))
        turns = conversation[f"session_{number}"]
        for turn in turns if isinstance(turns, list) else [turns]:
            if not isinstance(turn, Mapping):
                yield turn
                continue
            dia_id = turn.get("dia_id")
            ids = {"dia_id": dia_id, "sample_id": sample_id}
            yield {
                "text": turn.get("text"),
                "speaker": turn.get("speaker"),
                "session": f"{prefix}S{number}",
                "time": time,
                "image": turn.get("blip_caption"),
                "id": f"{prefix}{dia_id}" if dia_id else None,
                "metadata": {name: told for name, told in ids.items() if told},
            }


def _time(told: Any) -> Any:
    """Give the time without a zone; what is not in the benchmark's form is left for the reader of times to refuse."""
    try:
        return datetime.strptime(told, _TIME_FORM)
    except (TypeError, ValueError):
        return told
