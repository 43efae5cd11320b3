"""The prompted twin of the judge: any OpenAI-compatible model says whether two notes tell of the same occurrence.

Takes pairs of (passage, extraction), gives 1 or 0, symmetric since a pair is always shown in the same order. A verdict
that cannot be read means «not the same» and is counted, its words kept. Knows nothing about frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from seem.models.chat import ChatEndpoint
from seem.models.protocols import JudgeInput
from seem.prompts.reading import read_object
from seem.prompts.schemas import JUDGE
from seem.prompts.texts import judge_messages

TASK = "judge"
CONCURRENCY = 8
_KEPT = 100


class PromptedJudge:
    """A prompted model behind the judge's interface. ``unreadable`` counts what was no verdict, ``odd`` keeps it."""

    # Scores are 0 and 1: no other threshold could mean anything else, and 0 would merge what was unreadable.
    threshold = 0.5

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        max_tokens: int = 128,
        timeout: float = 120.0,
    ) -> None:
        """Name the endpoint."""
        self._chat = ChatEndpoint(base_url, model, api_key_env=api_key_env, timeout=timeout, section="judge")
        self._max_tokens = max_tokens
        self.unreadable = 0
        self.odd: deque[str] = deque(maxlen=_KEPT)
        self.name = f"{model}+prompt"

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> npt.NDArray[np.float64]:
        """Give 1 for «same occurrence», else 0, shape (pairs,); 0 where a side has no event."""
        scores = np.zeros(len(pairs), dtype=np.float64)
        judged = [n for n, (a, b) in enumerate(pairs) if a[1].events and b[1].events]
        with ThreadPoolExecutor(CONCURRENCY) as pool:
            replies = list(pool.map(self._ask, [pairs[n] for n in judged]))
        for n, reply in zip(judged, replies, strict=True):
            verdict = (read_object(reply).value or {}).get("same")
            if isinstance(verdict, bool):
                scores[n] = float(verdict)
            else:
                self.unreadable += 1
                self.odd.append(reply)
        return scores

    def _ask(self, pair: tuple[JudgeInput, JudgeInput]) -> str:
        a, b = sorted(pair, key=lambda side: (side[0].position, side[0].id))
        return self._chat.ask(judge_messages(a, b), JUDGE, name=TASK, max_tokens=self._max_tokens).text
