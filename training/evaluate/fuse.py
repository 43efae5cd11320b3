"""A fuser against composing by code: ``python -m training.evaluate.fuse --adapter runs/fuse``.

Takes a split's occurrences, told by their labels and by what a copying student would have extracted; compares both ways of telling with the gold
summaries. Prints figures, and whether the fuser wins: only then may ``fuse.engine`` name it. Knows nothing about training.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from seem.config import Config
from seem.errors import ConfigError, InputError, SeemError
from seem.models.protocols import Fuser, JudgeInput
from seem.wiring import Parts
from seem.write.fuse import notes
from seem.write.retell import Composer
from training.benchmarks.averages import bootstrap
from training.corpus import CORPUS, Conversation, Split, split
from training.evaluate.metrics import token_f1, tokens
from training.examples.fuse import members, occurrence_turns, unshown

VIEWS = ("labels", "twins")
# What counts: frames are made of the student's extractions.
DECIDES = "twins"
LEVEL = 0.9
Told = tuple[Sequence[JudgeInput], str]


def compare(conversations: Sequence[Conversation], fuser: Fuser) -> dict[str, Any]:
    """Measure the fuser and composing by code on both views of every occurrence; intervals are over conversations."""
    views = {view: [_groups(c, twins=view == "twins") for c in conversations] for view in VIEWS}
    begun = time.monotonic()
    figures: dict[str, Any] = {"fuser": fuser.name, **{view: _view(cases, fuser) for view, cases in views.items()}}
    figures["seconds"] = time.monotonic() - begun
    # Only a model counts these.
    figures |= {key: getattr(fuser, key) for key in ("refused", "forced", "tokens") if hasattr(fuser, key)}
    told = figures[DECIDES]
    figures["wins"] = (
        told["token_f1_gain_interval"][0] > 0
        and told["fuser"]["rouge_l"] > told["composed"]["rouge_l"]
        and told["fuser"]["unsupported"] <= told["composed"]["unsupported"]
    )
    return figures


def rouge_l(said: str, wanted: str) -> float:
    """Give the F1 of the longest common subsequence of tokens; 1 where neither text holds any. Source: Lin, ACL 2004."""
    one, other = tokens(said), tokens(wanted)
    if not one and not other:
        return 1.0
    row = [0] * (len(other) + 1)
    for word in one:
        before = row
        row = [0]
        for n, token in enumerate(other):
            row.append(before[n] + 1 if word == token else max(row[n], before[n + 1]))
    return 2 * row[-1] / (len(one) + len(other))


def _groups(conversation: Conversation, *, twins: bool) -> list[Told]:
    """Give the occurrences of which two passages at least tell something, with their gold summaries."""
    told = [(members(occurrence_turns(conversation, o), twins=twins), o.summary) for o in conversation.occurrences]
    return [(group, summary) for group, summary in told if len(group) > 1]


def _view(cases: Sequence[Sequence[Told]], fuser: Fuser) -> dict[str, Any]:
    groups = [group for case in cases for group, _ in case]
    gold = [summary for case in cases for _, summary in case]
    if not groups:
        raise InputError("no occurrence of these conversations has two passages that tell something")
    said = {"fuser": fuser.fuse(groups), "composed": Composer().fuse(groups)}
    f1 = {name: [token_f1(s, g) for s, g in zip(texts, gold, strict=True)] for name, texts in said.items()}
    gains = iter([a - b for a, b in zip(f1["fuser"], f1["composed"], strict=True)])
    by_case = [[next(gains) for _ in case] for case in cases]
    return {
        "occurrences": len(groups),
        **{name: _figures(texts, groups, gold) for name, texts in said.items()},
        "token_f1_gain_interval": list(bootstrap(by_case, level=LEVEL)),
    }


def _figures(texts: Sequence[str], groups: Sequence[Sequence[JudgeInput]], gold: Sequence[str]) -> dict[str, float]:
    unsupported = [bool(unshown(text, _shown(group))) for text, group in zip(texts, groups, strict=True)]
    return {
        "token_f1": _mean([token_f1(s, g) for s, g in zip(texts, gold, strict=True)]),
        "rouge_l": _mean([rouge_l(s, g) for s, g in zip(texts, gold, strict=True)]),
        "unsupported": _mean(unsupported),
        "words": _mean([len(text.split()) for text in texts]),
    }


def _shown(group: Sequence[JudgeInput]) -> list[str]:
    return [*notes(group), *(f"{p.speaker} {p.text} {p.image}" for p, _ in group)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def table(figures: dict[str, Any]) -> str:
    """Tell the figures, and what follows from them."""
    rows = [f"fuser: {figures['fuser']}", f"{'':28}{'fuser':>9}{'composed':>10}"]
    for view in VIEWS:
        told = figures[view]
        rows += [
            f"{f'{view}: {name}':28}{told['fuser'][name]:9.3f}{told['composed'][name]:10.3f}" for name in told["fuser"]
        ]
        low, high = told["token_f1_gain_interval"]
        rows.append(
            f"{f'{view}: gain in token_f1':28}{low:+.3f} to {high:+.3f} (of {told['occurrences']}, {LEVEL:.0%})"
        )
    rows += [f"{name:28}{figures[name]:9}" for name in ("refused", "forced", "tokens") if name in figures]
    rows.append(
        "the fuser wins: fuse.engine may name it" if figures["wins"] else "the fuser does not win: fuse.engine: compose"
    )
    return "\n".join(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluate.fuse", description="A fuser against composing by code."
    )
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a folder of labelled conversations with a split")
    parser.add_argument("--split", choices=get_args(Split), default="dev")
    parser.add_argument("--adapter", help="the tuned fuser: a name in seem/adapters, or a folder")
    parser.add_argument("--config", type=Path, help="a configuration of seem whose fuser is measured")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print and write."""
    given = _parser().parse_args(arguments)
    try:
        config = Config.load(given.config)
        if given.adapter:
            config = replace(config, fuse=replace(config.fuse, engine="tuned", adapter=given.adapter))
        if config.fuse.engine == "compose":
            raise ConfigError(
                "there is no fuser to compare: give --adapter, or a --config whose fuse.engine is not compose"
            )
        figures = compare(split(cast(Split, given.split), given.corpus), Parts(config).fuser.fuser)
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
