"""What the GPU check says of its steps: none is forgotten, a missing library is no failure, a step that was stopped is one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from training.gpu import check as gpu_check

ROOT = Path(__file__).parents[2]


def test_every_gpu_configuration_is_a_step_and_what_others_need_comes_first() -> None:
    steps = gpu_check.steps()
    assert {path.stem for path in (ROOT / "configs" / "train").glob("gpu-*.yaml")} <= set(steps)
    assert steps[0] == "models"
    assert steps.index("gpu-extract") < steps.index("gpu-preference")


def test_missing_failed_and_stopped_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(step: str, out: Path, *, cpu: bool) -> dict[str, object]:
        raise ModuleNotFoundError("No module named 'trl'", name="trl")

    def wrong(step: str, out: Path, *, cpu: bool) -> dict[str, object]:
        raise AssertionError("scores differ")

    from training.gpu import students

    monkeypatch.setattr(students, "student", lacking)
    gpu_check.run("gpu-extract", tmp_path, cpu=True)
    assert "missing" in gpu_check.line(gpu_check.told("gpu-extract", tmp_path))
    assert gpu_check.told("gpu-extract", tmp_path)["why"] == "trl is not installed"
    assert gpu_check.table(["gpu-extract", "gpu-judge"], tmp_path), (
        "a step that did not run for want of time is no failure"
    )
    monkeypatch.setattr(students, "student", wrong)
    gpu_check.run("gpu-extract", tmp_path, cpu=True)
    (tmp_path / "gpu-judge.log").write_text("killed")
    assert not gpu_check.table(["gpu-extract"], tmp_path)
    assert not gpu_check.table(["gpu-judge"], tmp_path)
    assert json.loads((tmp_path / "gpu_check.json").read_text())["steps"][0]["status"] == "failed"


def test_the_script_tells_how_it_is_called() -> None:
    told = subprocess.run(
        ["bash", str(ROOT / "training" / "gpu_check.sh"), "--help"], capture_output=True, text=True, check=True
    )
    assert "--cpu" in told.stdout
    wrong = subprocess.run(["bash", str(ROOT / "training" / "gpu_check.sh"), "--gpu"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "--gpu" in wrong.stderr
