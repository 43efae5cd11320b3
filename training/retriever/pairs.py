"""Questions with the texts that should and should not be near them: evidence passages, their events and facts; neighbours.

Takes labelled conversations and the bare encoder; gives each question its right texts and the nearest wrong ones of the
same conversation, and batches of an epoch. Turns that share an occurrence with the evidence are never wrong. The same
seed gives the same epochs. Knows nothing about networks or losses.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from seem.models.protocols import Encoder
from seem.state import passage_text
from seem.types import Fact
from seem.write.summary import compose, fact_sentence
from training.corpus import Conversation, Question, Turn
from training.evaluate.metrics import token_f1
from training.examples.augment import Labelled
from training.judge.pairs import student_like

Kind = Literal["passage", "event", "fact"]
# A fact of an evidence turn is right where it is about what the question's patterns are about.
FACT_MATCH = 0.4


@dataclass(frozen=True, slots=True)
class Text:
    """Something that is found by its vector: a passage, an extraction's summary, or a fact's sentence."""

    conversation: str
    turn: str
    kind: Kind
    words: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question, its right texts by evidence turn, its nearest wrong texts, and the turns that are not wrong."""

    conversation: str
    question: str
    right: tuple[tuple[Text, ...], ...]
    wrong: tuple[Text, ...]
    spared: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sample:
    """What is learned from once: a query, one of its right texts, and hard negatives."""

    query: Query
    right: Text
    wrong: tuple[Text, ...]


def texts_of(conversation: Conversation) -> list[Text]:
    """Give everything of a conversation that is found by its vector, as the memory words it."""
    found: list[Text] = []
    for turn in conversation.turns:
        found.append(Text(conversation.id, turn.passage.id, "passage", passage_text(turn.passage)))
        if turn.extraction.events:
            summary = compose(turn.extraction.events, turn.passage.speaker)
            found.append(Text(conversation.id, turn.passage.id, "event", summary))
        facts = dict.fromkeys(fact_sentence(fact) for fact in turn.extraction.facts)
        found += [Text(conversation.id, turn.passage.id, "fact", words) for words in facts]
    return found


def queries(conversations: Sequence[Conversation], encoder: Encoder, *, pool: int) -> list[Query]:
    """Give every question that has evidence, with up to ``pool`` wrong texts, the nearest first."""
    found: list[Query] = []
    for conversation in conversations:
        asked = [q for q in conversation.questions if q.evidence]
        if not asked:
            continue
        texts = texts_of(conversation)
        scores = encoder.encode([q.question for q in asked]) @ encoder.encode([t.words for t in texts]).T
        turns = {turn.passage.id: turn for turn in conversation.turns}
        for question, row in zip(asked, scores, strict=True):
            spared = spared_turns(conversation, question)
            order = np.argsort(-row, kind="stable").tolist()
            wrong = [texts[n] for n in order if texts[n].turn not in spared][:pool]
            right = tuple(_right(conversation, turns[e], question) for e in question.evidence if e in turns)
            found.append(Query(conversation.id, question.question, right, tuple(wrong), spared))
    return found


def spared_turns(conversation: Conversation, question: Question) -> frozenset[str]:
    """Give the turns that are no negatives: the evidence, and what tells of the same occurrences."""
    evidence = set(question.evidence)
    told = [o.turns for o in conversation.occurrences if evidence & set(o.turns)]
    return frozenset(evidence.union(*told))


def epoch(known: Sequence[Query], *, seed: int, batch_size: int, negatives: int) -> list[list[Sample]]:
    """Give one epoch in batches: each question once with each evidence turn, by a text of that turn drawn anew."""
    rng = random.Random(seed)
    samples = [
        Sample(query, _drawn(right, rng), tuple(rng.sample(query.wrong, min(negatives, len(query.wrong)))))
        for query in known
        for right in query.right
    ]
    rng.shuffle(samples)
    return [samples[n : n + batch_size] for n in range(0, len(samples), batch_size)]


def _drawn(right: Sequence[Text], rng: random.Random) -> Text:
    """Draw a passage half of the time, else an event or a fact where the turn has one."""
    others = right[1:]
    return rng.choice(others) if others and rng.random() < 0.5 else right[0]


def _right(conversation: Conversation, turn: Turn, question: Question) -> tuple[Text, ...]:
    """Give a turn's texts that should be near the question, the passage first."""
    found: list[tuple[Kind, str]] = [("passage", passage_text(turn.passage))]
    if turn.extraction.events:
        found.append(("event", compose(turn.extraction.events, turn.passage.speaker)))
        twin = student_like(Labelled(turn.passage, turn.context, conversation.speakers, turn.extraction))
        if twin is not None:
            found.append(("event", twin.summary))
    found += [("fact", fact_sentence(f)) for f in turn.extraction.facts if _about(f, question)]
    return tuple(Text(conversation.id, turn.passage.id, kind, words) for kind, words in dict.fromkeys(found))


def _about(fact: Fact, question: Question) -> bool:
    said = f"{fact.subject} {fact.relation} {fact.object}"
    patterns = (" ".join(part for part in pattern if part != "?") for pattern in question.facts)
    return any(token_f1(said, pattern) >= FACT_MATCH for pattern in patterns)
