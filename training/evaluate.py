"""The shipped students on labelled conversations: ``python -m training.evaluate --corpus DIR --json OUT``.

Takes any folder of conversations in the corpus's form; runs the extractor as the memory does, and the judge on the
pairs that retrieval proposes. Prints figures beside target and ceiling, writes them as JSON; what cannot be measured is
null, with a reason. ``--tune`` chooses the extractor's null bias on the dev split. Knows nothing about training.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast, get_args

import torch

from seem.config import Config
from seem.errors import ConfigError, InputError, ModelError, SeemError
from seem.models.decoder import Decoder
from seem.models.protocols import ExtractItem, Judge
from seem.types import Extraction
from seem.wiring import Parts
from seem.write.extract import TunedExtractor
from training import null_bias
from training.corpus import CORPUS, Conversation, Split, Turn, load, split
from training.corpus.folder import SPLIT_FILE
from training.evaluate_figures import ceiling, extraction_figures, finite, output_figures, table, time_figures
from training.judge_eval import judge_report
from training.replay import Replay

OF_EXTRACTOR = ("valid", "null_f1", "slot_f1", "fact_f1", "polarity_flips", "unsupported")
OF_JUDGE = ("judge_precision", "judge_recall")


def evaluate(conversations: Sequence[Conversation], parts: Parts, outputs: Path | None = None) -> dict[str, Any]:
    """Measure extractor, time resolver and judge; ``outputs`` keeps what was decoded, for the next run."""
    turns = _turns(conversations)
    reasons: dict[str, str] = {}
    figures: dict[str, Any] = {"conversations": len(conversations), "turns": len(turns), **time_figures(turns)}
    said: list[Extraction] | None = None
    try:
        told, said = _extracted(conversations, parts, outputs)
        figures |= told
    except ModelError as error:
        figures |= dict.fromkeys(OF_EXTRACTOR)
        reasons |= dict.fromkeys(OF_EXTRACTOR, str(error))
    try:
        figures |= _judged(conversations, parts, said)
        if said is None:
            figures |= dict.fromkeys(OF_JUDGE)
            reasons |= dict.fromkeys(OF_JUDGE, "no extractor; see judge_precision_on_labels and judge_recall_on_labels")
    except ModelError as error:
        figures |= dict.fromkeys(OF_JUDGE)
        reasons |= dict.fromkeys(OF_JUDGE, str(error))
    figures |= {"ceiling": _ceiling(), "reasons": reasons, "settings": _settings(parts)}
    result: dict[str, Any] = finite(figures)
    return result


def items(conversations: Sequence[Conversation]) -> list[ExtractItem]:
    """Give every turn as the extractor takes it: the passage, the turns before it, the people in play."""
    return [(turn.passage, turn.context, c.speakers) for c in conversations for turn in c.turns]


def tune(conversations: Sequence[Conversation], parts: Parts, outputs: Path | None = None) -> list[null_bias.Trial]:
    """Sweep the null bias on conversations and write the best into the extractor's manifest; give the trials."""
    replay = Replay(parts.decoder, outputs)
    settings = parts.config.extract
    gold = [turn.extraction for turn in _turns(conversations)]
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
    conversations: Sequence[Conversation], parts: Parts, outputs: Path | None
) -> tuple[dict[str, Any], list[Extraction]]:
    """Run the extractor on every turn, once, and measure what it said."""
    if parts.config.extract.engine == "none":
        raise ModelError("extract.engine is none in the configuration")
    replay = Replay(parts.decoder, outputs)
    parts.decoder = cast(Decoder, replay)  # it stands in for one
    extractor = parts.extractor
    if not isinstance(extractor, TunedExtractor):
        raise ModelError(f"the extractor {extractor.name if extractor else 'none'} gives no raw outputs to measure")
    shown = items(conversations)
    pieces = extractor.pieces(shown, progress=_Progress(len(shown)))
    # From the outputs that are now known, as the memory joins them.
    said = extractor.extract(shown)
    gold = [turn.extraction for turn in _turns(conversations)]
    windows_per_second = replay.fresh / replay.seconds if replay.fresh else None
    return {
        **output_figures(pieces, len(shown)),
        **extraction_figures(gold, said),
        "extractor": extractor.name,
        "decoded": replay.fresh,
        "decoding_seconds": replay.seconds,
        "passages_per_second": windows_per_second and windows_per_second * len(shown) / len(pieces),
    }, said


def _judged(conversations: Sequence[Conversation], parts: Parts, said: Sequence[Extraction] | None) -> dict[str, Any]:
    """Measure the judge on the student's extractions, where there are any, and on the labels."""
    judge: Judge | None = parts.judge
    if judge is None:
        raise ModelError("the configuration asks for no judge (judge.candidates is 0 or judge.adapter none)")
    labels = [turn.extraction for turn in _turns(conversations)]
    on_labels = judge_report(conversations, _by_turn(conversations, labels), judge, parts.encoder)
    told: dict[str, Any] = {f"{key}_on_labels": value for key, value in on_labels.items()} | {"judge": judge.name}
    if said is not None:
        told |= judge_report(conversations, _by_turn(conversations, said), judge, parts.encoder)
    return told


def _by_turn(
    conversations: Sequence[Conversation], extractions: Sequence[Extraction]
) -> Mapping[str, Mapping[str, Extraction]]:
    given = iter(extractions)
    return {c.id: {turn.passage.id: next(given) for turn in c.turns} for c in conversations}


def _turns(conversations: Sequence[Conversation]) -> list[Turn]:
    return [turn for c in conversations for turn in c.turns]


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


class _Progress:
    """Tells on stderr how far the extraction is, and how long it will take."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._begun = time.monotonic()

    def __call__(self, done: int) -> None:
        seconds = time.monotonic() - self._begun
        left = seconds / max(1, done) * (self._total - done)
        print(f"{done}/{self._total} turns, {seconds:.0f} s, {left:.0f} s left", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.evaluate", description="Measure the shipped students.")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a folder of labelled conversations")
    parser.add_argument("--json", type=Path, required=True, help="where the figures are written")
    parser.add_argument("--split", choices=(*get_args(Split), "all"), help="test where the folder is split, else all")
    parser.add_argument("--config", type=Path, help="a configuration of seem; none: the defaults")
    parser.add_argument("--limit", type=int, help="the first N conversations only")
    parser.add_argument("--extractions-cache", type=Path, help="a file that keeps what was decoded")
    parser.add_argument("--tune", action="store_true", help="choose the null bias on dev and write it into the adapter")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure or tune, print and write."""
    given = _parser().parse_args(arguments)
    try:
        if given.limit is not None and given.limit < 1:
            raise ConfigError(f"--limit must be at least 1, not {given.limit}")
        name = given.split or ("dev" if given.tune else None)
        conversations = chosen(given.corpus, name, given.limit)
        parts = Parts(Config.load(given.config))
        if given.tune:
            trials = tune(conversations, parts, given.extractions_cache)
            best = null_bias.best(trials)
            result = {"trials": [asdict(t) for t in trials], "best": asdict(best)}
            told = "\n".join(f"{t.null_bias:+5.1f}  null {t.null_f1:.3f}  slots {t.slot_f1:.3f}" for t in trials)
            told += f"\nbest: {best.null_bias:+.1f}, written into the adapter {parts.config.extract.adapter!r}"
        else:
            result = evaluate(conversations, parts, given.extractions_cache)
            told = table(result)
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    given.json.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
