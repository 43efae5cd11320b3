"""The four formats, each read from a real file, whole and damaged."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from seem.errors import InputError
from seem.sources import FORMATS, Problem, chat, locomo, read
from seem.store.batch import Draft

SAMPLES = Path(__file__).parents[2] / "data" / "samples"

LOCOMO: dict[str, Any] = {
    "sample_id": "conv-7",
    "conversation": {
        "speaker_a": "Ann",
        "session_10_date_time": "9:05 am on 2 June, 2023",
        "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "Later"}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ann", "dia_id": "D2:1", "text": "Look", "blip_caption": "a photo of a dog", "query": "dog"},
            {"speaker": "Bo", "dia_id": "D2:2", "text": ""},
        ],
        "session_11_date_time": "9:05 am on 3 June, 2023",
    },
    "qa": [{"question": "q", "answer": "secret"}],
}
LONGMEMEVAL: dict[str, Any] = {
    "question_id": "q1",
    "haystack_session_ids": ["late", "early"],
    "haystack_dates": ["2023/07/01 (Sat) 23:13", "2023/05/20 (Sat) 02:21"],
    "haystack_sessions": [
        [{"role": "user", "content": "I moved", "has_answer": True}],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    ],
}


def _read(format: str, path: Path) -> tuple[list[Draft], list[Problem]]:
    problems: list[Problem] = []
    return list(read(format, path, problems)), problems


def _file(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "file"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_the_sample_conversation_reads_whole() -> None:
    drafts, problems = _read("chat", SAMPLES / "chat.json")
    assert problems == [] and len(drafts) == 24 and len({draft.session for draft in drafts}) == 4
    assert all(draft.time and "zone_assumed" not in draft.metadata for draft in drafts)
    keys = {draft.key for draft in drafts}
    questions = json.loads((SAMPLES / "questions.json").read_text())
    assert len(questions) == 6 and all(set(question["evidence"]) <= keys for question in questions)


def test_chat_takes_a_sentence_a_message_or_a_list() -> None:
    problems: list[Problem] = []
    (sentence,) = chat.read("I moved", problems)
    (message,) = chat.read({"role": "assistant", "content": "Noted"}, problems, timestamp=1710501600, infer=False)
    (named, system, parts) = chat.read(
        [
            {"role": "user", "name": "Ann", "content": "Hi"},
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {}}]},
        ],
        problems,
        session="S1",
        metadata={"app": "x"},
    )
    assert problems == []
    assert (sentence.text, sentence.speaker, sentence.infer) == ("I moved", "User", True)
    assert (message.speaker, message.infer, message.time) == (
        "Assistant",
        False,
        datetime(2024, 3, 15, 11, 20, tzinfo=UTC),
    )
    assert (named.speaker, named.session, named.metadata) == ("Ann", "S1", {"app": "x", "role": "user"})
    assert (system.infer, system.text) == (False, "Be brief")
    assert (parts.text, parts.metadata["parts_left_out"]) == ("See", 1)


def test_chat_says_what_is_no_list_and_no_time() -> None:
    with pytest.raises(InputError, match="list of messages"):
        chat.read(5, [])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="timestamp cannot be used: time 'soon'"):
        chat.read("x", [], timestamp="soon")


def test_chat_file_may_wrap_its_messages(tmp_path: Path) -> None:
    drafts, _ = _read("chat", _file(tmp_path, {"messages": [{"role": "user", "content": "Hi"}]}))
    assert [draft.text for draft in drafts] == ["Hi"]


def test_jsonl_loses_only_the_malformed_lines(tmp_path: Path) -> None:
    lines = [
        b'\xef\xbb\xbf{"text": "first", "speaker": "Ann", "time": "2024-05-02T09:00", "readers": ["ann"]}',
        b'{"text": "cut',
        b"",
        b'{"content": "caf\xe9"}',
        b'{"content": "NaN", "metadata": {"x": NaN}}',
        b"[" * 100_000,
        b'{"content": "half \\ud83d", "id": "m6", "created_at": 1710501600}',
    ]
    drafts, problems = _read("jsonl", _file(tmp_path, b"\n".join(lines)))
    assert [draft.text for draft in drafts] == ["first", "half \ufffd"]
    assert (drafts[0].readers, drafts[0].metadata) == (("ann",), {"zone_assumed": True})
    assert drafts[1].key == "m6"
    assert [problem.line for problem in problems] == [2, 4, 5, 6]
    assert problems[1].why == "not JSON: byte 16 is not valid utf-8"


def test_locomo_reads_existing_sessions_in_numeric_order(tmp_path: Path) -> None:
    drafts, problems = _read("locomo", _file(tmp_path, [LOCOMO]))
    assert [(d.key, d.session, d.speaker, d.image) for d in drafts] == [
        ("conv-7/D2:1", "conv-7/S2", "Ann", "a photo of a dog"),
        ("conv-7/D10:1", "conv-7/S10", "Ann", ""),
    ]
    assert drafts[0].time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert drafts[0].metadata == {"dia_id": "D2:1", "sample_id": "conv-7", "zone_assumed": True}
    assert problems == [Problem(2, "the text is empty")]
    assert "secret" not in repr(drafts)


def test_locomo_sample_without_a_name_keeps_the_bare_ids() -> None:
    first = next(locomo.read({"conversation": LOCOMO["conversation"]}, []))
    assert (first.key, first.session) == ("D2:1", "S2")


def test_longmemeval_sorts_sessions_and_hides_the_answer(tmp_path: Path) -> None:
    drafts, problems = _read("longmemeval", _file(tmp_path, [LONGMEMEVAL, LONGMEMEVAL]))
    assert problems == []
    assert [d.key for d in drafts] == ["early_1", "early_2", "late_1"] * 2
    assert [d.speaker for d in drafts[:3]] == ["User", "Assistant", "User"]
    assert drafts[2].time == datetime(2023, 7, 1, 23, 13, tzinfo=UTC)
    assert "has_answer" not in repr(drafts)


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_file_that_is_not_there_is_named(format: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        list(read(format, tmp_path / "nowhere", []))
    with pytest.raises(InputError, match=str(tmp_path)):
        list(read(format, tmp_path, []))


@pytest.mark.parametrize("format", ["chat", "locomo", "longmemeval"])
@pytest.mark.parametrize("content", [b'{"a": ', b"\xff\xfe\xfa", b"[" * 100_000, b"5", b""])
def test_a_file_of_another_kind_is_one_clear_error(format: str, content: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="file") as caught:
        list(read(format, _file(tmp_path, content), []))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("format", ["locomo", "longmemeval"])
def test_a_benchmark_reader_refuses_a_chat(format: str) -> None:
    with pytest.raises(InputError, match="is not in Lo"):
        read(format, SAMPLES / "chat.json", [])


def test_an_unknown_format_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean locomo"):
        read("lokomo", SAMPLES / "chat.json", [])
