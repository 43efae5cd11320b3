"""The trained router: ``python -m training.router --config configs/train/router.yaml``.

Both arms read the corpus's questions (``training.router.outcomes``); candidates learn which one wins and are judged by
regret on questions that they did not learn from: train out of fold, and dev. The LoRA head ships only if it beats the
others by the paired bootstrap, else the best of those. A killed run goes on with the memories, outcomes and folds that
it left. Writes adapter, manifest, metrics, plot and card; test is measured once, at the end.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import yaml
from transformers import set_seed

from seem.errors import InputError
from seem.models.adapters import WEIGHTS, Manifest, tokenizer_fingerprint, weights_version
from seem.models.base import BaseModel, find_base
from seem.models.encoder import SentenceEncoder
from seem.models.protocols import Encoder
from seem.models.router import (
    HEAD,
    KINDS,
    TASK,
    Asked,
    Floats,
    Kind,
    Scaling,
    Scorer,
    chosen,
    manifest_settings,
    scaled,
    write_scorer,
)
from seem.read.route_signals import NAMES
from training.card import data_hash
from training.corpus import split
from training.corpus.folder import Split
from training.router import lora as router_lora
from training.router.candidates import Candidate, Table, candidates, held_out
from training.router.card import write_router_card
from training.router.outcomes import Outcome, counts, outcomes
from training.router.report import LORA, Choices, draw, figures, fixed, table, winner, wins
from training.router.settings import RouterSettings, load_router_settings


def train(settings: RouterSettings) -> Path:
    """Run or resume one training; give the adapter's folder."""
    set_seed(settings.seed)
    output, run = Path(settings.output), Path(settings.output) / "run"
    run.mkdir(parents=True, exist_ok=True)
    (output / "training.yaml").write_text(
        yaml.safe_dump(dataclasses.asdict(settings), sort_keys=True), encoding="utf-8"
    )
    begun = time.monotonic()
    base = find_base(settings.base)
    adapter = None if settings.encoder_adapter == "none" else settings.encoder_adapter
    encoder = SentenceEncoder(settings.base, adapter=adapter, device=settings.device)
    rows = {name: _outcomes(settings, encoder, name, run) for name in get_args(Split)}
    counted = counts(rows)
    print(json.dumps(counted, indent=1), flush=True)
    scaling = _scaling(rows["train"])
    tables = {name: _table(found, scaling, encoder) for name, found in rows.items()}
    _check(settings, tables["train"])
    plain = candidates(components=settings.components, neighbours=settings.neighbours)
    made: dict[str, Scorer] = {c.kind: c.tuned(tables["train"], settings.folds) for c in plain}
    network = _network(settings, base, tables["train"], run)
    choices: dict[str, Choices] = {c.kind: _judged(c, settings, tables, made[c.kind]) for c in plain}
    choices[LORA] = chosen(np.concatenate([network.held_out, network.trainee.scores(tables["dev"].asked)]))
    known = [*rows["train"], *rows["dev"]]
    options = {"draws": settings.draws, "seed": settings.seed}
    name, over = winner(known, choices, **options)
    kind = next(k for k in KINDS if k == name)
    scorer = network.trainee.head.scorer() if kind == LORA else made[kind]
    judged = {name: figures(known, choice) for name, choice in {**fixed(known), **choices}.items()}
    tested = _tested(rows["test"], tables["test"], made, network.trainee)
    beats = wins(known, choices[kind], **options)
    manifest = _write(output, kind, scorer, scaling, encoder, base, network.trainee)
    metrics = {
        "shipped": kind,
        "beats_every_fixed_choice": all(low > 0 for _, low, _ in beats.values()),
        "saved_over_fixed_choices": beats,
        "lora_saves_over": over,
        "train_out_of_fold_and_dev": judged,
        "test": tested,
        "questions": counted,
        "data": data_hash(settings.corpus),
        "seconds": time.monotonic() - begun,
    }
    (output / "metrics.json").write_text(json.dumps(metrics, indent=1), encoding="utf-8")
    draw(tested, "test split", output / "arms.png")
    write_router_card(output, settings, manifest, metrics)
    print(f"train out of fold and dev, {len(known)} questions\n{table(judged)}\n")
    print(f"test, {len(rows['test'])} questions\n{table(tested)}\n")
    print(verdict(metrics), flush=True)
    return output


def _check(settings: RouterSettings, known: Table) -> None:
    """Refuse what cannot be learned from."""
    if not len(known.decided()):
        raise InputError("no arm wins on any question of the train split, so there is nothing to learn")
    if settings.folds < 2 or len(np.unique(known.groups)) < 2:
        raise InputError("candidates are compared on held-out conversations: give two of them or more, and two folds")


