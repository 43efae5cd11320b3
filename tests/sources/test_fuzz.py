"""Every importer against any bytes, and against its own fixtures with one part replaced: drafts and problems, or one clear error.

What was found stays as an example.
"""

from __future__ import annotations

import copy
import json
import tempfile
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from seem.errors import InputError
from seem.sources import FORMATS, Problem, read
from tests.sources import test_chatgpt, test_dumps, test_formats, test_log, test_openai, test_slack, test_telegram
from tests.sources import test_whatsapp as whatsapp

# The name that a format looks for in a folder or zip, and a whole file of it.
JSON_FORMATS: dict[str, Any] = {
    "chat": test_openai.STORY,
    "locomo": [test_formats.LOCOMO],
    "longmemeval": [test_formats.LONGMEMEVAL],
    "chatgpt": [test_chatgpt.BIKE],
    "telegram": test_telegram.CHAT,
    "mem0": test_dumps.MEMORIES,
    "graphiti": test_dumps.EPISODES,
}
LINES = {
    "jsonl": [{"text": "hi", "speaker": "Ann", "time": "2024-05-02T09:00", "readers": ["ann"], "metadata": {"a": 1}}],
    "openai": test_openai.STORY,
}
TEXTS = {"log": test_log.APP, "whatsapp": whatsapp.ANDROID + whatsapp.IOS}
SLACK = {
    "users.json": test_slack.USERS,
    "channels.json": test_slack.CHANNELS,
    "build/2024-01-01.json": test_slack.DAY_ONE,
    "build/2024-01-02.json": test_slack.DAY_TWO,
}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=12)
    | st.sampled_from(["\ud83d", "1e400", "9" * 400, "0001-01-01T00:00+14:00", "\x00", "../..", "253402300799"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def _paths(told: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    for key, value in inner:
        yield from _paths(value, (*path, key))


def _replaced(told: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(told)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return changed


def _total(format: str, data: bytes | dict[str, bytes]) -> None:
    """Read it; what comes out must be fit for the store, or one sentence must say why nothing does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("export.zip" if format == "slack" else "file")
        if isinstance(data, dict):
            with zipfile.ZipFile(path, "w") as archive:
                for name, content in data.items():
                    archive.writestr(name, content)
        else:
            path.write_bytes(data)
        problems: list[Problem] = []
        try:
            drafts = list(read(format, path, problems, zone=UTC))
        except InputError as error:
            assert "\n" not in str(error)
            return
    texts: dict[str, str] = {}
    for draft in drafts:
        assert draft.text.strip() and draft.key
        assert draft.time is None or draft.time.utcoffset() is not None
        assert texts.setdefault(draft.key, draft.text) == draft.text
        fields = (draft.text, draft.key, draft.speaker, draft.session, draft.image, *draft.readers)
        assert "\x00" not in "".join(fields)
        json.dumps([*fields, dict(draft.metadata)], ensure_ascii=False, allow_nan=False).encode()
    assert all(problem.line >= 1 and problem.why and "\n" not in problem.why for problem in problems)


def _encoded(told: Any) -> bytes:
    return json.dumps(told).encode()


LESS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("format", sorted(FORMATS))
@LESS
@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode) | VALUES.map(_encoded))
@example(b"")
@example(b"PK\x05\x06" + b"\x00" * 18)
@example(b"[" * 100_000)
@example(b'{"messages": [' + b"[" * 100_000)
@example(b'[{"mapping": {"a": {"message": null}}, "current_node": []}]')
def test_any_bytes(format: str, data: bytes) -> None:
    _total(format, data)


@pytest.mark.parametrize("format", sorted(JSON_FORMATS))
@LESS
@given(st.data())
def test_a_json_export_with_one_part_replaced(format: str, data: st.DataObject) -> None:
    told = JSON_FORMATS[format]
    path = data.draw(st.sampled_from(list(_paths(told))))
    _total(format, _encoded(_replaced(told, path, data.draw(VALUES))))


@pytest.mark.parametrize("format", sorted(JSON_FORMATS))
def test_a_json_export_with_one_part_nested_deeply(format: str) -> None:
    told = JSON_FORMATS[format]
    for path in list(_paths(told))[::7]:
        _total(
            format,
            json.dumps(_replaced(told, path, "\0deep")).encode().replace(b'"\\u0000deep"', b"[" * 900 + b"]" * 900),
        )


@pytest.mark.parametrize("format", sorted(LINES))
@LESS
@given(st.data())
def test_json_lines_with_one_part_replaced(format: str, data: st.DataObject) -> None:
    told = LINES[format]
    path = data.draw(st.sampled_from(list(_paths(told))[1:]))
    changed = _replaced(told, path, data.draw(VALUES))
    _total(format, b"\n".join(_encoded(line) for line in changed))


@LESS
@given(st.data())
def test_a_slack_export_with_one_part_replaced(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(_paths(SLACK))[1:]))
    changed = _replaced(SLACK, path, data.draw(VALUES))
    _total("slack", {name: _encoded(part) for name, part in changed.items()})


@pytest.mark.parametrize("format", sorted(TEXTS))
@LESS
@given(st.data())
def test_a_text_with_lines_cut_joined_and_replaced(format: str, data: st.DataObject) -> None:
    text = TEXTS[format]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6)))
    pieces = [text[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]
    between = data.draw(st.sampled_from(["", "\n", "\r", "\u2028", ": ", "99/99/99, 99:99 - ", "\u200e", "["]))
    _total(format, between.join(data.draw(st.permutations(pieces))).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("format", ["log", "whatsapp", "chatgpt", "telegram", "jsonl", "openai", "graphiti"])
@pytest.mark.parametrize(
    "piece", ["1/1/24, 1:00 - A: ", "1/1/24, 1:00 - A: \n\n", "a ", "[", "<attached: ", " ", "2024-01-01 00:00:00 [", '{"a":',
              "\x1b[1", "a: ", "1/1/24, 1:00 - A:" + " " * 4000 + "b\n", '"messages"'],
)  # fmt: skip
def test_long_input_takes_linear_time(format: str, piece: str) -> None:
    started = time.process_time()
    _total(format, (piece * (200_000 // len(piece))).encode())
    assert time.process_time() - started < 10
