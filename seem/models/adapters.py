"""Adapters on disk: where they lie, what base they belong to, and the refusal to load one that does not fit.

Takes an adapter's name or folder; gives its folder and manifest. The manifest (``seem.json``) is written beside the LoRA weights by training and
names task, base, fingerprints and decoding settings. Knows nothing about tasks.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from seem.errors import ModelError
from seem.models.base import BaseModel

SHIPPED = Path(__file__).resolve().parent.parent / "adapters"
MANIFEST = "seem.json"
WEIGHTS = "adapter_model.safetensors"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an adapter says of itself. ``settings`` are the task's own (thresholds, biases), chosen on dev."""

    task: str
    base: str
    base_fingerprint: str
    tokenizer_fingerprint: str
    version: str
    settings: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the manifest beside the weights."""
        (folder / MANIFEST).write_text(json.dumps(asdict(self), indent=1, sort_keys=True) + "\n", encoding="utf-8")


def find_adapter(name: str) -> Path:
    """Give the folder of a shipped adapter or of a path."""
    for folder in (SHIPPED / name, Path(name).expanduser()):
        if folder.is_dir():
            missing = [f for f in (MANIFEST, WEIGHTS, "adapter_config.json") if not (folder / f).exists()]
            if missing:
                raise ModelError(
                    f"adapter {folder} lacks {', '.join(missing)}; copy the whole folder that training wrote, or train it again"
                )
            return folder
    raise ModelError(
        f"no adapter {name!r}: neither a shipped one ({', '.join(shipped()) or 'none'}) nor a folder; correct the name or train it"
    )


def shipped() -> list[str]:
    """Name the adapters that came with the package."""
    return sorted(p.name for p in SHIPPED.iterdir() if (p / MANIFEST).exists()) if SHIPPED.is_dir() else []


def shipped_for(name: str, base: BaseModel) -> str | None:
    """Give the name of a shipped adapter if it was trained on this base, else ``None``."""
    return name if name in shipped() and read_manifest(SHIPPED / name).base_fingerprint == base.fingerprint else None


def read_manifest(folder: Path) -> Manifest:
    """Read an adapter's manifest."""
    try:
        return Manifest(**json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{folder / MANIFEST} cannot be read ({error}); copy the adapter again or train it again"
        ) from error


def check_fit(folder: Path, *, task: str, base: BaseModel, tokenizer_folder: Path) -> Manifest:
    """Refuse an adapter made for another task, base or tokenizer, or one whose update is nothing."""
    manifest = read_manifest(folder)
    if manifest.task != task:
        raise ModelError(f"adapter {folder} was trained for {manifest.task!r}, not for {task!r}; name another adapter")
    if manifest.base_fingerprint != base.fingerprint:
        raise ModelError(
            f"adapter {folder} belongs to base {manifest.base!r} with fingerprint {manifest.base_fingerprint[:12]}, but {base.name!r} has "
            f"{base.fingerprint[:12]}; name the right base model, or train the adapter for this one"
        )
    if manifest.tokenizer_fingerprint != tokenizer_fingerprint(tokenizer_folder):
        raise ModelError(
            f"adapter {folder} was trained with another tokenizer than the one in {tokenizer_folder}; train it again"
        )
    if not _has_effect(folder / WEIGHTS):
        raise ModelError(
            f"adapter {folder} has no effect (its B matrices are all zero): its training did not run; train it again"
        )
    return manifest


def refuse_unmatched(folder: Path, missing: list[str], unexpected: list[str]) -> None:
    """Refuse to serve the bare base under an adapter's name."""
    if missing or unexpected:
        raise ModelError(
            f"adapter {folder} does not fit its base: {len(unexpected)} tensors have no place ({', '.join(unexpected[:2])}), "
            f"{len(missing)} places have no tensor; it was made for another architecture"
        )


def weights_version(folder: Path) -> str:
    """Give the first half of the SHA-256 of an adapter's weights: two trainings never share it."""
    return hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()[:12]


def tokenizer_fingerprint(folder: Path) -> str:
    """Give the SHA-256 of the files that decide how text becomes tokens."""
    digest = hashlib.sha256()
    found = False
    for name in ("tokenizer.json", "vocab.txt", "tokenizer.model"):
        if (folder / name).exists():
            digest.update((folder / name).read_bytes())
            found = True
    if not found:
        raise ModelError(f"{folder} holds no tokenizer (tokenizer.json, vocab.txt or tokenizer.model)")
    return digest.hexdigest()


def _has_effect(weights: Path) -> bool:
    try:
        with safe_open(weights, framework="pt") as file:
            keys = [k for k in file.keys() if "lora_B" in k]  # noqa: SIM118 -- not a dict
            return not keys or any(bool(file.get_tensor(k).any()) for k in keys)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{weights} cannot be read ({error}); copy the adapter again or train it again") from error
