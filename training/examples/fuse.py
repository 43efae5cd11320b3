"""Training examples of the fuser: what the passages of an occurrence told, one line each, and the summary that fuses them.

Takes conversations of one split and a tokenizer; half of the samples show what a copying student would have extracted. A summary of which too few
words stand in its notes would teach inventing and is left out. Knows nothing about optimisation.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from seem.models.protocols import JudgeInput
from seem.prompts.fuse import GLUE, fuse_prompt
from seem.types import Extraction, Passage
from seem.write.fuse import notes
from training.corpus import Conversation, Occurrence
from training.evaluate.metrics import content_tokens
from training.examples.augment import Labelled, renamed
from training.examples.extract import Built, Example, example
from training.judge.pairs import student_like

TWINS = 0.5
LEAST_SHOWN = 0.6


def fuse_examples(
    conversations: Sequence[Conversation], tokenizer: Any, *, max_length: int, rename: float = 0.0, seed: int = 0
) -> Built:
    """Give one example an occurrence. ``rename`` is the share of those with other names."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    examples: list[Example] = []
    for conversation in conversations:
        for occurrence in conversation.occurrences:
            counts["occurrences"] += 1
            turns, summary = _disguised(conversation, occurrence, rng, rename)
            twins = members(turns, twins=True) if rng.random() < TWINS else []
            told = notes(twins if len(twins) > 1 else members(turns))
            if len(twins) > 1 and shown_share(summary, told) < LEAST_SHOWN:
                told = notes(members(turns))
            if len(told) < 2 or shown_share(summary, told) < LEAST_SHOWN:
                counts["too few words shown, left out"] += 1
                continue
            made = example(tokenizer, fuse_prompt(told), summary)
            if len(made.input_ids) > max_length:
                counts["too long, left out"] += 1
            else:
                examples.append(made)
    return Built(tuple(examples), counts)


def occurrence_turns(conversation: Conversation, occurrence: Occurrence) -> list[Labelled]:
    """Give the turns of an occurrence that have events, in the order in which they were said."""
    inside = set(occurrence.turns)
    return [
        Labelled(t.passage, t.context, conversation.speakers, t.extraction)
        for t in conversation.turns
        if t.passage.id in inside and t.extraction.events
    ]


def members(turns: Sequence[Labelled], *, twins: bool = False) -> list[JudgeInput]:
    """Give the turns with their labels, or with what a copying student makes of them; without those it finds empty."""
    found = [(t.passage, student_like(t) if twins else t.label) for t in turns]
    return [(passage, extraction) for passage, extraction in found if extraction is not None]


def shown_share(summary: str, told: Sequence[str]) -> float:
    """Give the share of the summary's content words that stand in the notes."""
    words = content_tokens(summary)
    return 1 - len(unshown(summary, told)) / len(words) if words else 0.0


def unshown(summary: str, told: Sequence[str]) -> set[str]:
    """Give the content words of a summary that stand in none of the texts."""
    return set(content_tokens(summary)) - content_tokens(" ".join([*told, *GLUE]))


def _disguised(
    conversation: Conversation, occurrence: Occurrence, rng: random.Random, rename: float
) -> tuple[list[Labelled], str]:
    turns = occurrence_turns(conversation, occurrence)
    draw = rng.randrange(2**32)
    if rng.random() >= rename:
        return turns, occurrence.summary
    # The same draw gives every text of the occurrence the same names.
    told = Labelled(Passage("", "", occurrence.summary), (), conversation.speakers, Extraction(""))
    return (
        [renamed(t, random.Random(draw)) for t in turns],
        renamed(told, random.Random(draw)).passage.text,
    )
