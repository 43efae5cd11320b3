"""An adapter serves as what it is or not at all: foreign layers, another base or vocabulary, no effect, a missing part."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from seem.errors import ModelError
from seem.models.adapters import WEIGHTS, read_manifest
from seem.models.decoder import Decoder
from seem.models.greedy import Request
from tests.models.tiny import tiny_adapter, tiny_base

Spoil = Callable[[Path], None]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_adapter(tmp_path_factory.mktemp("adapter"), base, 1)


def rename(folder: Path) -> None:
    tensors = {k.replace("self_attn", "other_attn"): v for k, v in load_file(folder / WEIGHTS).items()}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


def zero(folder: Path) -> None:
    tensors = {k: torch.zeros_like(v) if "lora_B" in k else v for k, v in load_file(folder / WEIGHTS).items()}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


def stated(**values: Any) -> Spoil:
    return lambda folder: dataclasses.replace(read_manifest(folder), **values).write(folder)


def remove(name: str) -> Spoil:
    return lambda folder: (folder / name).unlink()


@pytest.mark.filterwarnings("ignore:Found missing adapter keys")
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (rename, r"\d+ tensors have no place .*, \d+ places have no tensor"),
        (stated(base_fingerprint="f" * 64), r"belongs to base .* fingerprint ffffffffffff, but .* has [0-9a-f]{12}"),
        (stated(tokenizer_fingerprint="f" * 64), "another tokenizer"),
        (stated(task="answer"), "trained for 'answer', not for 'extract'"),
        (zero, "has no effect"),
        (remove("adapter_config.json"), "lacks adapter_config.json"),
        (remove(WEIGHTS), f"lacks {WEIGHTS}"),
        (lambda folder: (folder / WEIGHTS).write_bytes(b"cut off"), "cannot be read"),
        (lambda folder: (folder / "seem.json").write_text("{"), "cannot be read"),
    ],
)
def test_the_base_is_never_served_under_the_name_of_an_adapter_that_does_not_fit(
    base: Path, adapter: Path, tmp_path: Path, spoil: Spoil, told: str
) -> None:
    """O-32: refused, with what was expected and what was found; no generation under its task is possible."""
    copy = tmp_path / "copy"
    shutil.copytree(adapter, copy)
    spoil(copy)
    decoder = Decoder(str(base), device="cpu", dtype="float32")
    with pytest.raises(ModelError, match=told):
        decoder.load(str(copy), task="extract")
    with pytest.raises(ModelError, match="no adapter is loaded"):
        decoder.generate([Request("a\n")], task="extract", max_tokens=1)


def test_an_adapter_that_fits_changes_what_is_said(base: Path, adapter: Path) -> None:
    """O-32: the probe that all of the above rests on."""
    decoder = Decoder(str(base), device="cpu", dtype="float32")
    decoder.load(str(adapter), task="extract")
    tuned, bare = (
        decoder.generate([Request("Ana: hi\n")], task=task, max_tokens=8)[0].logprob for task in ("extract", None)
    )
    assert tuned != bare
