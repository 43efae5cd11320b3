"""The gate: what is surely worse is refused, chance is not, the frozen set stays what it was, and the switch is one step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from seem.errors import InputError
from seem.models.decoder import Decoder
from seem.write.extract import TunedExtractor
from tests.models.tiny import tiny_adapter, tiny_base
from tests.training.test_evaluate import BIKE, PIANO, PIANO_LINE, SCRIPT, SMALL_TALK, ScriptedDecoder, event, turn
from training.operation.frozen import Frozen, frozen_split, read_frozen, write_frozen
from training.operation.gate import REFUSED, Compared, compare, main, switch

BIKE_LINE = "E Odile| did not buy a bicycle\n"
GOOD = {**SCRIPT, BIKE: (-1.0, BIKE_LINE)}


def conversation(name: str) -> dict[str, Any]:
    yesterday = {"text": "yesterday", "start": "2024-05-07", "end": "2024-05-07"}
    turns = [
        turn(1, "Odile", PIANO, [event("sold the piano", yesterday)]),
        turn(2, "Rune", SMALL_TALK, []),
        turn(3, "Odile", BIKE, [event("did not buy a bicycle")]),
    ]
    session = {"id": "S1", "time": "2024-05-08T10:00", "turns": turns}
    empty: dict[str, Any] = {"occurrences": [], "distinct": [], "questions": []}
    return {"id": name, "kind": "friends", "speakers": ["Odile", "Rune"], "sessions": [session]} | empty


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "conversations").mkdir(parents=True)
    names = [f"friends-9{n}" for n in range(4)]
    for name in names:
        (folder / "conversations" / f"{name}.json").write_text(json.dumps(conversation(name)))
    (folder / "split.json").write_text(json.dumps({"train": [], "dev": [], "test": names}))
    return folder


def compared(frozen: Frozen, service: dict[str, tuple[float, str]], candidate: ScriptedDecoder) -> dict[str, Compared]:
    one, other = (TunedExtractor(cast(Decoder, decoder)) for decoder in (ScriptedDecoder(service), candidate))
    return compare(frozen, one, other)


def test_what_is_worse_in_every_conversation_is_refused(corpus: Path) -> None:
    lazy = ScriptedDecoder({**GOOD, PIANO: (4.0, PIANO_LINE)})
    told = compared(frozen_split(corpus), GOOD, lazy)
    assert {name for name, each in told.items() if each.worse} == {"slot_f1", "null_f1"}
    assert told["slot_f1"].service == 1.0 and told["slot_f1"].change.high < 0
    # The other way round it is an improvement.
    assert not any(
        each.worse
        for each in compared(frozen_split(corpus), {**GOOD, PIANO: (4.0, PIANO_LINE)}, ScriptedDecoder(GOOD)).values()
    )


def test_flipped_denials_and_broken_lines_are_guarded(corpus: Path) -> None:
    flipped = ScriptedDecoder({**GOOD, BIKE: (-1.0, "E Odile| buy a bicycle\nE Odile\n")})
    told = compared(frozen_split(corpus), GOOD, flipped)
    assert told["valid"].worse and told["valid"].candidate == pytest.approx(2 / 3)
    # Grounding puts the negation back.
    assert not told["polarity_flips"].worse


def test_what_chance_explains_is_accepted(corpus: Path) -> None:
    raw = conversation("friends-90")
    # Only one conversation of four has the turn that the candidate misses.
    piano = turn(1, "Odile", PIANO, [event("sold the piano")])
    other = {**raw, "sessions": [{**raw["sessions"][0], "turns": [piano]}]}
    for n in range(3):
        (corpus / "conversations" / f"friends-9{n}.json").write_text(json.dumps({**other, "id": f"friends-9{n}"}))
    told = compared(frozen_split(corpus), GOOD, ScriptedDecoder({**GOOD, BIKE: (4.0, BIKE_LINE)}))
    change = told["null_f1"].change
    assert told["slot_f1"].candidate < told["slot_f1"].service
    assert change.low <= change.value <= change.high and not any(each.worse for each in told.values())


def test_frozen_turns_are_the_same_or_refused(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "frozen.json"
    whole = frozen_split(corpus)
    write_frozen(path, whole)
    again = read_frozen(path, corpus)
    assert again.turns == whole.turns and again.sha256 == whole.sha256 and again.pairs == whole.pairs
    file = corpus / "conversations" / "friends-91.json"
    file.write_text(file.read_text().replace("sold the piano", "lent the piano"))
    with pytest.raises(InputError, match="have changed"):
        read_frozen(path, corpus)
    path.write_text(json.dumps({"turns": ["friends-77/S1:1"], "sha256": ""}))
    with pytest.raises(InputError, match="has no turn 'friends-77/S1:1'"):
        read_frozen(path, corpus)
    path.write_text("{}")
    with pytest.raises(InputError, match="names no frozen turns"):
        read_frozen(path, corpus)
    (corpus / "split.json").write_text(json.dumps({"train": [], "dev": [], "test": ["friends-91"]}))
    with pytest.raises(InputError, match="say nothing about chance"):
        frozen_split(corpus)


def test_only_a_link_is_switched(tmp_path: Path) -> None:
    for name in ("old", "new", "plain"):
        (tmp_path / name).mkdir()
    link = tmp_path / "link"
    link.symlink_to("old")
    assert switch(link, tmp_path / "new") == tmp_path / "old"
    assert link.resolve() == tmp_path / "new" and sorted(p.name for p in tmp_path.iterdir()) == [
        "link",
        "new",
        "old",
        "plain",
    ]
    with pytest.raises(InputError, match="is no symbolic link"):
        switch(tmp_path / "plain", tmp_path / "new")


def test_from_the_command_line_on_real_adapters(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = tiny_base(tmp_path / "base")
    service, candidate = (tiny_adapter(tmp_path / name, base, n) for n, name in enumerate(("service", "candidate")))
    alien = tiny_adapter(tmp_path / "alien", base, 3, fingerprint="0" * 64)
    link = tmp_path / "extract"
    link.symlink_to(service)
    config = tmp_path / "memory.yaml"
    told = {
        "data_dir": str(tmp_path),
        "decoder": {"model": str(base), "device": "cpu", "dtype": "float32"},
        # Everything is nothing worth remembering, for both alike.
        "extract": {"adapter": str(link), "max_tokens": 16, "null_bias": 20},
    }
    config.write_text(json.dumps(told))
    words = ["--config", str(config), "--corpus", str(corpus)]
    assert main([*words, "--candidate", str(candidate), "--switch"]) == 0
    verdict = json.loads((candidate / "gate.json").read_text())
    assert verdict["accepted"] and verdict["frozen"]["turns"] == 12 and verdict["switched_from"] == str(service)
    assert verdict["service"]["version"] != verdict["candidate"]["version"]
    assert link.resolve() == candidate and "Memory.reload_models()" in capsys.readouterr().out
    assert main([*words, "--candidate", str(alien), "--switch"]) == 1
    assert "belongs to base" in capsys.readouterr().err and link.resolve() == candidate
    assert main([*words, "--freeze", str(tmp_path / "frozen.json")]) == 0
    assert main([*words, "--frozen", str(tmp_path / "frozen.json"), "--candidate", str(service)]) in (0, REFUSED)
    assert main(words) == 1
