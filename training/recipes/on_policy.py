"""On-policy distillation from a local teacher: ``python -m training.recipes.on_policy --config configs/train/on_policy.yaml``.

The student writes, a larger model of the same vocabulary (a base, with its own adapter for the task) gives its distribution over each of the
student's tokens, and the student moves towards it. TRL's DistillationTrainer, the stable one and on-policy by itself; GKDTrainer, which mixes in
the teacher's texts, stands in TRL's experimental part, and our labels already were such texts. Knows nothing about what a completion means.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from datasets import Dataset
from peft import PeftModel
from transformers import AutoTokenizer, EarlyStoppingCallback, set_seed
from trl.trainer.distillation_config import DistillationConfig
from trl.trainer.distillation_trainer import DistillationTrainer

from seem.errors import ConfigError
from seem.models.adapters import check_fit, find_adapter
from seem.models.base import BaseModel, find_base
from seem.prompts.encode import encode_prompt
from training.corpus import Conversation, split
from training.recipes.settings import OnPolicySettings, load_on_policy_settings
from training.recipes.student import common_arguments, load_plain, load_student, run
from training.sft import BUILDERS


class Distiller(DistillationTrainer):
    """DistillationTrainer whose prompts become the same tokens as when they are served."""

    def _tokenize_prompts(self, prompts: list[str]) -> tuple[list[list[int]], None, dict[str, Any]]:
        return [encode_prompt(self.processing_class, prompt) for prompt in prompts], None, {}


def prompts(settings: OnPolicySettings, tokenizer: Any, conversations: list[Conversation], rename: float) -> list[str]:
    """Give the prompts of a task's examples, as text."""
    builder = BUILDERS.get(settings.task)
    if builder is None:
        raise ConfigError(f"task {settings.task!r} is unknown; tasks: {', '.join(BUILDERS)}")
    built = builder(conversations, tokenizer, max_length=settings.max_length, rename=rename, seed=settings.seed)
    if not built.examples:
        raise ConfigError(f"no prompt of {settings.corpus} fits into max_length {settings.max_length}; raise it")
    return [
        tokenizer.decode(list(e.input_ids[: e.prompt_length]), clean_up_tokenization_spaces=False)
        for e in built.examples
    ]


def load_teacher(settings: OnPolicySettings, student: BaseModel) -> Any:
    """Give the teacher with its adapter folded in; raise ConfigError where its vocabulary is another."""
    base = find_base(settings.teacher)
    own, other = (AutoTokenizer.from_pretrained(b.folder).get_vocab() for b in (student, base))
    if own != other:
        raise ConfigError(
            f"teacher {settings.teacher!r} has another vocabulary than {student.name!r}, and its distributions cannot be compared; "
            "take a teacher of the same family, or label with it: python -m training.teacher"
        )
    model = load_plain(base, device=settings.device, dtype=settings.dtype, quantize=settings.teacher_quantize)
    if settings.teacher_adapter == "none":
        return model
    folder = find_adapter(settings.teacher_adapter)
    check_fit(folder, task=settings.task, base=base, tokenizer_folder=base.folder)
    tuned = PeftModel.from_pretrained(model, str(folder))
    # A quantised base keeps the update apart: folding it in would round it away.
    return tuned.merge_and_unload(safe_merge=True) if settings.teacher_quantize == "none" else tuned


def train(settings: OnPolicySettings) -> Path:
    """Run or resume one distillation; give the adapter's folder."""
    set_seed(settings.seed)
    arguments = DistillationConfig(
        **common_arguments(settings),
        beta=settings.beta,
        temperature=settings.temperature,
        max_completion_length=settings.max_tokens,
    )
    base = find_base(settings.base)
    model, tokenizer = load_student(settings, base)
    teacher = load_teacher(settings, base)
    corpus = Path(settings.corpus)
    shown = prompts(settings, tokenizer, split("train", corpus), 0.5)
    dev = prompts(settings, tokenizer, split("dev", corpus), 0.0)
    dev = random.Random(settings.seed).sample(dev, min(settings.dev_prompts, len(dev)))
    trainer = Distiller(
        model=model,
        teacher_model=teacher,
        args=arguments,
        train_dataset=Dataset.from_dict({"prompt": shown}),
        eval_dataset=Dataset.from_dict({"prompt": dev}),
        processing_class=tokenizer,
        callbacks=[EarlyStoppingCallback(settings.patience)],
    )
    return run(trainer, settings, base, name="on_policy")


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="configs/train/on_policy.yaml or one like it")
    parser.add_argument("--output", help="another folder for the adapter than the one in the file")
    arguments = parser.parse_args()
    settings = load_on_policy_settings(arguments.config)
    if arguments.output:
        settings = dataclasses.replace(settings, output=arguments.output)
    print(f"adapter written to {train(settings)}")


if __name__ == "__main__":
    main()
