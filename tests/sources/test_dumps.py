"""Dumps of Mem0 and episodes of Graphiti: words, times, ids, owners, damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seem.errors import InputError
from tests.sources.reading import taken

MEMORIES: list[dict[str, Any]] = [
    {"id": "m-2", "memory": "Likes rye bread", "hash": "h", "metadata": {"topic": "food"}, "user_id": "ana",
     "created_at": "2024-06-02T08:00:00-07:00", "updated_at": None, "score": None},
    {"id": "m-1", "memory": "Lives in Narva", "user_id": "ana", "actor_id": "Ana", "role": "user", "run_id": "chat-1",
     "created_at": "2024-05-01T08:00:00-07:00", "updated_at": "2024-05-03T08:00:00-07:00"},
]  # fmt: skip
EPISODES: list[dict[str, Any]] = [
    {"uuid": "e-2", "name": "turn 2", "group_id": "ana", "labels": ["Episodic"], "source": "message",
     "source_description": "chat", "content": "assistant(assistant): Noted: rye it is.", "entity_edges": ["x"],
     "created_at": "2024-05-01T09:00:00Z", "valid_at": "2024-05-01T08:01:00Z"},
    {"uuid": "e-1", "name": "turn 1", "group_id": "ana", "source": "message", "source_description": "chat",
     "content": "Ana(user): I like rye bread", "created_at": "2024-05-01T09:00:00Z", "valid_at": "2024-05-01T08:00:00Z"},
    {"uuid": "e-3", "name": "two", "group_id": "ana", "source": "message", "content": "Ana: hi\nBo: hello",
     "valid_at": "2024-05-02T08:00:00Z"},
    {"uuid": "e-4", "name": "n", "group_id": "ana", "source": "text", "content": "Note: closed on Mondays",
     "valid_at": None, "created_at": "2024-05-03T08:00:00Z"},
]  # fmt: skip


def _file(tmp_path: Path, told: Any) -> Path:
    path = tmp_path / "dump.json"
    path.write_text(told if isinstance(told, str) else json.dumps(told))
    return path


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_mem0_dump(wrapped: bool, tmp_path: Path) -> None:
    drafts, problems = taken("mem0", _file(tmp_path, {"results": MEMORIES} if wrapped else MEMORIES))
    assert problems == []
    assert [(draft.text, draft.speaker, draft.session) for draft in drafts] == [
        ("Lives in Narva", "Ana", "chat-1"),
        ("Likes rye bread", "", ""),
    ]
    assert drafts[0].time is not None and drafts[0].time.isoformat() == "2024-05-01T08:00:00-07:00"
    assert drafts[1].metadata == {"topic": "food", "mem0_id": "m-2", "mem0_user_id": "ana"}


def test_graphiti_episodes_as_list_object_or_lines(tmp_path: Path) -> None:
    drafts, problems = taken("graphiti", _file(tmp_path, EPISODES))
    assert problems == []
    assert [(draft.speaker, draft.text) for draft in drafts] == [
        ("Ana", "I like rye bread"),
        ("assistant", "Noted: rye it is."),
        ("", "Ana: hi\nBo: hello"),
        ("", "Note: closed on Mondays"),
    ]
    assert drafts[0].metadata["graphiti_uuid"] == "e-1" and drafts[0].session == "ana"
    lines = "\n".join([json.dumps(EPISODES[0]), "{damage", *map(json.dumps, EPISODES[1:])])
    assert taken("graphiti", _file(tmp_path, {"episodes": EPISODES}))[0] == drafts
    by_line, told = taken("graphiti", _file(tmp_path, lines))
    assert by_line == drafts and [problem.line for problem in told] == [2]


def test_a_changed_memory_is_new_and_a_repeat_is_not(tmp_path: Path) -> None:
    first, _ = taken("mem0", _file(tmp_path, MEMORIES))
    later, _ = taken("mem0", _file(tmp_path, [MEMORIES[0] | {"memory": "Likes spelt bread"}, MEMORIES[1]]))
    assert [draft.key == other.key for draft, other in zip(first, later, strict=True)] == [True, False]


@pytest.mark.parametrize(("format", "field"), [("mem0", "user_id"), ("graphiti", "group_id")])
def test_two_owners_never_meet_in_one_memory(format: str, field: str, tmp_path: Path) -> None:
    told = MEMORIES if format == "mem0" else EPISODES
    with pytest.raises(InputError, match=f"several {field}s .ana, bo."):
        taken(format, _file(tmp_path, [*told, told[0] | {field: "bo"}]))


def test_malformed_records_lose_only_themselves(tmp_path: Path) -> None:
    drafts, problems = taken("mem0", _file(tmp_path, [5, {"id": "x"}, {"memory": ["a"]}, MEMORIES[0]]))
    assert [draft.text for draft in drafts] == ["Likes rye bread"] and sorted(p.line for p in problems) == [1, 2, 3]
    for told in ('{"a": 1}', "5", "", '{"results": {}}'):
        with pytest.raises(InputError, match="not a Mem0 dump"):
            taken("mem0", _file(tmp_path, told))
