"""The turns on which adapters are compared for as long as they are frozen: named one by one, with a hash of words and labels.

Takes a corpus folder and, for a set of one's own, a file; gives the turns with their labels. A turn that has changed
since is refused, so that two verdicts are about the same thing. Knows nothing about models.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from seem.errors import InputError
from training.corpus import Conversation, load, split
from training.corpus.conversation import read_json
from training.evaluate.extract import Pair, labelled

LEAST = 2


@dataclass(frozen=True, slots=True)
class Frozen:
    """Turns as the extractor takes them with their labels, their names (conversation/turn) and their hash."""

    source: str
    pairs: tuple[Pair, ...]
    turns: tuple[str, ...]
    sha256: str


def frozen_split(folder: Path) -> Frozen:
    """Freeze the test split of a corpus as it is."""
    return _frozen(f"{folder}, test", labelled(split("test", folder)))


def read_frozen(path: Path, folder: Path) -> Frozen:
    """Read a file of frozen turns; raise InputError where the corpus lacks one or its words or labels have changed."""
    told = read_json(path)
    try:
        wanted, stated = list(told["turns"]), str(told["sha256"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} names no frozen turns ({error!r}); write it with --freeze") from error
    known = _by_name(load(folder))
    missing = [name for name in wanted if name not in known]
    if missing:
        raise InputError(f"{path}: the corpus {folder} has no turn {missing[0]!r} ({len(missing)} are missing)")
    frozen = _frozen(str(path), [known[name] for name in wanted])
    if frozen.sha256 != stated:
        raise InputError(
            f"{path}: the words or labels of its turns have changed in {folder} (sha256 {frozen.sha256[:12]}, frozen "
            f"{stated[:12]}); take the corpus of that time, or freeze anew"
        )
    return frozen


def write_frozen(path: Path, frozen: Frozen) -> None:
    """Write the names and the hash."""
    told = {"source": frozen.source, "sha256": frozen.sha256, "turns": list(frozen.turns)}
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _frozen(source: str, pairs: Sequence[Pair]) -> Frozen:
    conversations = {passage.memory for (passage, _, _), _ in pairs}
    if len(conversations) < LEAST:
        raise InputError(
            f"{source}: {len(conversations)} conversations say nothing about chance; at least {LEAST} are needed"
        )
    digest = hashlib.sha256()
    for (passage, context, names), label in pairs:
        said = [[p.speaker, p.text, p.image, str(p.time)] for p in (*context, passage)]
        told = [passage.memory, passage.id, said, list(names), asdict(label)]
        digest.update(json.dumps(told, sort_keys=True, ensure_ascii=True).encode() + b"\n")
    return Frozen(source, tuple(pairs), tuple(_name(pair) for pair in pairs), digest.hexdigest())


def _by_name(conversations: Sequence[Conversation]) -> Mapping[str, Pair]:
    return {_name(pair): pair for pair in labelled(conversations)}


def _name(pair: Pair) -> str:
    passage = pair[0][0]
    return f"{passage.memory}/{passage.id}"
