"""LoCoMo's scores of answers: the official F1 by category, and the A-MEM/Mem0 harness's F1 and BLEU-1.

Takes questions of ``locomo_data`` and strings; gives numbers from 0 to 1. No model judges anything here. Knows nothing
about memories or retrieval.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from functools import lru_cache

from nltk.stem import PorterStemmer
from nltk.tokenize import word_tokenize
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from training.benchmarks.locomo_data import ADVERSARIAL, Question

REPORT_ORDER = (4, 1, 2, 3, 5)

_MULTI_HOP, _OPEN_DOMAIN = 1, 3
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the|and)\b")
_OFFICIAL_ABSTENTIONS = ("no information available", "not mentioned")
_ABSTENTION = re.compile(
    r"no information|unknown|cannot (?:say|tell|be determined)|never (?:mention|stat|said|say|told)|"
    r"not (?:mention|stat|say|said|specif|known|provid|discuss|told)|"
    r"n['\u2019]t (?:mention|stat|say|said|specif|know|provid|discuss|tell)"
)
_DENIAL = re.compile(r"\b(?:no|not|never|nobody|none|neither|nor|without|cannot)\b|n['\u2019]t\b")


def normalise(text: str) -> str:
    """Drop commas, case, ASCII punctuation, the words a, an, the, and, and repeated blanks."""
    bare = text.replace(",", "").lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def token_f1(prediction: str, gold: str) -> float:
    """Give the F1 of the multisets of normalised, Porter-stemmed tokens."""
    said, wanted = (Counter(_stem(token) for token in normalise(text).split()) for text in (prediction, gold))
    return _f1(sum((said & wanted).values()), said.total(), wanted.total())


def official_f1(question: Question, prediction: str) -> float:
    """Score an answer as the benchmark's code does, by the question's category."""
    if question.category == ADVERSARIAL:
        return float(any(phrase in prediction.lower() for phrase in _OFFICIAL_ABSTENTIONS))
    if question.category == _MULTI_HOP:
        parts = [part.strip() for part in question.answer.split(",")]
        said = [part.strip() for part in prediction.split(",")]
        return sum(max(token_f1(each, part) for each in said) for part in parts) / len(parts)
    gold = question.answer.split(";")[0].strip() if question.category == _OPEN_DOMAIN else question.answer
    return token_f1(prediction, gold)


def exact_match(prediction: str, gold: str) -> float:
    """Give 1 where both have the same set of normalised tokens."""
    return float(set(normalise(prediction).split()) == set(normalise(gold).split()))


def adversarial_score(question: Question, prediction: str) -> float:
    """Give 1 for an answer that abstains or denies the premise, 0 for one that takes the bait.

    By words alone: any abstention, the file's own right answer where it has one, or a denial that the trap does not
    hold itself. An empty answer abstains from nothing and counts 0: a system that crashed must not win here.
    """
    text = prediction.lower()
    if not normalise(text):
        return 0.0
    if normalise(text) == normalise(question.trap):
        return 0.0
    if _ABSTENTION.search(text) or normalise(text) == normalise(question.answer):
        return 1.0
    return float(len(_DENIAL.findall(text)) > len(_DENIAL.findall(question.trap.lower())))


def harness_f1(prediction: str, gold: str) -> float:
    """Give the F1 of the A-MEM/Mem0 harness: sets of lower-case tokens, only ``. , ! ?`` removed, no stemming."""
    said, wanted = (set(re.sub(r"[.,!?]", " ", text.lower()).split()) for text in (prediction, gold))
    return _f1(len(said & wanted), len(said), len(wanted))


def bleu1(prediction: str, gold: str) -> float:
    """Give the harness's BLEU-1: NLTK word tokens in lower case, brevity penalty, smoothing method 1.

    Sentences are cut at end marks followed by a blank instead of by NLTK's Punkt model, which is a download.
    """
    said, wanted = _words(prediction), _words(gold)
    if not said or not wanted:
        return 0.0
    smooth = SmoothingFunction().method1
    return float(sentence_bleu([wanted], said, weights=(1, 0, 0, 0), smoothing_function=smooth))


def score_answer(question: Question, prediction: str) -> dict[str, float]:
    """Score one answer every way, by name.

    Adversarial questions take the official 0/1 rule in place of F1, exact match and BLEU-1, and have ``adversarial``
    beside it, which is ours.
    """
    official = round(official_f1(question, prediction), 3)
    if question.category == ADVERSARIAL:
        rule = dict.fromkeys(("official_f1", "exact", "harness_f1", "bleu1"), official)
        return {**rule, "adversarial": adversarial_score(question, prediction)}
    return {
        "official_f1": official,
        "exact": exact_match(prediction, question.answer),
        "harness_f1": harness_f1(prediction, question.answer),
        "bleu1": bleu1(prediction, question.answer),
    }


def _f1(same: int, said: int, wanted: int) -> float:
    """Give the harmonic mean of same/said and same/wanted, 0 where nothing is the same."""
    return 2 * same / (said + wanted) if same else 0.0


def _words(text: str) -> list[str]:
    sentences = re.split(r"(?<=[.!?])\s+", text.lower().strip())
    return [word for sentence in sentences for word in word_tokenize(sentence, preserve_line=True)]


@lru_cache(maxsize=65536)
def _stem(token: str) -> str:
    return str(_PORTER.stem(token))


_PORTER = PorterStemmer()
