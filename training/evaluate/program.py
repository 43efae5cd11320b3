"""The shipped students on labelled conversations: ``python -m training.evaluate --corpus DIR --json OUT``.

Takes any folder of conversations in the corpus's form; runs the extractor as the memory does, and the judge on the
pairs that retrieval proposes. Prints figures beside target, untuned base and ceiling; writes JSON and, with ``--report``,
Markdown and plots; what cannot be measured is null, with a reason. ``--tune`` chooses the extractor's null bias on the
dev split, ``--cascade`` shows what each confidence threshold would send to a teacher. Knows nothing about training.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast, get_args

import torch

from seem.config import Config
from seem.errors import ConfigError, InputError, ModelError, SeemError
from seem.models.protocols import Judge
from seem.types import Extraction
from seem.wiring import Parts
from training.corpus import CORPUS, Conversation, Split, load, split
from training.corpus.folder import SPLIT_FILE
from training.evaluate import null_bias
from training.evaluate.confidence import cascade, cascade_table, plain, reliability
from training.evaluate.extract import Progress, Recipe, baseline, items, labelled, measure, turns_of
from training.evaluate.figures import ceiling, finite, table, time_figures, unsupported_in_labels
from training.evaluate.judge import Remembering, judge_reliability
from training.evaluate.prices import PRICES, Prices, load_prices, student_cost, teacher_told
from training.evaluate.replay import Replay
from training.evaluate.report import read_scaling, router_figures, write_report
from training.evaluate.table import comparison
from training.judge.evaluate import judge_report

OF_EXTRACTOR = ("valid", "null_f1", "slot_f1", "fact_f1", "polarity_flips", "unsupported")
OF_JUDGE = ("judge_precision", "judge_recall")
TUNE, CASCADE = "tune", "cascade"


def evaluate(
    conversations: Sequence[Conversation],
    parts: Parts,
    outputs: Path | None = None,
    *,
    prices: Prices | None = None,
    beside: int = 0,
    judged: bool = True,
) -> dict[str, Any]:
    """Measure extractor, time resolver and judge; ``outputs`` keeps what was decoded, for the next run.

    ``beside``: on how many turns the untuned base is measured too, which is slow. Without ``judged`` the judge is left out.
    """
    turns = turns_of(conversations)
    reasons: dict[str, str] = {}
    figures: dict[str, Any] = {"conversations": len(conversations), "turns": len(turns), **time_figures(turns)}
    figures |= {"ceiling": _ceiling(), "unsupported_in_labels": unsupported_in_labels(turns)}
    said: list[Extraction] | None = None
    try:
        told, said = _extracted(conversations, parts, outputs, beside)
        figures |= told
    except ModelError as error:
        figures |= dict.fromkeys(OF_EXTRACTOR)
        reasons |= dict.fromkeys(OF_EXTRACTOR, str(error))
    figures |= _costs(conversations, figures, said, prices or Prices())
    try:
        figures |= _judged(conversations, parts, said) if judged else {}
        if said is None:
            figures |= dict.fromkeys(OF_JUDGE)
            reasons |= dict.fromkeys(OF_JUDGE, "no extractor; see judge_precision_on_labels and judge_recall_on_labels")
    except ModelError as error:
        figures |= dict.fromkeys(OF_JUDGE)
        reasons |= dict.fromkeys(OF_JUDGE, str(error))
    figures |= {"router": router_figures(), "reasons": reasons, "settings": _settings(parts)}
    result: dict[str, Any] = finite(figures)
    return result


def tune(conversations: Sequence[Conversation], parts: Parts, outputs: Path | None = None) -> list[null_bias.Trial]:
    """Sweep the null bias on conversations and write the best into the extractor's manifest; give the trials."""
    replay = Replay(parts.decoder, outputs)
    settings = parts.config.extract
    gold = [turn.extraction for turn in turns_of(conversations)]
    trials = null_bias.sweep(items(conversations), gold, replay, settings.adapter, max_tokens=settings.max_tokens)
    null_bias.write(settings.adapter, null_bias.best(trials).null_bias)
    return trials


def chosen(folder: Path, name: str | None, limit: int | None) -> list[Conversation]:
    """Read a split; by default test where the folder has a split file, else all; of it the first ``limit``."""
    has_split = (folder / SPLIT_FILE).exists()
    wanted = name or ("test" if has_split else "all")
    if wanted != "all" and not has_split:
        raise InputError(f"{folder} has no {SPLIT_FILE}, so it has no split {wanted!r}; leave --split out for all")
    found = load(folder) if wanted == "all" else split(cast(Split, wanted), folder)
    if not found:
        raise InputError(f"the split {wanted!r} of {folder} holds no conversation; name another with --split")
    return found[:limit] if limit else found


def _extracted(
    conversations: Sequence[Conversation], parts: Parts, outputs: Path | None, beside: int
) -> tuple[dict[str, Any], list[Extraction]]:
    """Run the extractor on every turn, once, and the untuned base on a few."""
    c = parts.config.extract
    if c.engine != "local":
        raise ModelError(f"extract.engine is {c.engine} in the configuration: only local gives raw outputs to measure")
    pairs, recipe = labelled(conversations), Recipe(c.adapter, c.max_tokens, c.null_bias)
    told, said = measure(pairs, parts.decoder, recipe, outputs, progress=Progress(len(pairs)))
    gold = [label for _, label in pairs]
    told |= {"confidence": reliability(gold, said)}
    if beside:
        told |= {"baseline": baseline(pairs, parts.decoder, recipe, beside, outputs)}
    return told, said


