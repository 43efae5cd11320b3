"""Every file in ``configs/`` is read by the reader of its kind, and each training has its GPU twin."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

CONFIGS = Path(__file__).parents[1] / "configs"
SFT = "training.settings:load_settings"
READERS = {
    "accelerate/gpus": "accelerate.commands.config.config_args:load_config_from_file",
    "benchmarks/judge": "training.benchmarks.judging:load_judge",
    "gpu": "seem.config:Config.load",
    "memory": "seem.config:Config.load",
    "prices": "training.evaluate.prices:load_prices",
    "serve": "serving.config:ServeConfig.load_file",
    "teacher": "training.teacher.settings:load_settings",
    "train/answer": SFT,
    "train/extract": SFT,
    "train/fuse": SFT,
    "train/judge": "training.judge.settings:load_judge_settings",
    "train/on_policy": "training.recipes.settings:load_on_policy_settings",
    "train/parse": SFT,
    "train/preference": "training.recipes.settings:load_preference_settings",
    "train/retriever": "training.retriever.settings:load_retriever_settings",
    "train/router": "training.router.settings:load_router_settings",
    "vllm": "seem.config:Config.load",
}
FILES = sorted(path.relative_to(CONFIGS).with_suffix("").as_posix() for path in CONFIGS.rglob("*.yaml"))


def read(name: str) -> Any:
    plain = name.replace("gpu-", "").removesuffix("-qlora")
    assert plain in READERS, f"configs/{name}.yaml is new: name its reader here"
    module, _, path = READERS[plain].partition(":")
    reader: Any = import_module(module)
    for attribute in path.split("."):
        reader = getattr(reader, attribute)
    return reader(CONFIGS / f"{name}.yaml" if "accelerate" not in name else str(CONFIGS / f"{name}.yaml"))


@pytest.mark.parametrize("name", FILES)
def test_it_is_read(name: str) -> None:
    settings = read(name)
    if name.startswith("train/"):
        assert settings.output == "runs/" + name.partition("/")[2] or name.endswith(("on_policy", "preference"))
    if READERS[name.replace("gpu-", "").removesuffix("-qlora")] == SFT:
        assert settings.task == name.rpartition("/")[2].replace("gpu-", "").removesuffix("-qlora")


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("train/gpu-")])
def test_a_gpu_file_asks_for_a_gpu_and_for_its_own_base(name: str) -> None:
    settings = read(name)
    assert settings.device == "cuda"
    assert settings.base.startswith("Qwen/Qwen3-")
    assert getattr(settings, "quantize", "none") == ("4bit" if name.endswith("qlora") else "none")


def test_the_recipes_go_on_from_what_the_other_files_write() -> None:
    outputs = {read(name).output for name in FILES if name.startswith("train/")}
    for name in ("train/gpu-on_policy", "train/gpu-preference"):
        assert read(name).adapter in outputs
        assert read(name).base == read("train/gpu-extract").base
    assert read("train/gpu-on_policy").teacher_adapter == read("train/gpu-extract-qlora").output
    assert read("train/gpu-on_policy").teacher == read("train/gpu-extract-qlora").base
