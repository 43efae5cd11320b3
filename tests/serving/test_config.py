"""The server's settings: the shipped file, what is refused, and whose store is whose."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from seem.config import Config
from seem.errors import ConfigError
from seem.settings import keys
from serving.config import ServeConfig, tenant_settings

FILE = Path(__file__).parents[2] / "configs" / "serve.yaml"


def test_serve_yaml_writes_out_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SEEM_")]:
        monkeypatch.delenv(name)
    config = ServeConfig.load_file(FILE)
    assert config.settings == Config.load(FILE.parent / config.memory)
    plain = ServeConfig()
    assert dataclasses.replace(config, memory="", settings=plain.settings) == plain
    told = yaml.safe_load(FILE.read_text())
    assert {f"{s}.{k}" for s, part in told.items() if isinstance(part, dict) for k in part} | {"memory"} == set(
        keys(ServeConfig)
    )


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"load": {"threads": 0}}, "load.threads: expected a number from 1 to 1024"),
        ({"tenants": {}}, "tenants: unknown; the nearest valid key is tenant"),
        ({"http": {"port": 99999}}, "http.port"),
        ({"upstream": {"base_url": "localhost"}}, "an http"),
    ],
)
def test_a_wrong_setting_is_named(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told.replace("(", r"\(")):
        ServeConfig.from_dict(values, Config())


def test_every_tenant_has_a_store_of_its_own(tmp_path: Path) -> None:
    settings = Config.from_dict({"data_dir": str(tmp_path)})
    assert tenant_settings(settings, "acme").data_dir == tmp_path / "tenants" / "acme"
    shared = Config.from_dict({"store": {"url": "postgresql://host/seem"}})
    with pytest.raises(ConfigError, match="store of its own"):
        ServeConfig.from_dict({}, shared)
    own = Config.from_dict({"store": {"url": "postgresql://host/{tenant}"}})
    assert tenant_settings(ServeConfig.from_dict({}, own).settings, "acme").store.url == "postgresql://host/acme"
