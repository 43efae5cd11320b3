"""OpenAI-style messages: calls and results with their ids, agents by name, one message or one conversation a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from seem.sources import chat
from tests.sources.reading import taken

CALL = {"id": "call_1", "type": "function", "function": {"name": "run_tests", "arguments": '{"path": "tests/api"}'}}
STORY: list[dict[str, Any]] = [
    {"role": "system", "content": "You mend builds."},
    {"role": "user", "name": "maya", "content": "The login test fails since the upgrade."},
    {"role": "assistant", "name": "planner", "content": "I will run it.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "1 failed: KeyError 'session'"},
    {"role": "assistant", "name": "coder", "content": None, "tool_calls": [
        {"id": "call_2", "type": "function", "function": {"name": "patch", "arguments": "auth.py: read «session» late"}},
        {"id": "call_3", "type": "function", "function": {"name": "run_tests", "arguments": ""}},
    ]},
    {"role": "tool", "tool_call_id": "call_3", "content": ""},
    {"role": "tool", "tool_call_id": "call_2", "name": "patch_tool", "content": [{"type": "text", "text": "done"}]},
]  # fmt: skip


def _lines(path: Path, *lines: Any) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_a_debugging_story_keeps_its_agents_calls_and_results(tmp_path: Path) -> None:
    drafts, problems = taken("openai", _lines(tmp_path / "run-7.jsonl", *STORY))
    assert problems == []
    assert [(draft.speaker, draft.text) for draft in drafts] == [
        ("system", "You mend builds."),
        ("maya", "The login test fails since the upgrade."),
        ("planner", "I will run it."),
        ("planner", 'run_tests({"path": "tests/api"})'),
        ("run_tests", "1 failed: KeyError 'session'"),
        ("coder", "patch(auth.py: read «session» late)"),
        ("coder", "run_tests()"),
        ("run_tests", "[no output]"),
        ("patch_tool", "done"),
    ]
    assert {draft.session for draft in drafts} == {"run-7"}
    ids = [draft.metadata.get("tool_call_id") for draft in drafts]
    assert ids == [None, None, None, "call_1", "call_1", "call_2", "call_3", "call_3", "call_2"]
    assert drafts[4].metadata == {"role": "tool", "tool": "run_tests", "tool_call_id": "call_1"}
    assert [draft.infer for draft in drafts] == [False, True, True, True, True, True, True, False, True]


def test_a_line_may_hold_a_conversation_and_equal_call_ids_stay_apart(tmp_path: Path) -> None:
    other = {**CALL, "function": {"name": "deploy", "arguments": {"to": "prod"}}}
    told = [
        {"id": "conv-1", "messages": STORY[2:4]},
        {"messages": [{"role": "assistant", "content": "", "tool_calls": [other]}, STORY[3]]},
    ]
    drafts, problems = taken("openai", _lines(tmp_path / "log.jsonl", *told))
    assert problems == []
    assert [(draft.session, draft.speaker, draft.text[:9]) for draft in drafts] == [
        ("conv-1", "planner", "I will ru"),
        ("conv-1", "planner", "run_tests"),
        ("conv-1", "run_tests", "1 failed:"),
        ("log:2", "Assistant", 'deploy({"'),
        ("log:2", "deploy", "1 failed:"),
    ]
    assert len({draft.key for draft in drafts}) == 5


def test_own_ids_and_times_are_kept(tmp_path: Path) -> None:
    message = {"id": "m1", "role": "assistant", "content": "On it.", "tool_calls": [CALL], "created_at": 1710501600}
    drafts, _ = taken("openai", _lines(tmp_path / "x.jsonl", message))
    assert [draft.key for draft in drafts] == ["m1", "m1/call_1"]
    assert all(draft.time is not None and draft.time.isoformat() == "2024-03-15T11:20:00+00:00" for draft in drafts)


def test_malformed_lines_and_calls_lose_only_themselves(tmp_path: Path) -> None:
    path = _lines(
        tmp_path / "x.jsonl",
        '{"role": "user", "content": "kept"',
        {"role": "assistant", "content": "words", "tool_calls": [{"id": "c", "function": {"arguments": "{}"}}, 5]},
        {"role": "tool", "content": {"a": 1}},
        ["no", "message"],
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]},
        {"role": "assistant", "content": None, "refusal": "I can't help with that."},
        {"role": "assistant", "content": None},
    )
    drafts, problems = taken("openai", path)
    assert [(draft.text, draft.infer) for draft in drafts] == [
        ("words", True),
        ("[image]", False),
        ("I can't help with that.", True),
    ]
    assert sorted(problem.line for problem in problems) == [1, 2, 2, 3, 4, 7]
    assert any("a function that has a name" in problem.why for problem in problems)


def test_messages_that_are_added_may_hold_calls_as_well() -> None:
    problems: list[Any] = []
    drafts = list(chat.read(STORY[2:4], problems))
    assert problems == [] and [draft.speaker for draft in drafts] == ["planner", "planner", "run_tests"]
