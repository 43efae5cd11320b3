"""The corpus as it lies in data/: valid, split without a leak, and open to more."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest

from seem.errors import InputError
from training.corpus import CORPUS, Split, load, paths, read, split
from training.corpus.__main__ import main
from training.corpus.check import KINDS, check
from training.corpus.conversation import read_json
from training.corpus.intake import long_texts, take_in


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Give a small corpus of three conversations, one a split."""
    folder = tmp_path / "corpus"
    (folder / "conversations").mkdir(parents=True)
    members = {"train": "friends-01", "dev": "friends-13", "test": "friends-25"}
    for name in members.values():
        shutil.copy(CORPUS / "conversations" / f"{name}.json", folder / "conversations")
    (folder / "split.json").write_text(json.dumps({key: [name] for key, name in members.items()}))
    return folder


def _new(folder: Path, name: str, source: str, change: Callable[[Any], None] = lambda raw: None) -> Path:
    folder.mkdir(exist_ok=True)
    raw = read_json(CORPUS / "conversations" / f"{source}.json") | {"id": name}
    change(raw)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(raw))
    return path


@pytest.mark.parametrize("path", paths(CORPUS), ids=lambda path: path.stem)
def test_every_conversation_keeps_the_guide(path: Path) -> None:
    problems, size = check(read_json(path))
    assert problems == []
    assert size and size.turns == len(read(path).turns)


def test_splits_cover_all_and_hold_every_kind() -> None:
    parts = {name: split(name) for name in get_args(Split)}
    ids = [conversation.id for part in parts.values() for conversation in part]
    assert sorted(ids) == sorted(path.stem for path in paths(CORPUS))
    assert len(ids) == len(set(ids))
    for part in parts.values():
        assert {conversation.kind for conversation in part} == KINDS
    assert 0.65 <= len(parts["train"]) / len(ids) <= 0.8


def test_no_sentence_lies_in_two_splits() -> None:
    texts = {
        name: {t.passage.text for c in split(name) for t in c.turns if len(t.passage.text) > 40}
        for name in get_args(Split)
    }
    assert not texts["train"] & texts["dev"] and not texts["train"] & texts["test"] and not texts["dev"] & texts["test"]


def test_the_second_annotation_is_of_dev_turns() -> None:
    dev = {conversation.id: conversation for conversation in split("dev")}
    for second in load(CORPUS / "second"):
        first = {turn.passage.id: turn.passage for turn in dev[second.id].turns}
        assert all(first[turn.passage.id].text == turn.passage.text for turn in second.turns)


def test_a_turn_carries_its_labels_and_the_two_before_it() -> None:
    conversation = read(CORPUS / "conversations" / "friends-01.json")
    raw = read_json(CORPUS / "conversations" / "friends-01.json")["sessions"]
    first, third = conversation.turns[0], conversation.turns[2]
    assert first.context == () and third.context == (first.passage, conversation.turns[1].passage)
    assert first.passage.time and first.passage.time.utcoffset() == timedelta(0)
    told = [turn for session in raw for turn in session["turns"]]
    for turn, label in zip(conversation.turns, told, strict=True):
        assert len(turn.extraction.events) == (len(label["frame"]["events"]) if label["frame"] else 0)
        assert turn.extraction.passage_id == turn.passage.id == label["id"]
        assert turn.passage.position == told.index(label)
    assert all(set(q.evidence) <= {turn.passage.id for turn in conversation.turns} for q in conversation.questions)


def test_a_folder_may_hold_its_files_itself(tmp_path: Path) -> None:
    _new(tmp_path / "flat", "friends-99", "friends-01")
    assert [conversation.id for conversation in load(tmp_path / "flat")] == ["friends-99"]


def test_an_unreadable_turn_is_named(tmp_path: Path) -> None:
    path = _new(tmp_path, "friends-99", "friends-01", lambda raw: raw["sessions"][0]["turns"][1].pop("facts"))
    with pytest.raises(InputError, match=r"friends-99\.json: turn S1:2 of session S1: no key 'facts'"):
        read(path)


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no conversation"):
        load(tmp_path)


def _wrong_slot(raw: Any) -> None:
    event = next(t["frame"] for t in raw["sessions"][0]["turns"] if t["frame"])["events"][0]
    event["manner"] = ""
    event["time"] = {"text": "soon", "start": "May 2024", "end": None}


def test_the_validator_names_the_turn_and_the_rule(tmp_path: Path) -> None:
    raw = read_json(_new(tmp_path, "friends-99", "friends-01", _wrong_slot))
    problems, _ = check(raw)
    assert len(problems) == 2
    assert "manner must be words or null, not ''" in problems[0] and "not a date: 'May 2024'" in problems[1]
    raw["questions"][0]["evidence"] = ["S9:99"]
    assert any("unknown evidence ['S9:99']" in problem for problem in check(raw)[0])
    assert check({"id": "x"})[0] == ["missing: kind, speakers, sessions, occurrences, distinct, questions"]
    assert check(raw | {"sessions": [{"id": "S1"}]})[0][0].startswith("unreadable: KeyError")


def test_import_takes_in_new_ones_once(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _new(tmp_path / "new", "agents-01", "agents-01")
    _new(tmp_path / "new", "friends-01", "friends-01")
    assert main(["import", str(tmp_path / "new"), "--corpus", str(corpus)]) == 0
    assert "1 taken into train, 1 were there already" in capsys.readouterr().out
    assert {c.id for c in split("train", corpus)} == {"friends-01", "agents-01"}
    assert [c.id for c in split("test", corpus)] == ["friends-25"]
    assert take_in(tmp_path / "new", corpus=corpus).added == ()


@pytest.mark.parametrize(
    ("name", "source", "told"),
    [
        ("friends-13", "friends-02", "another conversation with this id"),
        ("friends-99", "friends-25", "repeats a turn of the test split"),
        ("friends-99", "friends-01", None),
    ],
)
def test_import_refuses_what_would_spoil_the_split(
    corpus: Path, tmp_path: Path, name: str, source: str, told: str | None
) -> None:
    _new(tmp_path / "new", name, source)
    if told is None:
        assert take_in(tmp_path / "new", "train", corpus).added == (name,)
        return
    _new(tmp_path / "new", "agents-01", "agents-01")
    with pytest.raises(InputError, match=told):
        take_in(tmp_path / "new", "train", corpus)
    assert len(load(corpus)) == 3


def test_long_texts_leave_out_small_talk() -> None:
    turns = [{"text": "Nice, good for you!"}, {"text": " I signed up for that pottery class on Elm Street. "}]
    assert long_texts({"sessions": [{"turns": turns}]}) == {"I signed up for that pottery class on Elm Street."}


def test_check_command(capsys: pytest.CaptureFixture[str], corpus: Path) -> None:
    assert main(["check", str(corpus)]) == 0
    assert "3 conversations, 0 with problems" in capsys.readouterr().out
