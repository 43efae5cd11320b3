"""Without its package an adapter says which extra brings it."""

from __future__ import annotations

import importlib
import sys

import pytest

from seem.errors import ConfigError


@pytest.mark.parametrize(("module", "package"), [("langgraph", "langgraph.store.base"), ("llamaindex", "llama_index")])
def test_the_extra_is_named(module: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"seem.integrations.{module}", raising=False)
    for name in [name for name in sys.modules if name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError, match=rf"pip install 'seem-memory\[{module}\]'"):
        importlib.import_module(f"seem.integrations.{module}")
