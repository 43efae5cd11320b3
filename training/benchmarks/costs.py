"""What the baselines would cost by themselves: the time to index a case's passages, and the bytes that they keep.

Takes an imported case, whose own cost is that of the whole memory; indexes its passages anew, by vectors or by words
alone, and measures that. Knows nothing about questions.
"""

from __future__ import annotations

import time

from seem.state import passage_text
from seem.store.lexical import LexicalIndex
from seem.store.vectors import VectorIndex
from seem.store.words import tokens
from training.benchmarks.memories import Cost, Imported

_FLOAT = 4
# A posting: the document and how often it has the term.
_POSTING = 8


def baseline_cost(method: str, imported: Imported) -> Cost:
    """Index the passages as ``dense``, ``bm25`` or ``rrf`` needs it, and give what that takes; no model generates."""
    with imported.pipeline.states.state(imported.memory) as state:
        texts = {p.id: passage_text(p) for p in state.passages.values()}
    seconds = 0.0
    size = sum(len(text.encode()) for text in texts.values())
    if method in ("dense", "rrf"):
        begun = time.perf_counter()
        index = VectorIndex(imported.encoder.dimension)
        index.add(list(texts), imported.encoder.encode(list(texts.values())))
        seconds += time.perf_counter() - begun
        size += _FLOAT * imported.encoder.dimension * len(texts)
    if method in ("bm25", "rrf"):
        begun = time.perf_counter()
        words = LexicalIndex()
        for passage_id, text in texts.items():
            words.add(passage_id, text)
        seconds += time.perf_counter() - begun
        terms = [set(tokens(text)) for text in texts.values()]
        size += _POSTING * sum(map(len, terms)) + sum(len(term.encode()) for term in set().union(*terms))
    return Cost(seconds, size, 0, 0)
