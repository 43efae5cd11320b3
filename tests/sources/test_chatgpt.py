"""ChatGPT's export: the current branch of the tree, what was said in it, and damage that loses only itself."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from seem.errors import InputError
from tests.sources.reading import taken

START = 1709373600.5


def _node(name: str, parent: str | None, role: str | None = "user", content: Any = None, **told: Any) -> dict[str, Any]:
    """A node as the export writes it; without a role it is the empty root."""
    content = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    message = {
        "id": name, "author": {"role": role, "name": None, "metadata": {}}, "create_time": START + len(name),
        "update_time": None, "content": content, "status": "finished_successfully", "end_turn": True, "weight": 1.0,
        "metadata": {}, "recipient": "all", "channel": None,
    } | told  # fmt: skip
    return {"id": name, "message": message if role else None, "parent": parent, "children": []}


def _conversation(*nodes: dict[str, Any], current: str | None = None, **told: Any) -> dict[str, Any]:
    mapping = {node["id"]: node for node in nodes}
    for node in nodes:
        if node["parent"] in mapping:
            mapping[node["parent"]]["children"].append(node["id"])
    return {
        "title": "Bike repair", "create_time": START, "update_time": START + 99, "mapping": mapping,
        "moderation_results": [], "current_node": current or nodes[-1]["id"], "conversation_id": "c-1", "id": "c-1",
    } | told  # fmt: skip


BIKE = _conversation(
    _node("root", None, None),
    _node("sys", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
    _node("prefs", "sys", "user", {"content_type": "user_editable_context", "user_profile": "secret", "parts": None}),
    _node("first-try", "prefs", "user", "My chain fell of"),
    _node("old-answer", "first-try", "assistant", "Which chain?"),
    _node("q", "prefs", "user", "My bike's chain fell off on Tuesday"),
    _node("regenerated", "q", "assistant", "Sorry?"),
    _node("think", "q", "assistant", {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]}),
    _node("call", "think", "assistant", {"content_type": "code", "language": "unknown", "text": "search('chain')"},
          recipient="web"),
    _node("result", "call", "tool", {"content_type": "execution_output", "text": "3 hits"},
          author={"role": "tool", "name": "web", "metadata": {}}),
    _node("answer", "result", "assistant", "Shift to the small ring.\ue200cite\ue202turn0search1\ue201",
          metadata={"model_slug": "gpt-4o"}),
    _node("photo", "answer", "user", {"content_type": "multimodal_text", "parts": [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "width": 9}, ""]}),
    _node("voice", "photo", "user", {"content_type": "multimodal_text", "parts": [
        {"content_type": "audio_transcription", "text": "It works again", "direction": "in"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://x"}]},
          metadata={"attachments": [{"name": "ride.gpx", "mime_type": "application/gpx"}]}),
)  # fmt: skip


def _export(tmp_path: Path, *conversations: Any) -> Path:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(conversations))
    return path


def test_the_current_branch_is_told_and_nothing_that_was_edited_or_hidden(tmp_path: Path) -> None:
    drafts, problems = taken("chatgpt", _export(tmp_path, BIKE), ZoneInfo("Europe/Tallinn"))
    assert problems == []
    assert [(draft.key, draft.speaker, draft.text, draft.infer) for draft in drafts] == [
        ("q", "User", "My bike's chain fell off on Tuesday", True),
        ("call", "Assistant", "search('chain')", True),
        ("result", "web", "3 hits", True),
        ("answer", "Assistant", "Shift to the small ring.", True),
        ("photo", "User", "[image]", False),
        ("voice", "User", "It works again", True),
    ]
    assert drafts[0].session == "c-1" and drafts[0].metadata == {"title": "Bike repair", "role": "user"}
    assert drafts[0].time is not None and drafts[0].time.isoformat() == "2024-03-02T12:00:01.500000+02:00"
    assert drafts[1].metadata["tool"] == "web" and drafts[3].metadata["model"] == "gpt-4o"
    assert drafts[5].metadata["media"] == ["audio", "file ride.gpx"]
    assert "secret" not in repr(drafts)


def test_the_zip_the_folder_and_the_file_give_the_same_and_the_earliest_comes_first(tmp_path: Path) -> None:
    later = _conversation(_node("z", None, "user", "Later"), create_time=START + 1000, conversation_id="c-2")
    path = _export(tmp_path, later, BIKE)
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(path, "conversations.json")
        archive.writestr("chat.html", "<html>")
    drafts, _ = taken("chatgpt", path)
    assert [draft.session for draft in drafts] == ["c-1"] * 6 + ["c-2"]
    assert taken("chatgpt", tmp_path / "export.zip")[0] == drafts == taken("chatgpt", tmp_path)[0]


def test_malformed_conversations_and_messages_are_told_and_the_rest_kept(tmp_path: Path) -> None:
    broken = _conversation(
        _node("a", "lost", "user", "after a hole"),
        _node("b", "a", "user", {"content_type": "hologram"}),
        _node("c", "b", "user", "bad time", create_time="noon"),
        _node("d", "c", "user", "kept", create_time=None),
        _node("e", "d", "user", 5),
        conversation_id="c-3",
    )
    astray = _conversation(_node("x", None, "user", "one"), _node("y", "x", "user", "two"), current="gone")
    loop = _conversation(_node("p", "s", "user", "in"), _node("s", "p", "user", "circle"), conversation_id="c-5")
    drafts, problems = taken("chatgpt", _export(tmp_path, broken, 5, {"title": "no mapping"}, astray, loop))
    assert [draft.text for draft in drafts] == ["after a hole", "kept", "one", "two", "in", "circle"]
    assert [problem.line for problem in problems] == [2, 3, 1, 1, 1, 1, 4]
    assert "missing" in problems[2].why and "hologram" in problems[3].why and "current node" in problems[6].why


def test_of_a_file_that_is_cut_off_what_stands_before_is_read(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([BIKE, BIKE | {"id": "c-2"}])[:-200])
    drafts, problems = taken("chatgpt", path)
    assert len(drafts) == 6 and "cut off" in problems[0].why


def test_another_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not ChatGPT's conversations\.json"):
        taken("chatgpt", _export(tmp_path, {"role": "user"}))
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="holds no file of the form"):
        taken("chatgpt", tmp_path / "other")
