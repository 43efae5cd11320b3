"""The gate before a new extractor serves: ``python -m training.operation.gate --candidate DIR --config configs/memory.yaml``.

Compares it with the one that the configuration names, on a frozen set (the corpus's test split, or a file of turns and
their hash, which ``--freeze FILE`` writes). It passes if no guarded figure is worse beyond the interval of a paired
bootstrap over conversations. ``--switch`` then lets the configured link point to it; a running memory takes it up with
``Memory.reload_models()``. Gives 0 where it passed, 3 where not, 1 where something cannot be used. Knows nothing about
training.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np

from seem.config import Config
from seem.errors import ConfigError, InputError, SeemError
from seem.models.adapters import find_adapter, weights_version
from seem.models.decoder import Decoder
from seem.models.slot import slot
from seem.wiring import Parts
from seem.write.extract import TunedExtractor
from training.corpus import CORPUS
from training.evaluate.counts import Counts, Interval, counts, differences, figures, nothing
from training.evaluate.figures import finite
from training.evaluate.replay import Replay
from training.operation.frozen import Frozen, frozen_split, read_frozen, write_frozen

REFUSED = 3
VERDICT = "gate.json"
# Whether more is better.
GUARDED = {
    "slot_f1": True,
    "fact_f1": True,
    "null_f1": True,
    "valid": True,
    "polarity_flips": False,
    "unsupported": False,
}


@dataclass(frozen=True, slots=True)
class Compared:
    """One guarded figure before and after, how much it rises with its interval, and whether it is surely worse."""

    service: float
    candidate: float
    change: Interval
    worse: bool


def compare(frozen: Frozen, service: TunedExtractor, candidate: TunedExtractor) -> dict[str, Compared]:
    """Measure both on the frozen turns; give every guarded figure."""
    before, after = _rows(frozen, service), _rows(frozen, candidate)
    old, new = figures(before.sum(axis=0)), figures(after.sum(axis=0))
    changes = differences(before, after)
    told = {}
    for name, more in GUARDED.items():
        change = changes[name]
        worse = change.high < 0 if more else change.low > 0
        told[name] = Compared(float(old[name]), float(new[name]), change, worse)
    return told


def switch(link: Path, candidate: Path) -> Path:
    """Let the link point to the candidate, in one step; give what it pointed to. Raise InputError where it is no link."""
    if not link.is_symlink():
        raise InputError(
            f"extract.adapter is {link}, which is no symbolic link, so nothing can be switched in one step; make one "
            f"(ln -s FOLDER LINK) and name it in the configuration"
        )
    before = link.resolve()
    draft = link.with_name(f".{link.name}.{os.getpid()}")
    draft.symlink_to(candidate.resolve(), target_is_directory=True)
    os.replace(draft, link)
    return before


def decide(given: argparse.Namespace, frozen: Frozen) -> dict[str, Any]:
    """Compare, switch where it was asked for and the candidate passed; give the verdict in plain values."""
    parts = Parts(Config.load(given.config))
    c = parts.config.extract
    if c.engine != "local":
        raise ConfigError(f"extract.engine is {c.engine}: only a local extractor has an adapter to compare with")
    folder = find_adapter(str(given.candidate))
    made = [_extractor(parts, name, given.extractions_cache) for name in (c.adapter, str(folder))]
    compared = compare(frozen, *made)
    passed = not any(each.worse for each in compared.values())
    verdict = {
        "accepted": passed,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "service": {"adapter": c.adapter, "version": weights_version(find_adapter(c.adapter)), "name": made[0].name},
        "candidate": {"adapter": str(folder), "version": weights_version(folder), "name": made[1].name},
        "frozen": {"source": frozen.source, "turns": len(frozen.turns), "sha256": frozen.sha256},
        "figures": {name: asdict(each) for name, each in compared.items()},
        "switched_from": None,
    }
    if passed and given.switch:
        verdict["switched_from"] = str(switch(Path(c.adapter).expanduser(), folder))
    told: dict[str, Any] = finite(verdict)
    return told


def table(verdict: dict[str, Any]) -> str:
    """Give a verdict as text."""
    rows = [f"{'figure':16}{'service':>9}{'candidate':>11}{'change':>9}  95% interval"]
    for name, told in verdict["figures"].items():
        change = told["change"]
        numbers = [told["service"], told["candidate"], change["value"], change["low"], change["high"]]
        one, other, by, low, high = ("-" if n is None else f"{n:.3f}" for n in numbers)
        rows.append(f"{name:16}{one:>9}{other:>11}{by:>9}  [{low}, {high}]{'  WORSE' if told['worse'] else ''}")
    rows.append("accepted" if verdict["accepted"] else "refused: what is marked is worse beyond its interval")
    if verdict["switched_from"]:
        rows.append(f"switched from {verdict['switched_from']}; running memories: Memory.reload_models()")
    return "\n".join(rows)


def _rows(frozen: Frozen, extractor: TunedExtractor) -> Counts:
    """Give the sums of each conversation, shape (conversations, NAMES)."""
    shown = [item for item, _ in frozen.pairs]
    pieces = extractor.pieces(shown)
    said = extractor.extract(shown)
    sums: defaultdict[str, Counts] = defaultdict(nothing)
    for n, ((passage, _, _), label) in enumerate(frozen.pairs):
        own = counts(label, said[n], [piece for piece in pieces if piece.passage == n])
        sums[passage.memory] = sums[passage.memory] + own
    return np.stack(list(sums.values()))


def _extractor(parts: Parts, adapter: str, outputs: Path | None) -> TunedExtractor:
    c = parts.config.extract
    replay = cast(Decoder, Replay(slot(parts.decoder), outputs))  # it stands in for one
    return TunedExtractor(replay, adapter, max_tokens=c.max_tokens, null_bias=c.null_bias)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.operation.gate", description="Compare a new extractor with the old."
    )
    parser.add_argument("--candidate", type=Path, help="the folder of the new adapter")
    parser.add_argument("--config", type=Path, help="the configuration that names the adapter in service")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="where the frozen turns come from")
    parser.add_argument("--frozen", type=Path, help="a file of frozen turns; none: the test split")
    parser.add_argument("--freeze", type=Path, metavar="FILE", help="write the test split as such a file, and end")
    parser.add_argument("--extractions-cache", type=Path, help="a file that keeps what was decoded")
    parser.add_argument("--json", type=Path, help=f"where the verdict is written; none: {VERDICT} in the candidate")
    parser.add_argument("--switch", action="store_true", help="let the configured link point to it if it passes")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, compare, print and write."""
    given = _parser().parse_args(arguments)
    try:
        frozen = read_frozen(given.frozen, given.corpus) if given.frozen else frozen_split(given.corpus)
        if given.freeze:
            write_frozen(given.freeze, frozen)
            print(f"{len(frozen.turns)} turns frozen in {given.freeze}, sha256 {frozen.sha256}")
            return 0
        if given.candidate is None:
            raise InputError("name the new adapter with --candidate DIR")
        verdict = decide(given, frozen)
        path = given.json or given.candidate / VERDICT
        path.write_text(json.dumps(verdict, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except (SeemError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(table(verdict))
    return 0 if verdict["accepted"] else REFUSED


if __name__ == "__main__":
    sys.exit(main())
