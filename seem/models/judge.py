"""Same occurrence or not (F_judge): a LoRA cross-encoder on the encoder's network, then a calibrator over features.

Takes pairs of (passage, extraction), gives calibrated probabilities, symmetric in each pair and a pure function of it:
frames therefore come out the same however passages are batched. All numbers beyond the weights lie in the adapter's
manifest. Of a long pair the network sees the first ``MAX_TOKENS`` alone. Knows nothing about frames.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from seem.errors import ModelError
from seem.models import pair_features
from seem.models.adapters import Manifest, find_adapter
from seem.models.encoder import SentenceEncoder
from seem.models.protocols import Encoder, JudgeInput
from seem.prompts.judge import describe_side

TASK = "judge"
HEAD = "head.safetensors"
MAX_TOKENS = 160
FEATURES = ("logit", "cosine", *pair_features.NAMES)

Floats = npt.NDArray[np.float64]


class PairHead(torch.nn.Module):
    """States of a pair to one logit: ``w · [|u - v|, u * v, (u + v) / 2] + b``, u and v the sides' mean states.

    Starts as a scaled cosine.
    """

    def __init__(self, width: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.width = width
        self.dropout = torch.nn.Dropout(dropout)
        self.out = torch.nn.Linear(3 * width, 1)
        with torch.no_grad():
            self.out.weight.zero_()
            self.out.weight[:, width : 2 * width] = 4.0 / width
            self.out.bias.fill_(-3.0)

    def forward(self, states: torch.Tensor, sides: torch.Tensor) -> torch.Tensor:
        """Give logits, shape (batch,). ``sides`` (batch, tokens): 1 for words of the left, 2 of the right, else 0."""
        u, v = (self._mean(states, sides == side) for side in (1, 2))
        joined = torch.cat([(u - v).abs(), u * v, (u + v) / 2], dim=1)
        logits: torch.Tensor = self.out(self.dropout(joined)).squeeze(1)
        return logits

    def _mean(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        mean = (states * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        return torch.nn.functional.normalize(mean, dim=1) * math.sqrt(self.width)

    def write(self, folder: Path) -> None:
        """Save beside the adapter's weights."""
        save_file(
            {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}, folder / HEAD
        )

    @classmethod
    def read(cls, folder: Path, width: int) -> PairHead:
        """Load from an adapter's folder."""
        head = cls(width)
        try:
            head.load_state_dict(load_file(folder / HEAD))
        except (OSError, SafetensorError, RuntimeError) as error:
            raise ModelError(
                f"{folder / HEAD} cannot be used ({error}); copy the whole folder or train it again"
            ) from error
        return head.eval()


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression over ``FEATURES`` (mean, scale, weight by name), the vetoes that hold, and the threshold."""

    features: Mapping[str, tuple[float, float, float]]
    bias: float
    threshold: float
    vetoes: tuple[str, ...] = ()

    def probability(self, values: Floats) -> Floats:
        """Give probabilities, shape (pairs,), for feature values, shape (pairs, FEATURES)."""
        mean, scale, weight = np.array([self.features[name] for name in FEATURES], dtype=np.float64).T
        logits = ((values - mean) / scale) @ weight + self.bias
        return np.asarray(0.5 * (1 + np.tanh(logits / 2)), dtype=np.float64)

    def settings(self) -> dict[str, Any]:
        """Give the manifest's form: plain numbers."""
        features = {name: [float(v) for v in values] for name, values in self.features.items()}
        return {"threshold": self.threshold, "bias": self.bias, "features": features, "vetoes": list(self.vetoes)}

    @classmethod
    def identity(cls) -> Calibration:
        """Give the calibration that passes the logit through: what training starts from."""
        return cls({name: (0.0, 1.0, float(name == "logit")) for name in FEATURES}, 0.0, 0.5)

    @classmethod
    def read(cls, manifest: Manifest) -> Calibration:
        """Read a manifest's settings; raise ModelError where they do not belong to this code."""
        try:
            stated = manifest.settings
            features = {name: (float(m), float(s), float(w)) for name, (m, s, w) in stated["features"].items()}
            found = cls(features, float(stated["bias"]), float(stated["threshold"]), tuple(stated["vetoes"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(
                f"the judge's manifest lacks its calibration ({error!r}); train the judge again"
            ) from error
        if set(features) != set(FEATURES) or not set(found.vetoes) <= set(pair_features.VETOES):
            raise ModelError(
                f"the judge's manifest names other features or vetoes than this version has ({', '.join(FEATURES)}; "
                f"{', '.join(pair_features.VETOES)}); train the judge again"
            )
        return found


class TunedJudge:
    """The trained judge, on a backbone that it shares with the encoder."""

    def __init__(
        self, encoder: Encoder, adapter: str = "judge", *, threshold: float | None = None, batch_size: int = 32
    ) -> None:
        """Load adapter, head and calibration; raise ModelError where one does not fit. ``threshold`` overrides."""
        if not isinstance(encoder, SentenceEncoder):
            raise ModelError(f"the tuned judge works on a SentenceEncoder's network, not on {type(encoder).__name__}")
        backbone = encoder.backbone
        folder = find_adapter(adapter)
        manifest = backbone.attach(folder, task=TASK)
        self._backbone = backbone
        self._batch_size = batch_size
        self._head = PairHead.read(folder, backbone.width).to(backbone.device)
        self._calibration = Calibration.read(manifest)
        self.threshold = self._calibration.threshold if threshold is None else threshold
        self.name = f"{backbone.base.name}+{TASK}@{manifest.version}"

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> Floats:
        """Give the probability of «same occurrence», shape (pairs,); 0 where a side has no event or a veto holds."""
        judged = [n for n, (a, b) in enumerate(pairs) if a[1].events and b[1].events]
        scores = np.zeros(len(pairs), dtype=np.float64)
        if judged:
            scores[judged] = self._calibration.probability(self.features([pairs[n] for n in judged]))
            for n in judged:
                if any(pair_features.VETOES[veto](*pairs[n]) for veto in self._calibration.vetoes):
                    scores[n] = 0.0
        # Batches differ in the last bits; what is stored and compared with a threshold must not.
        return np.round(scores, 6)

    def features(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> Floats:
        """Give the calibrator's input, shape (pairs, FEATURES). Every side must have an event."""
        plain = np.array([pair_features.features(a, b) for a, b in pairs], dtype=np.float64)
        return np.column_stack([self._logits(pairs), self._cosines(pairs), plain.reshape(len(pairs), -1)])

    def _logits(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> Floats:
        sides = [(describe_side(*a), describe_side(*b)) for a, b in pairs]
        both = sides + [(b, a) for a, b in sides]
        order = sorted(range(len(both)), key=lambda i: len(both[i][0]) + len(both[i][1]))
        logits = np.zeros(len(both), dtype=np.float64)
        for start in range(0, len(order), self._batch_size):
            rows = order[start : start + self._batch_size]
            inputs, where = encode_pairs(self._backbone.tokenizer, [both[i] for i in rows])
            states = self._backbone.hidden(inputs, task=TASK)
            with torch.inference_mode():
                logits[rows] = self._head(states, where.to(states.device)).double().cpu().numpy()
        return np.asarray(logits.reshape(2, -1).mean(axis=0))

    def _cosines(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> Floats:
        # The bare network, whatever adapter the encoder uses: the calibrator was fitted on its cosines.
        texts = list(dict.fromkeys(summary for pair in pairs for summary in map(_summary, pair)))
        row = {text: n for n, text in enumerate(texts)}
        vectors = self._backbone.embed(texts).astype(np.float64)
        return np.array([vectors[row[_summary(a)]] @ vectors[row[_summary(b)]] for a, b in pairs], dtype=np.float64)


def encode_pairs(tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Give the network's input for described pairs, and each token's side (0 neither, 1 left, 2 right)."""
    encoded = tokenizer(
        [a for a, _ in pairs],
        [b for _, b in pairs],
        truncation="longest_first",
        max_length=MAX_TOKENS,
        padding=True,
        split_special_tokens=True,
        return_tensors="pt",
    )
    sides = [[0 if side is None else side + 1 for side in encoded.sequence_ids(row)] for row in range(len(pairs))]
    return dict(encoded), torch.tensor(sides)


def _summary(side: JudgeInput) -> str:
    return side[1].summary or side[0].text
