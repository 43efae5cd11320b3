"""The cascade: doubtful passages go to a real endpoint on loopback, no passage is lost when it fails, and all of it is counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import seem.cli.main as cli
from seem.config import Config
from seem.errors import ConfigError, StoreError
from seem.memory import Memory
from seem.models.fakes import HashingEncoder, ScriptedJudge, scripted
from seem.models.protocols import ExtractItem
from seem.types import Extraction, Passage
from seem.wiring import Parts
from seem.write.cascade import FAILURES_IN_A_ROW, CascadeExtractor, Meter, Tally, read_tally
from seem.write.prompted import PromptedExtractor
from tests.training.openai_server import Answer, Server, block, event, frame


@dataclass
class Unsure:
    """A student with one event a passage, as sure of it as the script says."""

    confidence: Mapping[str, float]
    name: str = "student"

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        sure = [self.confidence.get(passage.text, 0.9) for passage, _, _ in items]
        return [replace(scripted(p), model=self.name, confidence=c) for (p, _, _), c in zip(items, sure, strict=True)]


def items(*texts: str) -> list[ExtractItem]:
    return [(Passage(f"p{n}", "m", text, speaker="Ede"), (), ()) for n, text in enumerate(texts)]


def extractor(server: Server, path: Path, confidence: Mapping[str, float], below: float = 0.5) -> CascadeExtractor:
    meter = Meter(path, price_in=10.0, price_out=50.0)
    teacher = PromptedExtractor(server.url, "big", heard=meter.reply)
    return CascadeExtractor(Unsure(confidence), teacher, below=below, meter=meter)


def note(body: dict[str, Any]) -> Answer:
    words = block(body, "passage").removeprefix("Ede: ")
    return Answer(frame(event(["Ede"], words), summary=f"Ede {words}."))


def test_only_doubtful_passages_are_sent_and_each_keeps_its_place(tmp_path: Path) -> None:
    path = tmp_path / "cascade.json"
    done: list[int] = []
    with Server(note) as server:
        found = extractor(server, path, {"mended the gate": 0.2, "ran home": 0.5}).extract(
            items("sold a car", "mended the gate", "ran home"), progress=done.append
        )
        assert [block(r, "passage") for r in server.requests] == ["Ede: mended the gate"]
    assert [x.passage_id for x in found] == ["p0", "p1", "p2"]
    assert [x.model.partition("@")[0] for x in found] == ["student", "big+prompt", "student"]
    assert found[1].summary == "Ede mended the gate."
    cost = (100 * 10 + 20 * 50) / 1e6
    assert read_tally(path) == Tally(3, 1, 1, 0, 0, 1, 0, 100, 20, cost)


def test_an_endpoint_that_fails_costs_no_passage_and_is_then_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "cascade.json"
    texts = [f"event number {n}" for n in range(FAILURES_IN_A_ROW)]
    with Server(lambda _b: Answer(status=404, refusal="no such model")) as server:
        cascade = extractor(server, path, dict.fromkeys(texts, 0.1))
        first = cascade.extract(items(*texts))
        asked = len(server.requests)
        second = cascade.extract(items(*texts))
        assert len(server.requests) == asked == len(texts)
    assert [x.model for x in (*first, *second)] == ["student"] * 10
    assert [x.events[0].action for x in first] == texts
    tally = read_tally(path)
    assert tally is not None
    assert (tally.passages, tally.doubtful, tally.failed, tally.held, tally.share) == (10, 10, 5, 5, 0.0)


def test_one_failure_does_not_touch_its_neighbours(tmp_path: Path) -> None:
    def respond(body: dict[str, Any]) -> Answer:
        return Answer("no JSON") if "bad" in block(body, "passage") else note(body)

    with Server(respond) as server:
        found = extractor(server, tmp_path / "c.json", {}, below=1.0).extract(items("good one", "bad one", "fine one"))
    assert [x.model.partition("@")[0] for x in found] == ["big+prompt", "student", "big+prompt"]
    tally = read_tally(tmp_path / "c.json")
    # The bad one was asked twice, and both replies were paid.
    assert tally is not None and (tally.answered, tally.failed, tally.replies) == (2, 1, 4)


def test_several_meters_add_to_one_file_and_a_server_that_counts_nothing_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "cascade.json"
    with Server(lambda _b: Answer(frame(), usage=None)) as server:
        for _ in range(2):
            extractor(server, path, {}, below=1.0).extract(items("one", "two"))
    assert read_tally(path) == Tally(passages=4, doubtful=4, answered=4, replies=4, uncounted=4)
    path.write_text("{}}")
    with pytest.raises(StoreError, match=r"cascade\.json cannot be read"):
        read_tally(path)
    assert read_tally(tmp_path / "nowhere.json") is None


def test_what_cannot_be_written_now_is_written_with_the_next_batch(tmp_path: Path) -> None:
    blocked = tmp_path / "folder"
    blocked.write_text("a file where a folder should be")
    meter = Meter(blocked / "cascade.json")
    meter.add(Tally(passages=2))
    blocked.unlink()
    meter.add(Tally(passages=1))
    assert read_tally(blocked / "cascade.json") == Tally(passages=3)


def test_a_memory_with_a_dead_endpoint_remembers_all_and_stats_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(lambda _b: Answer(status=404)) as server:
        cascade = extractor(server, tmp_path / "cascade.json", {}, below=1.0)
        made = Parts(
            Config.from_dict({"data_dir": str(tmp_path)}),
            encoder=HashingEncoder(),
            extractor=cascade,
            judge=ScriptedJudge(),
        )
        with Memory(parts=made) as memory:
            told = memory.add([{"role": "user", "name": "Ede", "content": "I sold my piano"}], user_id="ede")
    [item] = told["results"]
    assert item["error"] is None and item["status"] == "done" and item["frame"]
    assert cli.main(["stats", "--data-dir", str(tmp_path), "--json"]) == 0
    stats = json.loads(capsys.readouterr().out)["data"]
    assert (stats["extractions"], stats["cascade_passages"], stats["cascade_failed"], stats["cascade_share"]) == (
        1,
        1,
        1,
        0,
    )
    assert cli.main(["stats", "-u", "ede", "--data-dir", str(tmp_path), "--json"]) == 0
    assert "cascade_passages" not in json.loads(capsys.readouterr().out)["data"]


def test_a_cascade_needs_an_endpoint() -> None:
    with pytest.raises(ConfigError, match="extract.cascade: needs engine local, and base_url and model"):
        Config.from_dict({"extract": {"cascade": 0.5}})
    with pytest.raises(ConfigError, match="a number from 0 to 1"):
        Config.from_dict({"extract": {"cascade": 5, "base_url": "http://localhost:1/v1", "model": "m"}})
