"""The same memory in a file and in PostgreSQL: it answers alike, and moves from one to the other and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from seem import sources
from seem.cli import exporting
from seem.memory import Memory
from seem.scope import scope
from seem.store.verify import verify
from tests.flows.people import GROWING, NARVA, PLANTED, TARTU, THANKS, parts, said
from tests.postgres import Cluster

# Made anew by whoever stores it.
OWN = ("id", "passage_id", "frame_id", "fact_ids", "created_at", "frame", "facts")


def exported(memory: Memory, file: Path) -> list[dict[str, Any]]:
    exporting.write(exporting.export(memory, "user_id:ana"), file)
    return [json.loads(line) for line in file.read_text().split("\n")[:-1]]


def words(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name not in OWN} for line in lines]


def answers(memory: Memory) -> list[Any]:
    asked = ("Where does Ana live?", "tree", "Why did it grow?", "thanks", "NARVA tartu")
    found = [memory.search(question, user_id="ana", explain=True)["results"] for question in asked]
    return [[(item["memory"], item["score"], item["score_details"]) for item in items] for items in found]


def test_a_memory_moves_from_a_file_to_a_server_and_back(tmp_path: Path, cluster: Cluster) -> None:
    homes = [
        parts(tmp_path / "one"),
        parts(tmp_path / "two", store={"url": cluster.url()}),
        parts(tmp_path / "three"),
    ]
    with Memory(parts=homes[0]) as first:
        first.add(
            said(TARTU, PLANTED, THANKS, "Zoë\u2028 \x1a said"), user_id="ana", timestamp="2024-01-02T10:00+00:00"
        )
        first.add(said(NARVA, GROWING), user_id="ana", run_id="r", timestamp="2024-06-02T10:00+00:00")
        told, before = exported(first, tmp_path / "0.jsonl"), answers(first)
    for number, home in enumerate(homes[1:], 1):
        with Memory(parts=home) as memory:
            drafts = list(sources.read("jsonl", tmp_path / f"{number - 1}.jsonl", []))
            assert len(drafts) == 6
            memory.add_drafts(drafts, scope(None, user_id="ana"))
            assert answers(memory) == before
            again = exported(memory, tmp_path / f"{number}.jsonl")
            assert [line["id"] for line in again] == [line["id"] for line in told]
            assert words(again) == [{k: v for k, v in line.items() if k != "run_id"} for line in words(told)]
            assert verify(memory.parts.store, None) == []
