"""New adapters taken up by a running memory: whoever began with the old one ends with it, and what does not fit changes nothing."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from seem.config import Config
from seem.errors import ModelError
from seem.memory import Memory
from seem.models.adapters import read_manifest
from seem.models.fakes import HashingEncoder, ScriptedJudge
from seem.models.protocols import ExtractItem
from seem.types import Passage
from seem.wiring import Parts
from seem.write.cascade import CascadeExtractor, read_tally
from tests.models.tiny import tiny_adapter, tiny_base
from tests.training.openai_server import Answer, Server, frame
from training.operation.gate import switch

ITEMS: list[ExtractItem] = [(Passage("p1", "m", "I sold the piano in Riga yesterday.", speaker="Ede"), (), ())]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_base(tmp_path_factory.mktemp("base"))


def parts(folder: Path, base: Path, **extract: Any) -> Parts:
    config = {
        "data_dir": str(folder),
        "decoder": {"model": str(base), "device": "cpu", "dtype": "float32"},
        "extract": {"max_tokens": 16, "null_bias": -20, **extract},
    }
    return Parts(Config.from_dict(config), encoder=HashingEncoder(), judge=ScriptedJudge())


def test_a_new_adapter_serves_new_calls_and_the_old_one_those_under_way(base: Path, tmp_path: Path) -> None:
    first, second = (tiny_adapter(tmp_path / name, base, n) for n, name in enumerate(("first", "second")))
    alien = tiny_adapter(tmp_path / "alien", base, 3, fingerprint="0" * 64)
    link = tmp_path / "extract"
    link.symlink_to(first)
    memory = Memory(parts=parts(tmp_path, base, adapter=str(link)))
    assert memory.reload_models() == {}
    old = memory.parts.extractor
    assert old is not None
    before = old.extract(ITEMS)

    assert switch(link, second) == first
    assert old.extract(ITEMS) == before
    told = memory.reload_models()
    new = memory.parts.extractor
    assert new is not None and new is not old
    assert told == {"extractor": new.name} and new.name.endswith(read_manifest(second).version)
    [found] = new.extract(ITEMS)
    assert found.model == new.name and found.confidence != before[0].confidence
    # It is still there for whoever holds it, and after it went the other is the same.
    assert old.extract(ITEMS) == before and new.extract(ITEMS) == [found]

    switch(link, alien)
    with pytest.raises(ModelError, match="belongs to base"):
        memory.reload_models()
    assert memory.parts.extractor is new and new.extract(ITEMS) == [found]

    switch(link, first)
    memory.reload_models()
    again = memory.parts.extractor
    assert again is not None and [x.confidence for x in again.extract(ITEMS)] == [before[0].confidence]
    places = len(memory.parts.decoder._manifests)
    del new
    gc.collect()
    assert again.extract(ITEMS) == before
    # What nobody holds any more is gone from the network.
    assert len(memory.parts.decoder._manifests) == places - 1
    memory.close()


def test_the_configuration_puts_the_endpoint_behind_the_local_extractor(base: Path, tmp_path: Path) -> None:
    adapter = str(tiny_adapter(tmp_path / "only", base, 5))
    piano = {"participants": ["Ede"], "action": "sold the piano"} | dict.fromkeys(
        ("time", "location", "causality", "manner")
    )
    with Server(lambda _b: Answer(frame(piano))) as server:
        made = parts(
            tmp_path, base, adapter=adapter, cascade=1.0, base_url=server.url, model="big", price_in=10, price_out=50
        )
        extractor = made.extractor
        assert isinstance(extractor, CascadeExtractor)
        [found] = extractor.extract(ITEMS)
    assert found.events[0].action == "sold the piano" and found.model.startswith("big+prompt@")
    # Answers take more room than the student's lines.
    assert server.requests[0]["max_tokens"] == 1024
    tally = read_tally(tmp_path / "cascade.json")
    assert tally is not None and tally.answered == 1 and tally.cost == pytest.approx((100 * 10 + 20 * 50) / 1e6)
