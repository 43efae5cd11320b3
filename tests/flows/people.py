"""A memory on scripted models, and the small story that the flows are played on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seem.config import Config
from seem.memory import Memory
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge, ScriptedReader
from seem.types import Event, Extraction, Fact, TimeSpan
from seem.wiring import Parts

TARTU = "I live in Tartu"
NARVA = "I moved to Narva in May"
PLANTED = "I planted a tree"
GROWING = "the tree I planted is growing"
THANKS = "ok thanks"
MARK = "ZQ-MARK-41"
CODE = f"my door code is {MARK}"
PAINTED = "I repainted my door blue"

SCRIPT: dict[str, Extraction | Exception] = {
    TARTU: Extraction("", (Event(("Ana",), "live in Tartu"),), (Fact("Ana", "lives in", "Tartu"),)),
    NARVA: Extraction(
        "",
        (Event(("Ana",), "moved to Narva"),),
        (Fact("Ana", "lives in", "Narva", TimeSpan("in May", "2024-05", "2024-05")),),
    ),
    CODE: Extraction("", (Event(("Ana",), CODE),), (Fact("Ana's door", "has code", MARK),)),
    PAINTED: Extraction("", (Event(("Ana",), PAINTED),), (Fact("Ana's door", "is", "blue"),)),
    THANKS: Extraction(""),
}
# The addresses of stores that lie elsewhere than in their memory's folder.
STORES: dict[Path, str] = {}
SAME = {frozenset({PLANTED, GROWING}): 0.9, frozenset({CODE, PAINTED}): 0.9}


def parts(folder: Path, extractor: ScriptedExtractor | None = None, **settings: Any) -> Parts:
    store = {"store": {"url": STORES[folder]}} if folder in STORES else {}
    return Parts(
        Config.from_dict({"data_dir": str(folder), **store, **settings}),
        encoder=HashingEncoder(),
        extractor=extractor or ScriptedExtractor(SCRIPT),
        judge=ScriptedJudge(SAME),
        reader=ScriptedReader(),
    )


def memory(folder: Path, extractor: ScriptedExtractor | None = None) -> Memory:
    return Memory(parts=parts(folder, extractor))


def said(*texts: str, name: str = "Ana") -> list[dict[str, str]]:
    return [{"role": "user", "name": name, "content": text} for text in texts]


def texts(found: dict[str, Any]) -> list[str]:
    return [item["memory"] for item in found["results"]]
