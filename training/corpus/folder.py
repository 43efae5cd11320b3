"""Folders of conversations, and the fixed split of ours into train, dev and test.

A folder holds its JSON files itself or in ``conversations/``. ``split.json`` beside them names whole conversations, so
that no turn of one lies in two splits; what it does not name belongs to train. Knows nothing about the labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from seem.errors import InputError
from training.corpus.conversation import Conversation, read, read_json

CORPUS = Path(__file__).parents[2] / "data" / "corpus"
SPLIT_FILE = "split.json"
Split = Literal["train", "dev", "test"]


def paths(folder: Path) -> list[Path]:
    """Give the conversation files of a folder in order of name; raise InputError where there are none."""
    inner = folder / "conversations"
    files = sorted((inner if inner.is_dir() else folder).glob("*.json"))
    files = [file for file in files if file.name != SPLIT_FILE]
    if not files:
        raise InputError(f"{folder}: no conversation (*.json) in it or in its folder conversations/.")
    return files


def load(folder: Path = CORPUS) -> list[Conversation]:
    """Read every conversation of a folder; raise InputError that names a file that is unreadable or told twice."""
    conversations: dict[str, Conversation] = {}
    for path in paths(folder):
        conversation = read(path)
        if conversation.id in conversations:
            raise InputError(f"{path}: a second conversation with the id {conversation.id!r}; rename one.")
        conversations[conversation.id] = conversation
    return list(conversations.values())


def split(name: Split, folder: Path = CORPUS) -> list[Conversation]:
    """Read the conversations of one split."""
    table = split_table(folder)
    return [conversation for conversation in load(folder) if table.get(conversation.id, "train") == name]


def split_table(folder: Path = CORPUS) -> Mapping[str, Split]:
    """Give conversation id to split as ``split.json`` names them; raise InputError where an id is named twice."""
    path = folder / SPLIT_FILE
    raw = read_json(path)
    if set(raw) != set(get_args(Split)):
        raise InputError(f"{path}: the keys must be train, dev and test, these are {', '.join(raw)}.")
    table: dict[str, Split] = {}
    for name in get_args(Split):
        for conversation in raw[name]:
            if conversation in table:
                raise InputError(f"{path}: {conversation} is named in {table[conversation]} and in {name}.")
            table[conversation] = name
    return table
