"""How often the time resolver gives exactly the interval of the teacher corpus.

``python -m training.evaluate.times [--only ID,...] [--json]``: exact rate over event and fact times, by kind of
conversation, and the misses. The resolver sees the turn and the two before it, as at run time. Knows
nothing about models.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seem.write.time_others import Earlier
from seem.write.times import resolve

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus" / "conversations"
SECOND = CORPUS.parent / "second"


@dataclass(frozen=True, slots=True)
class Case:
    """One gold time and what the resolver makes of its words."""

    slot: str
    kind: str
    turn: str
    said: str
    text: str
    gold: tuple[str | None, str | None]
    got: tuple[str | None, str | None]
    sentence: str

    @property
    def exact(self) -> bool:
        return self.gold == self.got


def _case(
    slot: str, kind: str, turn: str, said: str, time: dict[str, Any], sentence: str, before: Sequence[Earlier]
) -> Case:
    span = resolve(time["text"], _moment(said), context=sentence, before=before)
    gold = (time["start"], time["end"])
    return Case(slot, kind, turn, said, time["text"], gold, (span.start, span.end), sentence)


def _moment(said: str) -> datetime:
    return datetime.fromisoformat(said).replace(tzinfo=UTC)


def cases(only: frozenset[str] = frozenset(), corpus: Path = CORPUS) -> Iterator[Case]:
    """Every gold time of the conversations named, or of all."""
    for path in sorted(corpus.glob("*.json")):
        if only and path.stem not in only:
            continue
        conversation = json.loads(path.read_text(encoding="utf-8"))
        before: list[Earlier] = []
        for session in conversation["sessions"]:
            for turn in session["turns"]:
                labels = [("event", event) for event in (turn["frame"] or {}).get("events", [])]
                labels += [("fact", fact) for fact in turn["facts"]]
                for slot, label in labels:
                    if label["time"] and session.get("time"):
                        where = f"{path.stem}/{turn['id']}"
                        said, kind = session["time"], conversation["kind"]
                        yield _case(slot, kind, where, said, label["time"], turn["text"], before[-2:])
                before.append((turn["text"], _moment(session["time"]) if session.get("time") else None))


def report(found: list[Case]) -> dict[str, Any]:
    """Exact rates by slot and kind, and the misses."""
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for case in found:
        for key in (case.slot, f"{case.slot}/{case.kind}"):
            total[key] += 1
            right[key] += case.exact
    rates = {key: {"n": total[key], "exact": round(right[key] / total[key], 4)} for key in sorted(total)}
    return {"rates": rates, "misses": [asdict(case) for case in found if not case.exact]}


def agreement(second: Path = SECOND, corpus: Path = CORPUS) -> tuple[int, int]:
    """How many intervals two annotations of the same words of the same turn share, and of how many: the ceiling."""
    first = {(path.stem, *words): span for path in second.glob("*.json") for words, span in _spans(corpus / path.name)}
    told = [(span, first.get((path.stem, *words))) for path in second.glob("*.json") for words, span in _spans(path)]
    return sum(one == other for one, other in told), sum(other is not None for _, other in told)


def _spans(path: Path) -> Iterator[tuple[tuple[str, str], tuple[str | None, str | None]]]:
    conversation = json.loads(path.read_text(encoding="utf-8"))
    for session in conversation["sessions"]:
        for turn in session["turns"]:
            times = (event["time"] for event in (turn["frame"] or {}).get("events", []) if event["time"])
            yield from (((turn["id"], time["text"].casefold()), (time["start"], time["end"])) for time in times)


def main() -> None:
    """Print the rates, and the misses before them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="conversation ids, comma-separated")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = report(list(cases(frozenset(filter(None, options.only.split(","))))))
    if options.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
        return
    for miss in result["misses"]:
        gold, got = "..".join(map(str, miss["gold"])), "..".join(map(str, miss["got"]))
        where = f"{miss['slot']:5} {miss['turn']:20} {miss['said'][:10]}"
        print(f"{where} «{miss['text']}» gold {gold} got {got}")
    same, shared = agreement()
    print(f"{'two annotations':20} n={shared:5} exact={same / max(1, shared):.4f}")
    for key, rate in result["rates"].items():
        print(f"{key:20} n={rate['n']:5} exact={rate['exact']:.4f}")


if __name__ == "__main__":
    main()
