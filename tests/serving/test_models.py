"""The shared models behind their lanes: nobody waits for another's teacher, and new adapters reach every tenant."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seem.config import Config
from seem.errors import ModelError
from seem.memory import Memory
from seem.models.adapters import read_manifest
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge, scripted
from seem.models.protocols import ExtractItem
from seem.types import Extraction
from seem.wiring import Parts
from seem.write.cascade import CascadeExtractor, Meter, read_tally
from serving.config import Batching, ServeConfig
from serving.metrics import Metrics
from serving.models import LanedFuser, LanedParser, Models
from serving.tenants import Tenants
from tests.flows.people import NARVA, TARTU
from tests.models.tiny import tiny_adapter, tiny_base
from tests.serving.house import House, say
from tests.serving.test_api import play


class Doubtful:
    """A student that is sure of nothing but Tartu."""

    name = "student"

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        return [replace(scripted(p), confidence=1.0 if p.text == TARTU else 0.1) for p, _, _ in items]


def test_waiting_for_a_teacher_holds_up_no_other_tenant(tmp_path: Path) -> None:
    asked, go = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        asked.set()
        go.wait(20)

    async def scene(home: House) -> None:
        async with home.client("acme") as ana, home.client("zeta") as zoe:
            waiting = asyncio.ensure_future(ana.post("/v1/memories", json=say(NARVA)))
            await asyncio.to_thread(asked.wait, 20)
            sure = await asyncio.wait_for(zoe.post("/v1/memories", json=say(TARTU)), 10)
            assert sure.json()["results"][0]["status"] == "done" and not waiting.done()
            go.set()
            assert (await waiting).json()["results"][0]["status"] == "done"
        tally = read_tally(tmp_path / "tally.json")
        assert tally is not None and (tally.passages, tally.answered) == (2, 1)

    teacher = ScriptedExtractor(before=hold)
    cascade = CascadeExtractor(Doubtful(), teacher, below=0.5, meter=Meter(tmp_path / "tally.json"))
    play(tmp_path, scene, extractor=cascade)


def test_new_adapters_reach_tenants_that_are_open(tmp_path: Path) -> None:
    base = tiny_base(tmp_path / "base")
    first, second = (tiny_adapter(tmp_path / name, base, n) for n, name in enumerate(("first", "second")))
    alien = tiny_adapter(tmp_path / "alien", base, 3, fingerprint="0" * 64)
    link = tmp_path / "extract"
    link.symlink_to(first)
    settings: dict[str, Any] = {
        "data_dir": str(tmp_path / "data"),
        "decoder": {"model": str(base), "device": "cpu", "dtype": "float32"},
        "extract": {"max_tokens": 16, "null_bias": -20, "adapter": str(link)},
        "answer": {"engine": "none"},
    }
    parts = Parts(Config.from_dict(settings), encoder=HashingEncoder(), judge=ScriptedJudge())
    metrics = Metrics()
    models = Models(parts, Batching(), metrics)
    tenants = Tenants(ServeConfig.from_dict({}, parts.config), models, metrics)
    try:
        with pytest.raises(ModelError, match="still being loaded"):
            tenants.reload()
        models.load()

        def extracted(tenant: str, text: str) -> str:
            with tenants.memory(tenant) as memory:
                memory.add(text, user_id="ana")
                with memory.pipeline.states.state("user_id:ana") as state:
                    (found,) = [x for x in state.extractions.values() if state.passages[x.passage_id].text == text]
                    return found.model

        old = extracted("acme", "I sold the piano.")
        assert old.endswith(read_manifest(first).version)
        link.unlink()
        link.symlink_to(second)
        told = tenants.reload()
        assert told["extractor"].endswith(read_manifest(second).version)
        assert extracted("acme", "I bought a bike.") == extracted("zeta", "I planted a tree.") == told["extractor"]
        link.unlink()
        link.symlink_to(alien)
        with pytest.raises(ModelError, match="belongs to base"):
            tenants.reload()
        assert extracted("acme", "I painted the fence.") == told["extractor"]
    finally:
        models.close()
        tenants.close()


def test_every_task_of_the_decoder_goes_through_its_lane(tmp_path: Path) -> None:
    base = tiny_base(tmp_path / "base")
    adapters = {task: str(tiny_adapter(tmp_path / task, base, 1, task=task)) for task in ("fuse", "parse")}
    settings: dict[str, Any] = {
        "data_dir": str(tmp_path),
        "decoder": {"model": str(base), "device": "cpu", "dtype": "float32"},
        "extract": {"engine": "none"},
        "answer": {"engine": "none"},
        **{task: {"engine": "tuned", "adapter": adapter, "max_tokens": 16} for task, adapter in adapters.items()},
    }
    config = Config.from_dict(settings)
    metrics = Metrics()
    models = Models(Parts(config, encoder=HashingEncoder(), judge=ScriptedJudge()), Batching(), metrics)
    models.load()
    try:
        with Memory(parts=models.parts(config)) as memory:
            assert isinstance(memory.parts.fuser.fuser, LanedFuser) and isinstance(memory.parts.parser, LanedParser)
            memory.add("I live in Tartu.", user_id="ana", infer=False)
            memory.search("Where does Ana live?", user_id="ana")
        assert b'seem_batch_rows_count{task="parse"}' in metrics.text()
    finally:
        models.close()
