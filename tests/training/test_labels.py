"""Labels of a teacher as training data: rows become what the corpus would hold, and what cannot be used is named with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seem.errors import InputError
from tests.training.tiny_corpus import tiny_corpus
from training.examples.labels import read_labels


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_corpus(tmp_path_factory.mktemp("data") / "corpus")


def note(who: str, text: str) -> dict[str, Any]:
    event = {"participants": [who], "action": "bought a kayak"} | dict.fromkeys(
        ("time", "location", "causality", "manner")
    )
    return {"speaker": who, "time": "2024-05-01T10:00", "text": text, "frame": {"summary": "s", "events": [event]}}


KAYAK = {
    "notes": [note("Eve", "I bought a kayak."), note("Eve", "The kayak is red.")],
    "label": {"summary": "Eve bought a kayak.", "events": []},
}
ROWS: dict[str, Any] = {
    "parse": {"question": "Who bought a kayak?", "label": {"facts": [["?", "bought", "kayak"]], "time": None}},
    "fuse": KAYAK,
    "answer": {
        "conversation": "ana-01",
        "id": "Q2",
        "question": "What did Ana buy for work?",
        "label": {"answer": "a bicycle"},
    },
}


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "labels.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("task", ROWS)
def test_rows_become_what_the_corpus_would_hold(task: str, corpus: Path, tmp_path: Path) -> None:
    (found,) = read_labels(written(tmp_path, ROWS[task]), task, corpus)
    told = {
        "parse": [q.facts for q in found.questions],
        "fuse": [(o.summary, len(found.turns)) for o in found.occurrences],
        "answer": [(q.id, q.answer, q.evidence) for q in found.questions],
    }
    wanted = {
        "parse": [(("?", "bought", "kayak"),)],
        "fuse": [("Eve bought a kayak.", 2)],
        "answer": [("Q2", "a bicycle", ("S2:2",))],
    }
    assert told[task] == wanted[task]


@pytest.mark.parametrize(
    ("task", "rows", "told"),
    [
        ("parse", [], "is empty"),
        ("parse", [ROWS["parse"], "{oops"], "line 2: not JSON"),
        ("parse", [ROWS["parse"], {"question": "x"}], "line 2: an object with label"),
        ("parse", [KAYAK], "line 1: not a label of the task parse"),
        ("parse", [{"question": "Who?", "label": {"facts": [["?", "is"]]}}], "line 1: not a label"),
        ("parse", [{"question": "Who?", "label": {"facts": []}}], "line 1: not a label"),
        ("fuse", [ROWS["parse"]], "line 1: not a label of the task fuse"),
        (
            "fuse",
            [{"conversation": "zoe-01", "turns": ["S1:1"], "label": {"summary": "x"}}],
            "not in the corpus's train split",
        ),
        ("fuse", [{"conversation": "ana-01", "turns": ["S9:9"], "label": {"summary": "x"}}], "no turn 'S9:9'"),
        (
            "fuse",
            [{"conversation": "cora-01", "turns": ["S1:1"], "label": {"summary": "x"}}],
            "line 1: .* belongs to dev",
        ),
        (
            "fuse",
            [KAYAK | {"notes": [note("Dan", "We set out to climb Olympus from the north hut.")]}],
            "repeats a text of test",
        ),
        (
            "parse",
            [{"question": "What did Cora buy for work?", "label": {"facts": [["?", "is", "x"]]}}],
            "repeats a text of dev",
        ),
        ("answer", [ROWS["answer"] | {"id": "Q9"}], "no question 'Q9'"),
        ("extract", [ROWS["parse"]], "learns from whole conversations"),
    ],
)
def test_labels_that_cannot_be_used_are_named(
    task: str, rows: list[Any], told: str, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        read_labels(written(tmp_path, *rows), task, corpus)


def test_conversations_of_dev_and_test_are_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither"):
        read_labels(tmp_path / "nowhere", "parse", corpus)
    (tmp_path / "conversations").mkdir()
    with pytest.raises(InputError, match="no conversation"):
        read_labels(tmp_path, "extract", corpus)
    raw = json.loads((corpus / "conversations" / "dan-01.json").read_text())
    raw |= {"distinct": [{"a": "S1:1", "b": "S1:2", "why": "same day"}]}
    file = tmp_path / "conversations" / "dan-01.json"
    file.write_text(json.dumps(raw))
    with pytest.raises(InputError, match="belongs to test"):
        read_labels(tmp_path, "extract", corpus)
    file.write_text(json.dumps(raw | {"id": "new-01"}))
    with pytest.raises(InputError, match="repeats a text of test"):
        read_labels(tmp_path, "extract", corpus)
    file.write_text(json.dumps(raw | {"kind": "monologue"}))
    with pytest.raises(InputError, match="unknown kind"):
        read_labels(tmp_path, "extract", corpus)
