"""What each arm brings on labelled questions: the router's labels, from outcomes instead of opinions.

Takes conversations and an encoder; each becomes a memory of the teacher's labels, its occurrences as frames, and both
arms read its questions. Kept in a folder, memories and outcomes survive a kill: a file's name holds a hash of all that
decides its content but the code. Knows nothing about routers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from seem.config import Config
from seem.models.protocols import Encoder, JudgeInput
from seem.pipeline import DEPTH, Options, Pipeline
from seem.read.route_signals import NAMES, signals
from seem.read.seed import seed
from seem.store.store import Store
from seem.types import Context
from seem.wiring import Parts
from training.corpus import Conversation, Question
from training.corpus.folder import Split
from training.examples.answer import LabelExtractor, drafts

# Every pair of a conversation is judged, so that no occurrence is missed for want of a candidate.
CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class Arm:
    """What one arm brought: the share of the evidence in its context, and the context's tokens."""

    recall: float
    tokens: int

    @property
    def utility(self) -> float:
        """Give evidence recall per 1,000 tokens of context."""
        return 1000 * self.recall / max(1, self.tokens)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both arms on one question, and what was known before choosing between them."""

    conversation: str
    question: str
    type: str
    graph: Arm
    expand: Arm
    signals: Mapping[str, float]

    @property
    def gain(self) -> float:
        """Give what expansion gains; 0 is a tie, which goes to the cheaper arm."""
        return self.expand.utility - self.graph.utility


class LabelJudge:
    """Says «same» where two turns lie in one labelled occurrence."""

    name = "teacher"
    threshold = 0.5

    def __init__(self, conversation: Conversation) -> None:
        """Take the labels."""
        self._occurrences = [set(o.turns) for o in conversation.occurrences]

    def score(self, pairs: Sequence[tuple[JudgeInput, JudgeInput]]) -> npt.NDArray[np.float64]:
        """Look the pairs up."""
        turns = [{str(side[0].metadata["turn"]) for side in pair} for pair in pairs]
        return np.array([float(any(pair <= o for o in self._occurrences)) for pair in turns], dtype=np.float64)


def outcomes(
    conversations: Sequence[Conversation], encoder: Encoder, folder: Path, *, top_k: int, context_tokens: int
) -> list[Outcome]:
    """Give the outcomes of every question that has evidence, in order; what is kept in ``folder`` is not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    found: list[Outcome] = []
    for n, conversation in enumerate(conversations, 1):
        kept = folder / f"{conversation.id}-{_key(conversation, encoder, [top_k, context_tokens, NAMES])}.json"
        if not kept.exists():
            pipeline = memory(conversation, encoder, folder)
            options = Options(top_k=top_k, context_tokens=context_tokens)
            rows = [_outcome(pipeline, conversation.id, q, options) for q in conversation.questions if q.evidence]
            pipeline.parts.store.close()
            _write(kept, [asdict(row) for row in rows])
            print(f"{n}/{len(conversations)} {conversation.id}: {len(rows)} questions", flush=True)
        found += [_read(row) for row in json.loads(kept.read_text(encoding="utf-8"))]
    return found


def memory(conversation: Conversation, encoder: Encoder, folder: Path) -> Pipeline:
    """Give the conversation as a memory of its labels, made in ``folder`` or found there."""
    config = Config.from_dict({"data_dir": str(folder.resolve()), "judge": {"candidates": CANDIDATES}})
    store = Store(folder / f"{conversation.id}-{_key(conversation, encoder, [])}.db")
    extractor, judge = LabelExtractor(conversation), LabelJudge(conversation)
    pipeline = Pipeline(Parts(config, store=store, encoder=encoder, extractor=extractor, judge=judge))
    # Harmless where all is there; finishes what a kill left waiting.
    pipeline.remember(conversation.id, list(drafts(conversation)))
    return pipeline


def shown(context: Context) -> set[str]:
    """Give the turns whose line stands in the context: what the token budget left out was not handed over."""
    lines = "\n" + context.text
    return {str(hit.passage.metadata["turn"]) for n, hit in enumerate(context.hits, 1) if f"\n[{n}] " in lines}


def _outcome(pipeline: Pipeline, name: str, question: Question, options: Options) -> Outcome:
    vector = pipeline.parts.encoder.encode([question.question])[0]
    with pipeline.states.state(name) as state:
        seeds = seed(question.question, vector, state, depth=max(DEPTH, 3 * options.top_k))
        known = signals(question.question, seeds, state)
    graph, expand = (_arm(pipeline, name, question, options, arm) for arm in ("never", "always"))
    return Outcome(name, question.question, question.type, graph, expand, known)


def _arm(pipeline: Pipeline, name: str, question: Question, options: Options, arm: Literal["never", "always"]) -> Arm:
    given = Options(top_k=options.top_k, context_tokens=options.context_tokens, expand=arm)
    context = pipeline.recall(name, question.question, given)
    return Arm(len(shown(context) & set(question.evidence)) / len(set(question.evidence)), context.tokens)


def _read(row: Mapping[str, Any]) -> Outcome:
    return Outcome(**{**row, "graph": Arm(**row["graph"]), "expand": Arm(**row["expand"])})


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(rows), encoding="utf-8")
    os.replace(new, path)


def _key(conversation: Conversation, encoder: Encoder, others: Sequence[Any]) -> str:
    told = json.dumps([asdict(conversation), encoder.fingerprint, *others], default=str, sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def counts(by_split: Mapping[Split, Sequence[Outcome]]) -> dict[str, dict[str, int]]:
    """Count in each split the questions, and those on which one arm wins."""
    return {
        name: {
            "questions": len(rows),
            "expand_wins": sum(row.gain > 0 for row in rows),
            "graph_wins": sum(row.gain < 0 for row in rows),
            "recall_differs": sum(row.graph.recall != row.expand.recall for row in rows),
        }
        for name, rows in by_split.items()
    }
