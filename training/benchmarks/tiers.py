"""``python -m training.benchmarks.tiers``: what the cheap tier policy spares, and what it would have lost, on the corpus.

Takes labelled conversations, gives a table: share of turns left raw, and of the labelled events, facts and evidence that
lie in them. No model is asked. Knows nothing about retrieval: raw turns are still found by their words.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from seem.tiers import worthy
from training.corpus import Conversation, Split, split

LEAST = (2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Spared:
    """Counts over turns: all, raw, with events, raw although with events; likewise facts, and evidence of questions."""

    turns: int
    raw: int
    events: int
    events_raw: int
    facts: int
    facts_raw: int
    evidence: int
    evidence_raw: int


def spared(conversations: Sequence[Conversation], least: int) -> Spared:
    """Count what the policy ``worthy`` leaves raw with so many telling words."""
    turns = [turn for conversation in conversations for turn in conversation.turns]
    raw = [turn for turn in turns if not worthy(turn.passage.text, least)]
    evidence = evidence_raw = 0
    for conversation in conversations:
        inside = {t.passage.id for t in conversation.turns if not worthy(t.passage.text, least)}
        cited = [turn_id for question in conversation.questions for turn_id in question.evidence]
        evidence += len(cited)
        evidence_raw += sum(turn_id in inside for turn_id in cited)
    return Spared(
        len(turns),
        len(raw),
        sum(bool(turn.extraction.events) for turn in turns),
        sum(bool(turn.extraction.events) for turn in raw),
        sum(len(turn.extraction.facts) for turn in turns),
        sum(len(turn.extraction.facts) for turn in raw),
        evidence,
        evidence_raw,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m training.benchmarks.tiers", description=__doc__)
    parser.add_argument("--split", choices=get_args(Split), default="dev", help="whose conversations")
    given = parser.parse_args(arguments)
    conversations = split(given.split)
    print("| min_words | turns raw | events lost | facts lost | evidence lost |\n|---|---|---|---|---|")
    for least in LEAST:
        s = spared(conversations, least)
        lost = ((s.raw, s.turns), (s.events_raw, s.events), (s.facts_raw, s.facts), (s.evidence_raw, s.evidence))
        print(f"| {least} | " + " | ".join(f"{part / max(1, of):.1%} ({part} of {of})" for part, of in lost) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
