"""Configuration files and variables of any content: a configuration, or one ConfigError with every problem in it.

What was found stays as an example.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seem.config import Config
from seem.errors import ConfigError
from seem.settings import keys

KEYS = st.sampled_from([*keys(Config), "search", "judge", "embeding", "judge.treshold"]) | st.text(max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(
    ["cuda:7", "~", "~nosuchuser/x", "/a\0b", 10**400, -(10**400), "sqlite:///x"]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=3), max_leaves=5
)
SEARCH = st.dictionaries(st.sampled_from(["top_k", "damping", "seeds"]) | st.text(max_size=4), VALUES, max_size=3)
PIECES = "a: {}[],&x*x!!bool!!timestamp!!binary<<?-|>'\"#%\n \t0.infsearch:top_k12:30"
BOMB = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}\n" for n in range(1, 40))


def _loads(text: str) -> None:
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.yaml"
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        try:
            assert set(Config.load(path).origins) == set(keys(Config))
        except ConfigError as error:
            assert len(str(error)) < 20_000
    assert time.process_time() - started < 5


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@example("? [a, b]\n: 1")
@example("{[a]: b}")
@example("? {a: 1}\n: 2")
@example("a: &x {b: *x}")
@example("search: &x\n  top_k: *x")
@example("a: !!timestamp x")
@example("a: !!bool x")
@example("a: 2024-99-99")
@example("\ufffe")
@example("data_dir: '~nosuchuser/x'")
@example("search: {damping: " + "9" * 400 + "}")
@example("a: " + "[" * 2000)
@example(BOMB)
def test_any_text_is_a_configuration_or_one_error(text: str) -> None:
    _loads(text)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(KEYS, VALUES | SEARCH, max_size=4))
def test_any_values_are_a_configuration_or_one_error(values: dict[str, object]) -> None:
    try:
        config = Config.from_dict(values)
    except ConfigError:
        return
    assert Config.from_dict(yaml.safe_load(yaml.safe_dump(config.to_dict()))) == config


@pytest.mark.parametrize("told", ["!!bool x", "2024-99-99", "{[a]: b}", "&x [*x]", "[" * 2000, "9" * 400, "\x07"])
def test_any_variable_is_a_value_or_one_error(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """O-35: a variable that cannot be used is named, never an error of another kind."""
    monkeypatch.setenv("SEEM_SEARCH__TOP_K", told)
    with pytest.raises(ConfigError, match=r"search\.top_k: expected"):
        Config.load(None)
