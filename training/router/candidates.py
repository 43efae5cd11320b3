"""The router's plain candidates: cost-sensitive logistic regression, neighbours, and a linear machine over words.

Takes questions with their gains and groups (conversations); gives scorers of ``seem.models.router``. How strongly each
is regularised is chosen by folds over groups. Knows nothing about networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from seem.models.router import Asked, Floats, Kind, Linear, Neighbours, Scorer, beside, chosen, terms, tfidf

STRENGTHS = (0.01, 0.1, 1.0, 10.0)
LEAST_QUESTIONS = 3
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Table:
    """Questions, one row each: as scorers take them, what expansion gained, and the number of the conversation."""

    asked: Asked
    gains: Floats
    groups: Rows

    def __len__(self) -> int:
        return len(self.gains)

    def part(self, rows: Rows) -> Table:
        """Give some rows."""
        a = self.asked
        asked = Asked(a.signals[rows], a.vectors[rows], tuple(a.questions[n] for n in rows.tolist()))
        return Table(asked, self.gains[rows], self.groups[rows])

    def decided(self) -> Table:
        """Give the rows on which an arm wins."""
        return self.part(np.flatnonzero(self.gains))


class Fit(Protocol):
    """A way of making a scorer from a table; less ``strength`` regularises more."""

    def __call__(self, table: Table, strength: float) -> Scorer:
        """Fit on all rows of the table."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way of making a scorer: ``fit`` takes a table and a strength, of which ``strengths`` are tried."""

    kind: Kind
    fit: Fit
    strengths: tuple[float, ...] = (1.0,)

    def best(self, table: Table, folds: int) -> float:
        """Choose the strength with the least regret in folds over groups; of equals the smallest."""
        if len(self.strengths) == 1:
            return self.strengths[0]
        lost = {s: regret(held_out(table, folds, partial(self.fit, strength=s)), table.gains) for s in self.strengths}
        return min(lost, key=lambda s: (round(float(lost[s].mean()), 9), s))

    def tuned(self, table: Table, folds: int) -> Scorer:
        """Fit with the strength that is best on the table."""
        return self.fit(table, self.best(table, folds))


def candidates(*, components: int, neighbours: int) -> tuple[Candidate, ...]:
    """Give the plain candidates, of equals the one that comes first ships."""
    return (
        Candidate("logistic", partial(logistic, components=components), STRENGTHS),
        Candidate("knn", partial(nearest, count=neighbours)),
        Candidate("svm", machine, STRENGTHS),
    )


def regret(scores: Floats, gains: Floats) -> Floats:
    """Give what the choice by scores loses against the better arm, a question."""
    return np.asarray(np.where(chosen(scores), np.maximum(-gains, 0), np.maximum(gains, 0)), dtype=np.float64)


def folds_of(groups: Rows, folds: int) -> Iterator[tuple[Rows, Rows]]:
    """Give the rows that learn and the rows that are held out, whole groups each time."""
    names = np.unique(groups)
    for n in range(min(folds, len(names))):
        held = np.isin(groups, names[n :: min(folds, len(names))])
        yield np.flatnonzero(~held), np.flatnonzero(held)


def held_out(table: Table, folds: int, fit: Callable[[Table], Scorer]) -> Floats:
    """Give the score of every question by a scorer that saw no question of its conversation."""
    scores = np.zeros(len(table))
    for rest, held in folds_of(table.groups, folds):
        scores[held] = fit(table.part(rest)).scores(table.part(held).asked)
    return scores


def logistic(table: Table, strength: float, components: int) -> Scorer:
    """Fit the regression on signals and the vector's principal components, each question weighing what it decides."""
    told = table.decided()
    width, signals = table.asked.vectors.shape[1], table.asked.signals.shape[1]
    constant = _constant(told, width, signals)
    if constant is not None:
        return constant
    pca = PCA(min(components, len(table), width), random_state=0).fit(table.asked.vectors)
    # Unit vectors spread little in each direction: at their own scale the signals would outweigh them for free.
    scale = np.sqrt(np.maximum(pca.explained_variance_, 1e-12))
    values = np.hstack([told.asked.signals, pca.transform(told.asked.vectors) / scale])
    model = LogisticRegression(C=strength, max_iter=2000).fit(values, told.gains > 0, sample_weight=_weights(told))
    weights = model.coef_[0]
    vector = pca.components_.T @ (weights[signals:] / scale)
    return Linear(weights[:signals], vector, float(model.intercept_[0]) - float(pca.mean_ @ vector))


def machine(table: Table, strength: float) -> Scorer:
    """Fit the linear support vector machine on the words' TF-IDF and the signals."""
    told = table.decided()
    width, signals = table.asked.vectors.shape[1], table.asked.signals.shape[1]
    constant = _constant(told, width, signals)
    if constant is not None:
        return constant
    vocabulary, idf = _vocabulary(table.asked.questions)
    values = np.hstack([told.asked.signals, tfidf(told.asked.questions, vocabulary, idf)])
    model = LinearSVC(C=strength, max_iter=10000, dual=False)
    model.fit(values, told.gains > 0, sample_weight=_weights(told))
    weights = model.coef_[0]
    return Linear(
        weights[:signals], np.zeros(width), float(model.intercept_[0]), weights[signals:], idf, tuple(vocabulary)
    )


def nearest(table: Table, strength: float, count: int) -> Scorer:
    """Keep the questions and their gains, ties too: a neighbourhood of ties is one. No ``strength`` plays a part."""
    return Neighbours(beside(table.asked), table.gains, min(count, len(table)))


def _constant(told: Table, width: int, signals: int) -> Scorer | None:
    """Give the scorer that always takes the one arm that ever won; ``None`` where both did."""
    wins = set((told.gains > 0).tolist())
    if len(wins) == 2:
        return None
    return Linear(np.zeros(signals), np.zeros(width), 1.0 if wins == {True} else -1.0)


def _weights(told: Table) -> Floats:
    """Weigh each question by what it decides, 1 on average, so that a strength means the same on every table."""
    weights = np.abs(told.gains)
    return np.asarray(weights / weights.mean())


def _vocabulary(questions: Sequence[str]) -> tuple[list[str], Floats]:
    """Give the terms of three or more questions and their inverse frequency, smoothed."""
    counts: dict[str, int] = {}
    for question in questions:
        for term in terms(question):
            counts[term] = counts.get(term, 0) + 1
    kept = sorted(term for term, count in counts.items() if count >= LEAST_QUESTIONS)
    return kept, np.array([np.log((1 + len(questions)) / (1 + counts[term])) + 1 for term in kept])
