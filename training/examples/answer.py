"""Training examples of the reader: the corpus's questions with the context that the product itself retrieves, and the short gold answer.

Takes conversations of one split; each becomes a memory of the teacher's extractions, searched as at run time, so that the reader learns on the context that it will
be given: with evidence that retrieval missed, the right answer is «Not mentioned». Knows nothing about optimisation.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from seem.config import Config
from seem.models.protocols import ExtractItem
from seem.pipeline import Options, Pipeline
from seem.prompts.answer import NOT_MENTIONED, tuned_prompt
from seem.store.batch import Draft
from seem.types import Extraction
from seem.wiring import Parts
from seem.write.summary import compose
from training.corpus import Conversation
from training.examples.extract import Built, Example, example

TOP_K = 5
NO_ANSWER = {"single-hop": 1, "multi-hop": 2, "temporal": 1, "open-domain": 1, "update": 1}


class LabelExtractor:
    """Gives the teacher's labels of a conversation as its extractions, by turn id."""

    name = "teacher"

    def __init__(self, conversation: Conversation) -> None:
        """Take the labels."""
        self._labels = {t.passage.id: t.extraction for t in conversation.turns}

    def extract(self, items: Sequence[ExtractItem], *, progress: Any = None) -> list[Extraction]:
        """Look the passages up."""
        out = []
        for passage, _, _ in items:
            label = self._labels[str(passage.metadata["turn"])]
            out.append(
                Extraction(passage.id, label.events, label.facts, compose(label.events, passage.speaker), self.name)
            )
        return out


def drafts(conversation: Conversation) -> Iterator[Draft]:
    """Give a conversation's turns as drafts; ``turn`` in the metadata is the turn's id."""
    for turn in conversation.turns:
        p = turn.passage
        yield Draft(p.text, p.id, p.speaker, p.session, p.time, p.image, metadata={"turn": p.id})


def answer_examples(
    conversations: Sequence[Conversation], tokenizer: Any, *, max_length: int, rename: float = 0.0, seed: int = 0
) -> Built:
    """Give one example a question. ``rename`` does not apply: names must agree with the context."""
    counts: Counter[str] = Counter()
    examples: list[Example] = []
    rng = random.Random(seed)
    for conversation in conversations:
        for question, context, answer in _retrieved(conversation, rng.randrange(3) + TOP_K - 1):
            made = example(tokenizer, tuned_prompt(question, context), answer)
            counts["questions"] += 1
            counts["not mentioned"] += answer == NOT_MENTIONED
            if len(made.input_ids) <= max_length:
                examples.append(made)
            else:
                counts["too long, left out"] += 1
    return Built(tuple(examples), counts)


def _retrieved(conversation: Conversation, top_k: int) -> list[tuple[str, str, str]]:
    out = []
    with tempfile.TemporaryDirectory() as folder:
        config = Config.from_dict({"data_dir": folder, "judge": {"adapter": "none"}})
        pipeline = Pipeline(Parts(config, encoder=_encoder(), extractor=LabelExtractor(conversation)))
        pipeline.remember(conversation.id, list(drafts(conversation)))
        for q in conversation.questions:
            found = pipeline.recall(conversation.id, q.question, Options(top_k=top_k, context_tokens=400))
            seen = {str(h.passage.metadata["turn"]) for h in found.hits}
            supported = bool(q.evidence) and len(seen & set(q.evidence)) >= min(
                NO_ANSWER.get(q.type, 1), len(q.evidence)
            )
            out.append((q.question, found.text, q.answer if supported and q.type != "adversarial" else NOT_MENTIONED))
        pipeline.parts.store.close()
    return out


@lru_cache(maxsize=1)
def _encoder() -> Any:
    return Parts(Config()).encoder
