"""Question and context to answer by the small tuned model: the last stage of the read path.

Greedy decoding with the ``answer`` adapter on the same base that extracts. Knows nothing about retrieval.
"""

from __future__ import annotations

from collections.abc import Sequence

from seem.models.decoder import Decoder
from seem.models.greedy import Request
from seem.prompts.answer import NOT_MENTIONED, tuned_prompt

TASK = "answer"


class TunedReader:
    """The local reader."""

    def __init__(self, decoder: Decoder, adapter: str = "answer", *, max_tokens: int = 48) -> None:
        """Load the adapter."""
        self._decoder = decoder
        manifest = decoder.load(adapter, task=TASK)
        self._max_tokens = max_tokens
        # The tuned model abstains too readily; the manifest holds what dev says must be taken off its «Not».
        self._bias = {NOT_MENTIONED.split()[0]: float(manifest.settings.get("not_mentioned_bias", 0.0))}
        self.name = f"{decoder.base.name}+{TASK}@{manifest.version}"

    def answer(self, question: str, context: str) -> str:
        """Answer from the context alone; without any context nothing is known."""
        return self.answer_all([(question, context)])[0]

    def answer_all(self, asked: Sequence[tuple[str, str]]) -> list[str]:
        """Answer (question, context) pairs in one batch, in order."""
        told = [n for n, (_, context) in enumerate(asked) if context.strip()]
        requests = [Request(tuned_prompt(*asked[n]), first_bias=self._bias) for n in told]
        outputs = self._decoder.generate(requests, task=TASK, max_tokens=self._max_tokens) if requests else []
        answers = [NOT_MENTIONED] * len(asked)
        for n, output in zip(told, outputs, strict=True):
            answers[n] = output.text.strip() or NOT_MENTIONED
        return answers