def verdict(metrics: Mapping[str, Any]) -> str:
    """Say which candidate is written, and whether the configuration should use it."""
    use = (
        "it beats always-graph, always-expand and the rule: set router.engine to tuned"
        if metrics["beats_every_fixed_choice"]
        else "it does not surely beat always-graph, always-expand and the rule: leave router.engine at rule"
    )
    return f"written: {metrics['shipped']}; {use}"


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    """The LoRA head tuned on train, and its scores of train's questions out of fold."""

    trainee: router_lora.RouterTrainee
    held_out: Floats


def _network(settings: RouterSettings, base: BaseModel, known: Table, run: Path) -> Network:
    told = [dataclasses.asdict(settings), base.fingerprint, known.gains.tolist(), known.asked.signals.tolist()]
    folder = run / f"lora-{hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]}"
    folder.mkdir(exist_ok=True)
    scores = router_lora.held_out(known, settings, base, folder)
    return Network(router_lora.fit(known, settings, base, folder / "curves"), scores)


def _outcomes(settings: RouterSettings, encoder: Encoder, name: Split, run: Path) -> list[Outcome]:
    found = split(name, Path(settings.corpus))
    return outcomes(found, encoder, run / "memories", top_k=settings.top_k, context_tokens=settings.context_tokens)


def _scaling(rows: Sequence[Outcome]) -> Scaling:
    """Give mean and scale of each signal on train; a signal that never varies keeps its scale."""
    values = np.array([[row.signals[name] for name in NAMES] for row in rows], dtype=np.float64)
    scale = np.where(values.std(axis=0) < 1e-9, 1.0, values.std(axis=0))
    return {name: (float(m), float(s)) for name, m, s in zip(NAMES, values.mean(axis=0), scale, strict=True)}


def _table(rows: Sequence[Outcome], scaling: Scaling, encoder: Encoder) -> Table:
    questions = tuple(row.question for row in rows)
    asked = Asked(scaled([r.signals for r in rows], scaling), encoder.encode(questions).astype(np.float64), questions)
    numbers = {name: n for n, name in enumerate(dict.fromkeys(row.conversation for row in rows))}
    groups = np.array([numbers[row.conversation] for row in rows], dtype=np.int64)
    return Table(asked, np.array([row.gain for row in rows], dtype=np.float64), groups)


def _judged(candidate: Candidate, settings: RouterSettings, tables: Mapping[Split, Table], final: Scorer) -> Choices:
    """Give the choices on train, each by a scorer that was tuned without its conversation, and on dev."""
    known = held_out(tables["train"], settings.folds, lambda part: candidate.tuned(part, settings.folds - 1))
    return chosen(np.concatenate([known, final.scores(tables["dev"].asked)]))


def _tested(
    rows: Sequence[Outcome], known: Table, made: Mapping[str, Scorer], trainee: router_lora.RouterTrainee
) -> dict[str, dict[str, Any]]:
    choices = {name: chosen(scorer.scores(known.asked)) for name, scorer in made.items()}
    choices[LORA] = chosen(trainee.scores(known.asked))
    return {name: figures(rows, choice) for name, choice in {**fixed(rows), **choices}.items()}


def _write(
    output: Path,
    kind: Kind,
    scorer: Scorer,
    scaling: Scaling,
    encoder: Encoder,
    base: BaseModel,
    trainee: router_lora.RouterTrainee,
) -> Manifest:
    """Write the adapter in place of what an earlier run left."""
    for name in (WEIGHTS, HEAD, "adapter_config.json"):
        (output / name).unlink(missing_ok=True)
    if kind == LORA:
        trainee.network.save(output)
    else:
        (output / "adapter_config.json").write_text(json.dumps({"kind": kind}) + "\n", encoding="utf-8")
    write_scorer(output, kind, scorer)
    manifest = Manifest(
        TASK,
        base.name,
        base.fingerprint,
        tokenizer_fingerprint(base.folder),
        weights_version(output),
        manifest_settings(kind, scorer, scaling, encoder.fingerprint),
    )
    manifest.write(output)
    return manifest


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="a file in configs/train/")
    parser.add_argument("--output", help="another folder for the adapter than the one in the file")
    arguments = parser.parse_args()
    settings = load_router_settings(arguments.config)
    if arguments.output:
        settings = dataclasses.replace(settings, output=arguments.output)
    print(f"adapter written to {train(settings)}")


if __name__ == "__main__":
    main()
