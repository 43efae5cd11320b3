"""Teacher-versus-student pairs: ``python -m training.recipes.pairs --config configs/train/preference.yaml``.

Decodes the student on the labelled turns of the train and dev splits and sets each text that differs from the teacher's projected label beside it,
one JSON object a line. Reads such files back, refusing a faulty line or one of another split. Knows nothing about optimisation.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from seem.errors import ConfigError, InputError
from seem.models.decoder import Decoder
from seem.models.greedy import Request
from seem.prompts.encode import encode_completion, encode_prompt
from training.corpus import Conversation, split
from training.recipes.settings import PreferenceSettings, load_preference_settings
from training.sft import BUILDERS


@dataclass(frozen=True, slots=True)
class Pair:
    """One prompt, the teacher's completion and the student's; ``finished``: the student's was not cut off."""

    conversation: str
    prompt: str
    chosen: str
    rejected: str
    finished: bool

    def row(self, tokenizer: Any) -> dict[str, list[int]]:
        """Give the trainer's row; the end token belongs to every text that the writer ended."""
        rejected = encode_completion(tokenizer, self.rejected)
        return {
            "prompt_ids": encode_prompt(tokenizer, self.prompt),
            "chosen_ids": encode_completion(tokenizer, self.chosen),
            "rejected_ids": rejected if self.finished else rejected[:-1],
        }


def make_pairs(settings: PreferenceSettings, conversations: Sequence[Conversation], student: Decoder) -> list[Pair]:
    """Give a pair for every example whose label the student does not write by itself, greedily and without a grammar."""
    builder = BUILDERS.get(settings.task)
    if builder is None:
        raise ConfigError(f"task {settings.task!r} is unknown; tasks: {', '.join(BUILDERS)}")
    labelled = []
    for conversation in conversations:
        for e in builder([conversation], student.tokenizer, max_length=settings.max_length).examples:
            head, tail = list(e.input_ids[: e.prompt_length]), list(e.input_ids[e.prompt_length : -1])
            texts = (student.tokenizer.decode(ids, clean_up_tokenization_spaces=False) for ids in (head, tail))
            labelled.append((conversation.id, *texts))
    requests = [Request(prompt) for _, prompt, _ in labelled]
    written = student.generate(requests, task=settings.task, max_tokens=settings.max_tokens)
    return [
        Pair(conversation, prompt, label, out.text, out.finished)
        for (conversation, prompt, label), out in zip(labelled, written, strict=True)
        if out.text.strip() != label.strip()
    ]


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(asdict(pair), ensure_ascii=False) + "\n" for pair in pairs)
    path.write_text(text, encoding="utf-8")


def read_pairs(path: Path, allowed: Iterable[str]) -> list[Pair]:
    """Read a file of pairs; raise InputError with the line for what is no pair, or is of a conversation that is not ``allowed``."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines(): a text may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); make it: python -m training.recipes.pairs") from error
    names = frozenset(allowed)
    pairs = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            pair = _pair(json.loads(line))
        except (ValueError, TypeError) as error:
            raise InputError(f"{path}, line {number}, holds no pair: {error}") from error
        if pair.conversation not in names:
            raise InputError(
                f"{path}, line {number}: conversation {pair.conversation!r} is not of this split; make the file again"
            )
        pairs.append(pair)
    if not pairs:
        raise InputError(f"{path} holds no pair: the student already writes every label, or the file is not whole")
    return pairs


def _pair(raw: Any) -> Pair:
    kinds: dict[str, type] = {f.name: bool if f.name == "finished" else str for f in fields(Pair)}
    if not isinstance(raw, dict) or set(raw) != set(kinds):
        raise ValueError(f"the keys must be {', '.join(kinds)}")
    if wrong := [name for name, kind in kinds.items() if not isinstance(raw[name], kind)]:
        raise ValueError(f"{', '.join(wrong)} of the wrong type")
    if not raw["prompt"] or not raw["chosen"]:
        raise ValueError("prompt or chosen is empty")
    return Pair(**raw)


def main() -> None:
    """Read the command line, decode, write ``train.jsonl`` and ``dev.jsonl``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="configs/train/preference.yaml or one like it")
    settings = load_preference_settings(parser.parse_args().config)
    student = Decoder(settings.base, device=settings.device, dtype=settings.dtype, quantize=settings.quantize)
    student.load(settings.adapter, task=settings.task)
    for name in ("train", "dev"):
        pairs = make_pairs(settings, split(name, Path(settings.corpus)), student)
        write_pairs(Path(settings.pairs) / f"{name}.jsonl", pairs)
        print(f"{len(pairs)} pairs written to {Path(settings.pairs) / name}.jsonl", flush=True)


if __name__ == "__main__":
    main()
