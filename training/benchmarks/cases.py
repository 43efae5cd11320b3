"""What every benchmark is made of: cases, each a memory to fill and the questions to ask it.

Takes nothing; these are the values that a reader of one benchmark's files gives and that the programs measure. Knows
nothing about files, methods or scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from seem.models.protocols import Extractor, Judge
from seem.store.batch import Draft
from training.benchmarks.judging import Marking


@dataclass(frozen=True, slots=True)
class Query:
    """A question, the labels of the passages that hold its answer, and its kind, by the benchmark's own id.

    ``trap`` is the answer that tempts, where the question has none. ``asked`` is what the reader is given where that is
    more than ``text``, which finds the passages.
    """

    text: str
    answer: str
    evidence: tuple[str, ...]
    kind: str
    trap: str = ""
    asked: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One memory: its passages, in order, and its questions. ``label`` names the metadata that evidence refers to.

    ``data`` is a hash of what it was read from. ``gold`` are models that say what the labels say, for the ceiling; None
    where the data has no labels. ``problems`` tells what could not be read.
    """

    id: str
    drafts: tuple[Draft, ...]
    queries: tuple[Query, ...]
    label: str
    data: str
    gold: tuple[Extractor, Judge] | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """One benchmark. ``kinds`` maps ids to names in the order of report; ``apart`` is not in the overall figures.

    ``scores`` gives the scores of one answer by name, each from 0 to 1; ``marking`` what a judge is asked about it, None
    where it is not judged.
    """

    name: str
    kinds: Mapping[str, str]
    apart: str
    scores: Callable[[Query, str], Mapping[str, float]]
    marking: Callable[[Query, str], Marking | None]
