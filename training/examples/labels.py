"""What a teacher labelled, as training data beside the corpus's train split: whole conversations, or rows of one task.

Takes a file or folder that ``training.teacher`` wrote; gives conversations, in which a row has become what the corpus would hold: an occurrence or a
question. Refuses, with its line, what is empty, malformed, or stands in dev or test. Knows nothing about tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seem.errors import InputError
from seem.types import Passage
from training.corpus import Conversation, Occurrence, Question, Turn, load, read, split
from training.corpus.check import check
from training.corpus.conversation import read_json
from training.corpus.folder import paths, split_table
from training.corpus.intake import LONG_TEXT
from training.teacher.label import LABELS
from training.teacher.sources import moment, note, rows

Row = Mapping[str, Any]


def read_labels(path: Path, task: str, corpus: Path) -> list[Conversation]:
    """Read the labels of a task; raise InputError that names the file, and the line of a row, that cannot be used."""
    held_out = HeldOut.of(corpus)
    found: list[Conversation] = []
    if path.suffix == ".json" or (path / "conversations").is_dir():
        files = [path] if path.is_file() else paths(path)
        found = [_conversation(file, held_out) for file in files]
    table = path if path.suffix == ".jsonl" else path / LABELS
    if table.is_file():
        if task not in _MADE:
            raise InputError(
                f"{table} holds rows, but {task} learns from whole conversations; name the folder of those."
            )
        known = {c.id: c for c in [*split("train", corpus), *found]}
        found += [_row(f"{table}, line {n}", row, task, known, held_out) for n, row in rows(table, ("label",))]
    if not found:
        raise InputError(f"{path} holds neither conversations/ nor {LABELS}; name what training.teacher wrote.")
    return _merged(found)


def _merged(conversations: Iterable[Conversation]) -> list[Conversation]:
    """Put what rows say of one conversation together: a reader's memory of it is then built once."""
    by_id: dict[str, Conversation] = {}
    for c in conversations:
        one = by_id.get(c.id, replace(c, occurrences=(), questions=()))
        occurrences, questions = one.occurrences + c.occurrences, one.questions + c.questions
        by_id[c.id] = replace(one, occurrences=occurrences, questions=questions)
    return list(by_id.values())


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The conversations, long texts and questions of dev and test, each with its split."""

    ids: Mapping[str, str]
    texts: Mapping[str, str]

    @classmethod
    def of(cls, corpus: Path) -> HeldOut:
        """Read them from a corpus."""
        table = split_table(corpus)
        ids = {name: where for name, where in table.items() if where != "train"}
        texts: dict[str, str] = {}
        for conversation in load(corpus):
            if where := ids.get(conversation.id):
                told = [t.passage.text.strip() for t in conversation.turns]
                texts |= dict.fromkeys((text for text in told if len(text) > LONG_TEXT), where)
                texts |= dict.fromkeys((q.question.strip() for q in conversation.questions), where)
        return cls(ids, texts)

    def refuse(self, where: str, name: str, texts: list[str]) -> None:
        """Raise InputError where a conversation or a text stands in dev or test."""
        if name in self.ids:
            raise InputError(
                f"{where}: the conversation {name!r} belongs to {self.ids[name]}; nothing of it may be trained on."
            )
        for text in texts:
            if split_ := self.texts.get(text.strip()):
                raise InputError(f"{where}: repeats a text of {split_}: {text.strip()[:LONG_TEXT]!r}…; leave it out.")


def _conversation(file: Path, held_out: HeldOut) -> Conversation:
    found = read(file)
    problems, _ = check(read_json(file))
    if problems:
        raise InputError(f"{file}: {problems[0]} ({len(problems)} problems in all); correct it or leave it out.")
    asked = [q.question for q in found.questions]
    held_out.refuse(str(file), found.id, [*(t.passage.text for t in found.turns), *asked])
    return found


def _row(where: str, row: Row, task: str, known: Mapping[str, Conversation], held_out: HeldOut) -> Conversation:
    try:
        name = str(row.get("conversation", ""))
        texts = [str(told["text"]) for told in row.get("notes", ())]
        held_out.refuse(where, name, [*texts, *([row["question"]] if "question" in row else [])])
        return _MADE[task](where, row, known)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: not a label of the task {task} ({type(error).__name__}: {error}).") from error


def _fused(where: str, row: Row, known: Mapping[str, Conversation]) -> Conversation:
    """Make an occurrence of a summary, with the turns that it names or the notes that stand in the row."""
    summary = _text(row["label"]["summary"])
    if "notes" not in row:
        base = _named(where, row, known)
        turns = tuple(str(turn) for turn in row["turns"])
        if unknown := set(turns) - {t.passage.id for t in base.turns}:
            raise ValueError(f"no turn {min(unknown)!r} in {base.id!r}")
        return replace(base, occurrences=(Occurrence(turns, summary),), distinct=(), questions=())
    said: list[Turn] = []
    for n, told in enumerate(row["notes"], 1):
        time = moment(told["time"]) if told.get("time") else None
        passage = Passage(str(n), where, told["text"], n, told["speaker"], "", time, told.get("image") or "")
        said.append(Turn(passage, note(passage.id, told), tuple(t.passage for t in said[-2:])))
    speakers = tuple(dict.fromkeys(t.passage.speaker for t in said))
    occurrence = Occurrence(tuple(t.passage.id for t in said), summary)
    return Conversation(where, "labels", speakers, (), tuple(said), (occurrence,), (), ())


def _parsed(where: str, row: Row, known: Mapping[str, Conversation]) -> Conversation:
    """Make a question with its patterns."""
    facts = tuple((_text(s), _text(r), _text(o)) for s, r, o in row["label"]["facts"])
    if not facts:
        raise ValueError("no patterns")
    asked = Question(where, _text(row["question"]), "", "single-hop", (), facts, False)
    base = known.get(str(row.get("conversation", "")))
    return Conversation(where, "labels", base.speakers if base else (), (), (), (), (), (asked,))


def _answered(where: str, row: Row, known: Mapping[str, Conversation]) -> Conversation:
    """Give a question of a conversation the teacher's answer; its evidence stays."""
    base = _named(where, row, known)
    asked = [q for q in base.questions if q.id == str(row["id"])]
    if not asked:
        raise ValueError(f"no question {row['id']!r} in {base.id!r}")
    answered = replace(asked[0], answer=_text(row["label"]["answer"]))
    return replace(base, occurrences=(), distinct=(), questions=(answered,))


def _named(where: str, row: Row, known: Mapping[str, Conversation]) -> Conversation:
    name = str(row["conversation"])
    if name not in known:
        raise InputError(
            f"{where}: the conversation {name!r} is not in the corpus's train split; "
            "take it in with python -m training.corpus import, or leave the row out."
        )
    return known[name]


def _text(told: Any) -> str:
    if not isinstance(told, str) or not told.strip():
        raise ValueError(f"text is needed, not {told!r}")
    return " ".join(told.split())


_MADE: Mapping[str, Callable[[str, Row, Mapping[str, Conversation]], Conversation]] = {
    "fuse": _fused,
    "parse": _parsed,
    "answer": _answered,
}
