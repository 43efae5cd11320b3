"""LoRA tuning and calibration of the judge: ``python -m training.judge --config configs/train/judge.yaml``.

Trains a cross-encoder on pairs of the train split (``training.judge.pairs``), keeps the epoch that ranks dev best, fits
calibrator and threshold on the pairs that retrieval proposes in dev. Resumes after a kill from its last checkpoint;
writes curves, adapter, head, manifest, metrics, reliability plot and card.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import numpy.typing as npt
import torch
import yaml
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.tensorboard import SummaryWriter
from transformers import AutoTokenizer, set_seed

from seem.errors import ConfigError
from seem.models.adapters import Manifest, tokenizer_fingerprint, weights_version
from seem.models.base import BaseModel, find_base, pick_device
from seem.models.encoder import SentenceEncoder
from seem.models.judge import TASK, Calibration, PairHead, TunedJudge, encode_pairs
from seem.prompts.judge import describe_side
from training.card import write_card
from training.corpus import Conversation, split
from training.judge.calibrate import calibrate, joined, table
from training.judge.evaluate import judge_report, propose
from training.judge.metrics import average_precision
from training.judge.pairs import Sample, batches, epoch, labelled_pairs, student_like_extractions, teacher_extractions
from training.judge.settings import JudgeSettings, load_judge_settings
from training.retriever.network import load_network


class Trainee:
    """The network with fresh LoRA weights, its head, and one optimiser over both."""

    def __init__(self, settings: JudgeSettings, base: BaseModel, steps: int) -> None:
        """Load the base; ``steps`` is the length of the schedule."""
        self.settings = settings
        self.device = pick_device(settings.device)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(base.folder)
        network = load_network(base.folder)
        lora = LoraConfig(
            task_type="FEATURE_EXTRACTION",
            r=settings.lora.r,
            lora_alpha=settings.lora.alpha,
            lora_dropout=settings.lora.dropout,
            target_modules="all-linear",
            # Sentence encoders leave their pooler untrained, and we do not use it.
            exclude_modules=r".*pooler.*",
            layers_to_transform=list(range(settings.lora.first_layer, network.config.num_hidden_layers))
            if settings.lora.first_layer
            else None,
        )
        self.model: Any = get_peft_model(network, lora).to(self.device)
        self.head = PairHead(network.config.hidden_size).to(self.device)
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        groups = [
            {"params": self.trained, "lr": settings.learning_rate},
            {"params": list(self.head.parameters()), "lr": settings.head_learning_rate},
        ]
        self.optimizer = torch.optim.AdamW(groups, weight_decay=settings.weight_decay)
        warm = max(1, round(settings.warmup * steps))
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda n: (n + 1) / warm if n < warm else max(0.0, (steps - n) / max(1, steps - warm))
        )

    def logits(self, samples: Sequence[Sample]) -> torch.Tensor:
        """Give the logits of samples, in their order of sides, shape (samples,)."""
        inputs, sides = encode_pairs(
            self.tokenizer, [(describe_side(*s.left), describe_side(*s.right)) for s in samples]
        )
        states = self.model(**{name: tensor.to(self.device) for name, tensor in inputs.items()}).last_hidden_state
        given: torch.Tensor = self.head(states, sides.to(self.device))
        return given

    def step(self, samples: Sequence[Sample]) -> float:
        """Learn from one batch; give its loss."""
        self.model.train()
        self.head.train()
        smooth = self.settings.label_smoothing
        wanted = torch.tensor([float(s.same) for s in samples], device=self.device) * (1 - smooth) + smooth / 2
        loss = binary_cross_entropy_with_logits(self.logits(samples), wanted)
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_([*self.trained, *self.head.parameters()], 1.0)
        self.optimizer.step()
        self.schedule.step()
        return float(loss.detach())

    def predict(self, samples: Sequence[Sample], batch_size: int = 64) -> npt.NDArray[np.float64]:
        """Give the logits of samples without learning."""
        self.model.eval()
        self.head.eval()
        out = np.zeros(len(samples), dtype=np.float64)
        with torch.inference_mode():
            for start in range(0, len(samples), batch_size):
                out[start : start + batch_size] = (
                    self.logits(samples[start : start + batch_size]).double().cpu().numpy()
                )
        return out

    def state(self) -> dict[str, Any]:
        """Give all that a resumed run needs."""
        return {
            "settings": dataclasses.asdict(self.settings),
            "lora": get_peft_model_state_dict(self.model),
            "head": self.head.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "random": torch.get_rng_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        set_peft_model_state_dict(self.model, state["lora"])
        self.head.load_state_dict(state["head"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["random"])

    def save(self, folder: Path) -> None:
        """Write adapter and head."""
        self.model.save_pretrained(folder)
        self.head.write(folder)


def fit(
    settings: JudgeSettings, base: BaseModel, train: Sequence[Conversation], dev: Sequence[Conversation]
) -> dict[str, Any]:
    """Train or go on training; leave the adapter of the best epoch in the output folder and give the run's numbers."""
    output, run = Path(settings.output), Path(settings.output) / "run"
    encoder = SentenceEncoder(settings.base, device=settings.device)
    pairs = labelled_pairs(train, encoder)
    watched = _watched(settings, dev, encoder)
    rows = [
        epoch(
            pairs,
            seed=settings.seed + n,
            positive_repeats=settings.positive_repeats,
            trap_repeats=settings.trap_repeats,
            neighbours=settings.neighbours,
            rename=settings.rename,
            mask=settings.mask,
        )
        for n in range(settings.epochs)
    ]
    plan = [
        (n, [rows[n][i] for i in batch])
        for n in range(settings.epochs)
        for batch in batches([_length(s) for s in rows[n]], settings.batch_size, settings.seed + n)
    ]
    print(
        f"{len(pairs)} pairs, {sum(p.same for p in pairs)} same; {len(rows[0])} samples an epoch, {len(plan)} steps",
        flush=True,
    )
    trainee = Trainee(settings, base, len(plan))
    done, best, history = read_checkpoint(run, trainee)
    curves = SummaryWriter(str(run / "curves"), purge_step=done)
    begun = time.monotonic()
    for number, (n, batch) in enumerate(plan[done:], start=done + 1):
        loss = trainee.step(batch)
        curves.add_scalar("train/loss", loss, number)
        if number % 10 == 0:
            print(f"step {number}/{len(plan)} loss {loss:.4f} {time.monotonic() - begun:.0f}s", flush=True)
        if number == len(plan) or plan[number][0] != n:
            ap = average_precision(trainee.predict(watched), [s.same for s in watched])
            curves.add_scalar("dev/average_precision", ap, number)
            history.append({"epoch": n + 1, "average_precision": ap})
            print(f"epoch {n + 1}: dev average precision {ap:.4f}", flush=True)
            if ap > best:
                best = ap
                trainee.save(output)
        if number % settings.save_steps == 0 or number == len(plan):
            write_checkpoint(run, {"done": number, "best": best, "history": history, **trainee.state()})
    curves.close()
    return {
        "steps": len(plan),
        "samples_an_epoch": len(rows[0]),
        "epochs_run": history,
        "seconds": time.monotonic() - begun,
    }