def _costs(
    conversations: Sequence[Conversation], figures: Mapping[str, Any], said: Sequence[Extraction] | None, prices: Prices
) -> dict[str, Any]:
    """Give what 1,000 passages cost either way, and what each threshold of a cascade would cost and gain."""
    teacher = teacher_told(conversations, prices)
    student = student_cost(figures.get("passages_per_second"), prices)
    gold = [turn.extraction for turn in turns_of(conversations)]
    steps = cascade(
        gold, said or (), figures["ceiling"], student_cost=student, teacher_cost=teacher["cost_per_1000"]
    )  # fmt: skip
    told = {"currency": prices.currency, "machine": asdict(prices.machine), "teacher": teacher}
    return {**told, "cost_per_1000": student, "cascade": plain(steps)}


def _judged(conversations: Sequence[Conversation], parts: Parts, said: Sequence[Extraction] | None) -> dict[str, Any]:
    """Measure the judge on the student's extractions, where there are any, and on the labels."""
    judge: Judge | None = parts.judge
    if judge is None:
        raise ModelError("the configuration asks for no judge (judge.candidates is 0 or judge.adapter none)")
    labels = _by_turn(conversations, [turn.extraction for turn in turns_of(conversations)])
    on_labels = judge_report(conversations, labels, judge, parts.encoder)
    told: dict[str, Any] = {f"{key}_on_labels": value for key, value in on_labels.items()} | {"judge": judge.name}
    if said is not None:
        own, remembering = _by_turn(conversations, said), Remembering(judge)
        told |= judge_report(conversations, own, remembering, parts.encoder)
        told["judge_reliability"] = judge_reliability(conversations, own, remembering, parts.encoder)
    return told


def _by_turn(
    conversations: Sequence[Conversation], extractions: Sequence[Extraction]
) -> Mapping[str, Mapping[str, Extraction]]:
    given = iter(extractions)
    return {c.id: {turn.passage.id: next(given) for turn in c.turns} for c in conversations}


def _ceiling() -> dict[str, float]:
    """Give the agreement of two teachers, where our corpus holds a second annotation."""
    second = CORPUS / "second"
    return ceiling(load(CORPUS), load(second)) if second.is_dir() else {}


def _settings(parts: Parts) -> dict[str, Any]:
    return {
        "config": parts.config.to_dict(),
        "threads": torch.get_num_threads(),
        "processors": os.cpu_count(),
        "load_average": list(os.getloadavg()),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.evaluate", description="Measure the shipped students.")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a folder of labelled conversations")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    parser.add_argument("--split", choices=(*get_args(Split), "all"), help="test where the folder is split, else all")
    parser.add_argument("--config", type=Path, help="a configuration of seem; none: the defaults")
    parser.add_argument("--limit", type=int, help="the first N conversations only")
    parser.add_argument("--extractions-cache", type=Path, help="a file that keeps what was decoded")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write report.md and plots into this folder")
    parser.add_argument("--scaling", nargs="+", default=(), metavar="SHARE=JSON", help="runs with less training data")
    parser.add_argument(
        "--baseline", type=int, default=0, metavar="N", help="measure the untuned base on N turns (slow)"
    )
    parser.add_argument("--prices", type=Path, default=PRICES, help="what a machine and a teacher cost")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--tune", dest="mode", action="store_const", const=TUNE, help="choose the null bias on dev")
    modes.add_argument(
        "--cascade", dest="mode", action="store_const", const=CASCADE, help="show each threshold's share"
    )
    return parser


def _tuned(conversations: Sequence[Conversation], parts: Parts, outputs: Path | None) -> tuple[dict[str, Any], str]:
    trials = tune(conversations, parts, outputs)
    best = null_bias.best(trials)
    told = "\n".join(f"{t.null_bias:+5.1f}  null {t.null_f1:.3f}  slots {t.slot_f1:.3f}" for t in trials)
    told += f"\nbest: {best.null_bias:+.1f}, written into the adapter {parts.config.extract.adapter!r}"
    return {"trials": [asdict(t) for t in trials], "best": asdict(best)}, told


def _measured(given: argparse.Namespace, conversations: Sequence[Conversation], parts: Parts) -> tuple[Any, str]:
    prices, scaling, outputs = load_prices(given.prices), read_scaling(given.scaling), given.extractions_cache
    whole = given.mode != CASCADE
    result = evaluate(conversations, parts, outputs, prices=prices, beside=given.baseline, judged=whole)
    told = f"{table(result)}\n\n{comparison(result)}" if whole else cascade_table(result["cascade"], prices.currency)
    if given.report:
        told += f"\nreport: {write_report(given.report, result, scaling, command=' '.join(sys.argv[1:]))}"
    return result, told


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure or tune, print and write."""
    given = _parser().parse_args(arguments)
    try:
        if given.limit is not None and given.limit < 1:
            raise ConfigError(f"--limit must be at least 1, not {given.limit}")
        name = given.split or ("dev" if given.mode else None)
        conversations = chosen(given.corpus, name, given.limit)
        parts = Parts(Config.load(given.config))
        if given.mode == TUNE:
            result, told = _tuned(conversations, parts, given.extractions_cache)
        else:
            result, told = _measured(given, conversations, parts)
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    if given.json:
        given.json.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
