"""New conversations into the corpus: all or none, each valid, none twice, no sentence of another split.

Takes a folder and a split, gives which came in and which were there already. Knows nothing about training.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seem.errors import InputError
from training.corpus.check import check
from training.corpus.conversation import read_json
from training.corpus.folder import CORPUS, SPLIT_FILE, Split, paths, split_table

LONG_TEXT = 40


@dataclass(frozen=True, slots=True)
class Intake:
    """Ids of the conversations that came in, and of those that were there, unchanged."""

    added: tuple[str, ...]
    present: tuple[str, ...]


def take_in(folder: Path, split: Split = "train", corpus: Path = CORPUS) -> Intake:
    """Copy a folder's conversations into ``split``, or raise InputError with every problem and copy nothing."""
    ours = {path.stem: read_json(path) for path in paths(corpus)}
    table = split_table(corpus)
    texts = {text: table.get(name, "train") for name, raw in ours.items() for text in long_texts(raw)}
    problems: list[str] = []
    added: dict[str, Path] = {}
    present: list[str] = []
    for path in paths(folder):
        raw = read_json(path)
        name = raw.get("id")
        if name == path.stem and ours.get(path.stem) == raw:
            present.append(path.stem)
            continue
        told = list(_refusals(path, raw, split, ours, texts))
        problems += [f"{path.name}: {problem}" for problem in told]
        added[path.stem] = path
    if problems:
        raise InputError(f"Nothing was imported from {folder}:" + "".join(f"\n  {problem}" for problem in problems))
    target = corpus / "conversations" if (corpus / "conversations").is_dir() else corpus
    for name, path in added.items():
        shutil.copyfile(path, target / f"{name}.json")
    _assign(added, split, table, corpus)
    return Intake(tuple(added), tuple(present))


def long_texts(raw: Mapping[str, Any]) -> set[str]:
    """Give the turns' texts that are too long to be the same by chance."""
    turns = (turn for session in raw["sessions"] for turn in session["turns"])
    return {turn["text"].strip() for turn in turns if len(turn["text"].strip()) > LONG_TEXT}


def _refusals(
    path: Path, raw: Mapping[str, Any], split: Split, ours: Mapping[str, Any], texts: Mapping[str, Split]
) -> Iterator[str]:
    problems, _ = check(raw)
    yield from problems
    if raw.get("id") != path.stem:
        yield f"its id is {raw.get('id')!r}; the file must be named after it"
    elif path.stem in ours:
        yield "another conversation with this id is in the corpus; rename the new one"
    if not problems:
        for text in sorted(long_texts(raw) & texts.keys()):
            if texts[text] != split:
                yield f"repeats a turn of the {texts[text]} split: {text[:LONG_TEXT]!r}…"


def _assign(added: Mapping[str, Path], split: Split, table: Mapping[str, Split], corpus: Path) -> None:
    """Write the split file anew, whole or not at all."""
    members: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for name, where in {**table, **dict.fromkeys(added, split)}.items():
        members[where].append(name)
    draft = corpus / f"{SPLIT_FILE}.new"
    draft.write_text(json.dumps({key: sorted(names) for key, names in members.items()}, indent=1) + "\n")
    os.replace(draft, corpus / SPLIT_FILE)