def train(settings: JudgeSettings) -> Path:
    """Run or resume one training with its calibration; give the adapter's folder."""
    set_seed(settings.seed)
    output = Path(settings.output)
    (output / "run").mkdir(parents=True, exist_ok=True)
    (output / "training.yaml").write_text(
        yaml.safe_dump(dataclasses.asdict(settings), sort_keys=True), encoding="utf-8"
    )
    base = find_base(settings.base)
    dev = split("dev", Path(settings.corpus))
    run = fit(settings, base, split("train", Path(settings.corpus)), dev)
    manifest = Manifest(
        TASK,
        base.name,
        base.fingerprint,
        tokenizer_fingerprint(base.folder),
        weights_version(output),
        Calibration.identity().settings(),
    )
    manifest.write(output)
    metrics = {"run": run, **finish(output, manifest, settings, dev)}
    (output / "metrics.json").write_text(json.dumps(metrics, indent=1), encoding="utf-8")
    told = {**metrics["calibration"], **{f"dev {k}": v for k, v in metrics["dev"].items()}}
    write_card(output, settings, manifest, told, {}, command="training.judge")
    return output


def finish(output: Path, manifest: Manifest, settings: JudgeSettings, dev: Sequence[Conversation]) -> dict[str, Any]:
    """Calibrate on dev, on labels and on student-like twins alike; write the manifest; measure what then is shipped."""
    encoder = SentenceEncoder(settings.base, device=settings.device)
    judge = TunedJudge(encoder, str(output))
    views = {"labels": teacher_extractions(dev), "twins": student_like_extractions(dev)}
    data = joined([table(judge, propose(dev, view, encoder)) for view in views.values()])
    calibration, told = calibrate(data, output)
    dataclasses.replace(manifest, settings=calibration.settings()).write(output)
    final = TunedJudge(SentenceEncoder(settings.base, device=settings.device), str(output))
    reports = {name: judge_report(dev, view, final, encoder) for name, view in views.items()}
    print(json.dumps({"calibration": told, **reports}, indent=1), flush=True)
    return {"calibration": told, "dev": reports["labels"], "dev_twins": reports["twins"]}


def _watched(settings: JudgeSettings, dev: Sequence[Conversation], encoder: SentenceEncoder) -> list[Sample]:
    """Give dev's proposed pairs, all that are the same and a fixed choice of the others, by length."""
    found = propose(dev, teacher_extractions(dev), encoder)
    samples = [Sample(a, b, same) for p in found for (a, b), same in zip(p.inputs(), p.same, strict=True)]
    same = [s for s in samples if s.same]
    other = [s for s in samples if not s.same]
    other = random.Random(settings.seed).sample(other, min(len(other), max(0, settings.dev_pairs - len(same))))
    return sorted(same + other, key=_length)


def _length(sample: Sample) -> int:
    return len(describe_side(*sample.left)) + len(describe_side(*sample.right))


def read_checkpoint(run: Path, trainee: Trainee) -> tuple[int, float, list[dict[str, Any]]]:
    """Restore a run that was killed; give the steps done, the best dev score and the history."""
    path = run / "checkpoint.pt"
    if not path.exists():
        return 0, float("-inf"), []
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state["settings"] != dataclasses.asdict(trainee.settings):
        raise ConfigError(
            f"{path} was left by a run with other settings; delete {run} to start anew, or name another output"
        )
    trainee.restore(state)
    print(f"going on after step {state['done']}", flush=True)
    return int(state["done"]), float(state["best"]), list(state["history"])


def write_checkpoint(run: Path, state: dict[str, Any]) -> None:
    """Save what a resumed run needs, whole or not at all."""
    torch.save(state, run / "checkpoint.new")
    os.replace(run / "checkpoint.new", run / "checkpoint.pt")


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="a file in configs/train/")
    parser.add_argument("--output", help="another folder for the adapter than the one in the file")
    arguments = parser.parse_args()
    settings = load_judge_settings(arguments.config)
    if arguments.output:
        settings = dataclasses.replace(settings, output=arguments.output)
    print(f"adapter written to {train(settings)}")


if __name__ == "__main__":
    main()
