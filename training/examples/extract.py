"""Labelled conversations to training examples of the decoder's tasks: token ids, and labels on the completion only.

Takes conversations of one split and a tokenizer; gives rows that TRL's SFTTrainer takes as they are. Prompts come from ``seem.prompts``,
the same code that serves. Knows nothing about models or optimisation.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from seem.prompts import lines
from seem.prompts.encode import encode_completion, encode_prompt
from seem.prompts.window import windows
from training.corpus import Conversation
from training.examples.augment import Labelled, renamed
from training.examples.projection import project

IGNORED = -100


@dataclass(frozen=True, slots=True)
class Example:
    """One prompt with its completion, as token ids; ``prompt_length`` tells where the completion begins."""

    input_ids: tuple[int, ...]
    prompt_length: int

    def row(self) -> dict[str, list[int]]:
        """Give the trainer's row; the last label is the end token, never masked."""
        labels = [IGNORED] * self.prompt_length + list(self.input_ids[self.prompt_length :])
        return {"input_ids": list(self.input_ids), "labels": labels}


@dataclass(frozen=True, slots=True)
class Built:
    """The examples of one epoch, and what was lost on the way, by reason."""

    examples: tuple[Example, ...]
    counts: Counter[str]


def labelled(conversations: Iterable[Conversation]) -> list[Labelled]:
    """Give every turn with its context, its people and its label."""
    return [Labelled(t.passage, t.context, c.speakers, t.extraction) for c in conversations for t in c.turns]


def extract_examples(
    conversations: Sequence[Conversation], tokenizer: Any, *, max_length: int, rename: float = 0.0, seed: int = 0
) -> Built:
    """Give one example a window: labels projected onto spans, written as lines. ``rename`` is the share of turns with other names."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    examples = []
    for turn in labelled(conversations):
        shown = renamed(turn, rng) if rng.random() < rename else turn
        pieces = windows(shown.passage, shown.context, shown.names)
        rest = shown.label
        for window in pieces:
            target, lost = project(window, rest)
            counts.update(lost)
            if len(pieces) > 1:
                counts["pieces of long turns"] += 1
            made = example(tokenizer, window.prompt(), lines.write(target.events, target.facts))
            if rest.events and not target.events and len(pieces) == 1:
                counts["turns whose every event was lost"] += 1
            elif len(made.input_ids) > max_length:
                counts["too long, left out"] += 1
            else:
                examples.append(made)
    return Built(tuple(examples), counts)


def example(tokenizer: Any, prompt: str, completion: str) -> Example:
    """Give one example from prompt and completion."""
    head = encode_prompt(tokenizer, prompt)
    return Example((*head, *encode_completion(tokenizer, completion)), len(head))
