"""A corpus of four tiny conversations, in files, in which the story of a climb is told in two turns that share no words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PEOPLE = ("Ana", "Ben", "Cora", "Dan")
PEAKS = ("Elbrus", "Kazbek", "Ararat", "Olympus")


def tiny_corpus(folder: Path) -> Path:
    """Write two conversations for training, one for dev, one for test."""
    (folder / "conversations").mkdir(parents=True)
    for who, peak in zip(PEOPLE, PEAKS, strict=True):
        raw = conversation(who, peak)
        (folder / "conversations" / f"{raw['id']}.json").write_text(json.dumps(raw))
    ids = [f"{who.lower()}-01" for who in PEOPLE]
    (folder / "split.json").write_text(json.dumps({"train": ids[:2], "dev": ids[2:3], "test": ids[3:]}))
    return folder


def conversation(who: str, peak: str) -> dict[str, Any]:
    """Give one conversation: the climb in S1:1 and S2:1, other things between."""
    told = [
        ("S1:1", f"We set out to climb {peak} from the north hut.", "set out to climb", peak),
        ("S1:2", "The soup at the station was cold.", "ate", "cold soup"),
        ("S1:3", "Nice weather, isn't it?", None, None),
        ("S2:1", "A blizzard came and our guide turned us around.", "turned around in", "a blizzard"),
        ("S2:2", "I bought a red bicycle for work.", "bought", "a red bicycle"),
        ("S2:3", "My sister plays the cello in a quartet.", "has a sister who plays", "the cello"),
    ]
    sessions = [
        {"id": s, "time": f"2024-03-0{n}T10:00:00", "turns": [_turn(who, *row) for row in told if row[0].startswith(s)]}
        for n, s in ((1, "S1"), (2, "S2"))
    ]
    asked = [
        ("Q1", f"Why did they not reach the top of {peak}?", "multi-hop", ["S1:1", "S2:1"], ["climb", "?", peak], True),
        ("Q2", f"What did {who} buy for work?", "single-hop", ["S2:2"], [who, "bought", "?"], False),
        ("Q3", "What was cold at the station?", "single-hop", ["S1:2"], [who, "ate", "?"], False),
        ("Q4", f"How did the climb of {peak} go?", "multi-hop", ["S1:1", "S2:1"], [who, "climbed", peak], True),
    ]
    return {
        "id": f"{who.lower()}-01",
        "kind": "friends",
        "speakers": [who],
        "sessions": sessions,
        "occurrences": [{"turns": ["S1:1", "S2:1"], "summary": f"{who} turned around on {peak}."}],
        "distinct": [],
        "questions": [
            {"id": i, "question": q, "answer": "", "type": t, "evidence": e, "facts": [f], "narrative": n}
            for i, q, t, e, f, n in asked
        ],
    }


def _turn(who: str, name: str, text: str, action: str | None, thing: str | None) -> dict[str, Any]:
    empty = {"time": None, "location": None, "causality": None, "manner": None}
    event = {"participants": [who], "action": f"{action} {thing}", **empty}
    frame = {"summary": f"{who} {action} {thing}.", "events": [event]} if action else None
    facts = [{"s": who, "r": action, "o": thing, "time": None}] if action else []
    return {"id": name, "speaker": who, "text": text, "frame": frame, "facts": facts}
