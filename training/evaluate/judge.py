"""Is the judge's probability one? Its scores of the proposed pairs, remembered while it is measured, against the truth.

Takes conversations, extractions, a judge and an encoder; gives bins and the expected calibration error. Knows nothing
about how the judge was calibrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from seem.models.protocols import Encoder, Judge, JudgeInput
from seem.write.consolidate import judge_pairs
from training.corpus import Conversation
from training.judge.evaluate import propose
from training.judge.pairs import Extractions


class Remembering:
    """A judge that is asked once about a pair of passages; for one set of extractions only."""

    def __init__(self, judge: Judge) -> None:
        """Take the judge."""
        self._judge = judge
        self._known: dict[tuple[str, str, str], float] = {}
        self.name = judge.name
        self.threshold = judge.threshold

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> npt.NDArray[np.float64]:
        """Give the known scores and ask for the others."""
        keys = [(a[0].memory, a[0].id, b[0].id) for a, b in pairs]
        missing = [n for n, key in enumerate(keys) if key not in self._known]
        if missing:
            scores = np.asarray(self._judge.score([pairs[n] for n in missing]), dtype=np.float64).ravel()
            if len(scores) != len(missing):
                return scores
            self._known |= {keys[n]: float(value) for n, value in zip(missing, scores, strict=True)}
        return np.array([self._known[key] for key in keys], dtype=np.float64)


def judge_reliability(
    conversations: Sequence[Conversation], extractions: Extractions, judge: Judge, encoder: Encoder
) -> dict[str, Any] | None:
    """Give the error and (mean probability, share of same, pairs) of each bin; ``None`` where nothing was proposed."""
    # Its module needs scikit-learn, which the other figures do not.
    from training.judge.calibrate import reliability

    found = propose(conversations, extractions, encoder)
    verdicts = [judge_pairs(p.pairs, p.sides, judge).scores for p in found]
    scores = [given[pair] for p, given in zip(found, verdicts, strict=True) for pair in p.pairs]
    if not scores:
        return None
    same = np.array([truth for p in found for truth in p.same], dtype=np.bool_)
    error, curve = reliability(np.array(scores, dtype=np.float64), same)
    return {"expected_calibration_error": error, "bins": [list(each) for each in curve]}
