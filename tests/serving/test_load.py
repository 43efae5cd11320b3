"""The load test measures what the server did, and leaves nothing behind."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from serving import trial
from serving.load import clear, fill, measure
from serving.soak import slope, soak
from tests.serving.house import House
from tests.serving.test_api import play

CONFIG = Path(__file__).parents[2] / "configs" / "serve.yaml"


def test_it_counts_what_was_served_and_what_was_refused(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as client:
            home.service.keys.limit("acme", requests_per_minute=600)
            added = await measure(client, "add", clients=4, seconds=0.5)
            assert added.served > 0 and added.failed == 0
            assert 0 < added.p50_ms <= added.p95_ms <= added.p99_ms
            stored = home.service.tenants._open["acme"].memory.parts.store.stats(None)["passages"]
            assert stored == added.served
            home.service.keys.limit("acme", requests_per_minute=1)
            flooded = await measure(client, "search", clients=2, seconds=0.3)
            assert flooded.refused > 0 and flooded.failed == 0
            home.service.keys.limit("acme", requests_per_minute=1_000_000)
            await fill(client, 150)
            held = home.service.tenants._open["acme"].memory.parts.store.stats(None)["passages"]
            assert held == stored + 150
            await clear(client)
            assert home.service.tenants._open["acme"].memory.parts.store.stats(None)["passages"] == 0

    play(tmp_path, scene)


def test_a_soak_tells_how_memory_grows_and_keeps_no_more_than_it_deletes(tmp_path: Path) -> None:
    async def scene(home: House) -> None:
        async with home.client() as client:
            home.service.keys.limit("acme", requests_per_minute=1_000_000)
            told = await soak(client, clients=3, minutes=0.04)
            assert told.served >= 3 and told.failed == told.refused == 0
            assert told.memory_mb[0] > 20 and told.files_last > 0
            assert f"{told.served} requests" in told.text()
            assert home.service.tenants._open["acme"].memory.parts.store.stats(None)["passages"] == 0

    play(tmp_path, scene)


def test_a_slope_is_that_of_the_nearest_line() -> None:
    assert slope([(0, 1), (1, 3), (2, 5)]) == pytest.approx(2)
    assert slope([(0, 1), (1, 1), (2, 1)]) == 0
    assert slope([(0, 1)]) == 0


def test_a_trial_measures_the_configured_server_with_and_without_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = trial.settings_of(CONFIG, trial.ALONE)
    assert (alone["batching"]["encoder_rows"], alone["batching"]["decoder_rows"]) == (1, 1)
    assert Path(alone["memory"]) == CONFIG.parent / "memory.yaml"
    assert trial.settings_of(CONFIG, None)["batching"] == yaml.safe_load(CONFIG.read_text())["batching"]
    monkeypatch.setattr(trial, "PROGRAM", "tests.serving.fake_server")
    monkeypatch.chdir(CONFIG.parents[1])
    asked = ["--seconds", "0.4", "--clients", "1,4", "--verbs", "store,search", "--json", str(tmp_path / "told.json")]
    monkeypatch.setattr(sys, "argv", ["trial", *asked])
    assert trial.main() == 0
    shown = capsys.readouterr().out
    assert shown.count("| search | 4 |") == 2 and "**batches of one row**" in shown
    told = json.loads((tmp_path / "told.json").read_text())
    assert [len(runs) for runs in told["runs"].values()] == [4, 4] and told["after"]["cpus"] > 0
