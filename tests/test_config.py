"""One tree of settings: what it accepts, what it refuses, and how it says so."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
import yaml

from seem.config import Config
from seem.errors import ConfigError
from seem.settings import keys

CONFIGS = Path(__file__).parents[1] / "configs"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SEEM_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    "path",
    sorted(path for path in CONFIGS.glob("*.yaml") if path.stem not in ("teacher", "prices", "serve")),
    ids=lambda path: path.name,
)
def test_every_config_builds(path: Path) -> None:
    assert set(Config.load(path).origins) == set(keys(Config))


def test_memory_yaml_writes_out_the_defaults() -> None:
    assert Config.load(CONFIGS / "memory.yaml") == Config()
    told = yaml.safe_load((CONFIGS / "memory.yaml").read_text())
    assert {f"{s}.{k}" for s, part in told.items() for k in part} == set(keys(Config)) - {"data_dir"}


def test_all_problems_at_once_with_the_nearest_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O-35: a misspelt setting is never silently ignored."""
    file = tmp_path / "bad.yaml"
    file.write_text(
        "data_dir: mem\nembeding: {model: other}\njudge: {treshold: 0.5}\n"
        "decoder: {device: 'cuda:7', dtype: float61}\nsearch:\n  top_k: -3\n  damping: 0.4\n  damping: 0.6\n"
    )
    monkeypatch.setenv("SEEM_SEARCH__ITERATONS", "3")
    with pytest.raises(ConfigError) as caught:
        Config.load(file)
    text = str(caught.value)
    assert "bad.yaml" in text and "8 problems" in text
    for told in (
        "data_dir: expected an absolute path, or one that begins with ~, got 'mem'",
        "embeding: unknown; the nearest valid key is encoder",
        "judge.treshold: unknown; the nearest valid key is judge.threshold",
        "decoder.device: cuda:7 asked for, but this machine has",
        "(nearest: float16)",
        "search.top_k: expected a number from 1 to 1000, got -3",
        "damping: given twice, the second time in line 8",
        "search.iteratons: unknown; the nearest valid key is search.iterations",
    ):
        assert told in text


def test_origins_tell_where_each_value_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("search:\n  top_k: 7\n  seeds: 9\nanswer:\n")
    monkeypatch.setenv("SEEM_SEARCH__TOP_K", "5")
    monkeypatch.setenv("SEEM_ANSWER__MODEL", "123")
    monkeypatch.setenv("SEEM_JUDGE__THRESHOLD", "null")
    monkeypatch.setenv("SEEM_HOME", str(tmp_path))
    config = Config.load(file)
    assert (config.search.top_k, config.search.seeds, config.answer.model, config.data_dir) == (5, 9, "123", tmp_path)
    assert config.judge.threshold is None
    assert [config.origins[f"search.{key}"] for key in ("top_k", "seeds", "damping")] == ["env", "file", "default"]


def test_the_environment_counts_in_load_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEM_SEARCH__TOP_K", "5")
    assert Config.from_dict({}).search.top_k == Config().search.top_k == 10


def test_the_file_wins_over_seem_home_and_seem_data_dir_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(f"data_dir: {tmp_path / 'file'}")
    monkeypatch.setenv("SEEM_HOME", str(tmp_path / "home"))
    assert Config.load(file).data_dir == tmp_path / "file"
    monkeypatch.setenv("SEEM_DATA_DIR", str(tmp_path / "env"))
    assert Config.load(file).data_dir == tmp_path / "env"


def test_to_dict_comes_back_the_same() -> None:
    config = Config.from_dict({"search": {"top_k": 3}, "judge": {"threshold": 1}})
    assert Config.from_dict(yaml.safe_load(yaml.safe_dump(config.to_dict()))) == config
    assert isinstance(config.judge.threshold, float)


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().search.top_k = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"search": 5}, "search: a section of settings, not a value; got 5"),
        ({"search": {"top_k": True}}, "expected a whole number, got True"),
        ({"search": {"top_k": 2.5}}, "expected a whole number"),
        ({"search": {"damping": float("nan")}}, "expected a number from 0 to 0.99"),
        ({"search": {"top_k": {"x": 1}}}, "search.top_k.x: unknown; the nearest valid key is search.top_k"),
        ({"topk": 3}, "topk: unknown"),
        ({"top_k": 3}, "the nearest valid key is search.top_k"),
        ({"judge.candidates": 3, "judge": {"candidates": 4}}, "judge.candidates: given twice"),
        ({"store": {"url": "sqlite:///here.db"}}, "sqlite:////absolute/path"),
        ({"answer": {"engine": "endpoint"}}, "base_url and model must be given"),
        ({"origins": {}}, "origins: unknown"),
        ({1: 2}, "1: unknown"),
    ],
)
def test_each_mistake_is_named(values: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match="1 problem:") as caught:
        Config.from_dict(values)
    assert told in str(caught.value)


@pytest.mark.parametrize("text", ["a: [", "- a\n", "\tb", "plain"])
def test_a_file_that_is_no_configuration(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="c.yaml"):
        Config.load(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere.yaml"):
        Config.load(tmp_path / "nowhere.yaml")
