"""Training examples of the query parser: a question, and the patterns of the facts that would answer it.

Takes conversations of one split and a tokenizer. A pattern's ends become words of the question, as the grammar will have it; an end that the
question does not hold is open. Knows nothing about optimisation.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from seem.prompts import lines
from seem.prompts.parse import OPEN, parse_prompt, usable
from seem.prompts.window import Window, show
from seem.types import Extraction, Fact, Passage
from training.corpus import Conversation
from training.examples.augment import Labelled, renamed
from training.examples.extract import Built, Example, example
from training.examples.projection import KEEP, best_span


def parse_examples(
    conversations: Sequence[Conversation], tokenizer: Any, *, max_length: int, rename: float = 0.0, seed: int = 0
) -> Built:
    """Give one example a question. ``rename`` is the share of those with other names."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    examples: list[Example] = []
    for conversation in conversations:
        for q in conversation.questions:
            counts["questions"] += 1
            label = Extraction(q.id, facts=tuple(Fact(*f) for f in q.facts))
            asked = Labelled(Passage(q.id, conversation.id, q.question), (), conversation.speakers, label)
            asked = renamed(asked, rng) if rng.random() < rename else asked
            target, lost = projected(asked.passage.text, asked.label.facts)
            counts.update(lost)
            made = example(tokenizer, parse_prompt(asked.passage.text), lines.write((), target))
            if not target:
                counts["questions whose every pattern was lost"] += 1
            elif len(made.input_ids) > max_length:
                counts["too long, left out"] += 1
            else:
                examples.append(made)
    return Built(tuple(examples), counts)


def projected(question: str, patterns: Iterable[Fact]) -> tuple[list[Fact], Counter[str]]:
    """Give the patterns that a perfect parser could write, and a count of the ends that became open."""
    counts: Counter[str] = Counter()
    nothing = show("")
    window = Window("", (), show(question), nothing, "", nothing)
    found = []
    for pattern in patterns:
        ends = [_end(window, end, counts) for end in (pattern.subject, pattern.object)]
        relation = " ".join(re.sub(r"[|;\n]", " ", pattern.relation).split())
        if ends[0] != ends[1] and relation:
            found.append(Fact(ends[0], relation, ends[1]))
    return usable(found), counts


def _end(window: Window, end: str, counts: Counter[str]) -> str:
    if end == OPEN:
        return OPEN
    span, score = best_span(end, window)
    span = span.rstrip(" ?")
    counts["known end"] += 1
    counts["known end not in the question"] += score < KEEP or not span
    return span if score >= KEEP and span else OPEN
