"""The evaluation beside base, ceiling and prices: counts that add up, confidence, cascade, costs, and the page with its plots."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from seem.errors import ConfigError, InputError
from seem.models.fakes import ScriptedJudge
from seem.models.greedy import Generated, Request
from seem.types import Event, Extraction, Fact
from tests.training.test_evaluate import BIKE, PIANO, SCRIPT, SMALL_TALK, ScriptedDecoder, event, parts, turn
from training.corpus import CORPUS, Conversation, load, read
from training.evaluate.baseline import PROMPT, sample
from training.evaluate.confidence import cascade, cascade_table, plain, reliability
from training.evaluate.counts import counts, differences, figures, intervals
from training.evaluate.figures import extraction_figures, finite
from training.evaluate.prices import PRICES, Hosted, Machine, Prices, load_prices, student_cost
from training.evaluate.program import evaluate
from training.evaluate.report import read_scaling, router_figures, write_report
from training.evaluate.table import comparison, markdown

PNG = b"\x89PNG\r\n"
GOOD = {**SCRIPT, BIKE: (-1.0, "E Odile| did not buy a bicycle\n")}
PAID = Prices("EUR", Machine("box", 0.36), Hosted("big", 2.0, 10.0, 1000, 200))


@dataclass
class Doubting(ScriptedDecoder):
    """Also says how sure it is, and how long the prompt was; without an adapter it remembers nothing."""

    logprob: Mapping[str, float] = field(default_factory=dict)

    def _said(self, request: Request) -> Generated:
        made = super()._said(request)
        turn_ = next(t for t in self.script if f": {t}\n=>" in request.prompt)
        if request.prompt.startswith(PROMPT):
            made = replace(made, text="none" if request.grammar else "Sure! Here are my notes:")
        return replace(made, logprob=self.logprob.get(turn_, -0.1), prompt_tokens=40)


@pytest.fixture
def conversations(tmp_path: Path) -> list[Conversation]:
    yesterday = {"text": "yesterday", "start": "2024-05-07", "end": "2024-05-07"}
    turns = [
        turn(1, "Odile", PIANO, [event("sold the piano", yesterday)]),
        turn(2, "Rune", SMALL_TALK, []),
        turn(3, "Odile", BIKE, [event("did not buy a bicycle")]),
    ]
    raw = {
        "id": "friends-90",
        "kind": "friends",
        "speakers": ["Odile", "Rune"],
        "sessions": [{"id": "S1", "time": "2024-05-08T10:00", "turns": turns}],
        "occurrences": [{"turns": ["S1:1", "S1:3"], "summary": "Told twice."}],
        "distinct": [],
        "questions": [],
    }
    (tmp_path / "friends-90.json").write_text(json.dumps(raw), encoding="utf-8")
    return [read(tmp_path / "friends-90.json")]


def test_counts_of_turns_add_up_to_the_figures_of_all() -> None:
    second = {(c.id, t.passage.id): t.extraction for c in load(CORPUS / "second") for t in c.turns}
    pairs = [
        (t.extraction, second[c.id, t.passage.id])
        for c in load(CORPUS)
        for t in c.turns
        if (c.id, t.passage.id) in second
    ][:40]
    told = extraction_figures([one for one, _ in pairs], [other for _, other in pairs])
    rows = np.stack([counts(*pair) for pair in pairs])
    for name, value in figures(rows.sum(axis=0)).items():
        if name not in ("valid", "unsupported"):
            assert value == pytest.approx(told[name]), name
    bounds = intervals(rows)["slot_f1"]
    assert bounds.low < bounds.value < bounds.high
    same = differences(rows, rows)["slot_f1"]
    assert same.value == same.low == same.high == 0.0


def extraction(n: int, action: str = "", confidence: float = 1.0) -> Extraction:
    events = (Event(("Ana",), action),) if action else ()
    return Extraction(str(n), events, (Fact("Ana", "did", action),) if action else (), confidence=confidence)


def test_a_cascade_pays_where_confidence_tells_good_from_bad() -> None:
    gold = [extraction(n, f"planted tree number {n}") for n in range(20)]
    said = [extraction(n, f"planted tree number {n}" if n >= 4 else "", 0.5 + n / 50) for n in range(20)]
    told = reliability(gold, said)
    assert [b["slot_f1"] for b in told["bins"]][0] == 0.0 and told["bins"][-1]["slot_f1"] == 1.0
    assert sum(b["turns"] for b in told["bins"]) == 20 and told["rank_correlation"] > 0.5
    steps = {round(s.share, 2): s for s in cascade(gold, said, {}, student_cost=0.1, teacher_cost=5.0)}
    assert steps[0.0].slot_f1 == pytest.approx(2 * 32 / (32 + 40)) and steps[0.0].cost == 0.1
    # The four that it missed are the four of which it was least sure.
    assert steps[0.2].slot_f1 == 1.0 > steps[0.2].random_slot_f1 and steps[0.2].below == pytest.approx(0.58)
    assert steps[0.2].cost == pytest.approx(0.1 + 0.2 * 5)
    assert steps[1.0].slot_f1 == steps[1.0].random_slot_f1 == 1.0
    # A teacher who agrees with the labels by half gives no more than that.
    half = cascade(gold, said, {"slot_f1": 0.5, "fact_f1": 0.5, "null_f1": 1.0})[-1]
    assert half.share == 1.0 and half.slot_f1 == pytest.approx(0.5) and half.cost is None
    text = cascade_table(finite(plain(list(steps.values()))), "EUR")
    assert "0.5800  20.0%" in text and "1.100" in text


def test_the_table_puts_base_student_and_ceiling_side_by_side(conversations: list[Conversation]) -> None:
    decoder = Doubting(GOOD, logprob={SMALL_TALK: -0.7})
    told = evaluate(
        conversations, parts(decoder, ScriptedJudge({frozenset({PIANO, BIKE}): 0.9})), prices=PAID, beside=2
    )
    base, student = told["baseline"]["base"], told["baseline"]["student"]
    assert told["baseline"]["turns"] == 2 and base["slot_f1"] == 0.0 and student["slot_f1"] == 1.0
    assert base["valid_without_grammar"] == 0.0 and student["valid_without_grammar"] == 1.0
    assert told["tokens_in_per_passage"] == 40 and told["slot_f1"] == 1.0
    assert told["teacher"]["cost_per_1000"] == pytest.approx(1000 * 2 / 1000 + 200 * 10 / 1000)
    assert told["cost_per_1000"] == pytest.approx(student_cost(told["passages_per_second"], PAID))
    assert told["judge_reliability"]["bins"] == [[pytest.approx(0.9), 1.0, 1]]
    assert [b["confidence"] for b in told["confidence"]["bins"]] == pytest.approx([np.exp(-0.7), *[np.exp(-0.1)] * 2])
    rows = {line[:24].strip(): line[24:].split() for line in comparison(told).splitlines()}
    assert rows["slot_f1"][:2] == ["0.000", "1.000"] and rows["slot_f1 time"][1] == "1.000"
    assert rows["valid_without_grammar"] == ["0.000", "1.000", "-"]
    assert rows["cost_per_1000"][0] == "-" and rows["cost_per_1000"][2] == "4.000"
    assert "on 2 turns" in comparison(told) and "| `tokens_in` | 40 | 40 | 1000 |" in markdown(told)
    # None of the decodings with and without grammar stood in for another.
    assert {r.grammar is None for r in decoder.asked} == {True, False}
    json.dumps(told, allow_nan=False)


def test_a_kept_run_still_has_every_figure_but_the_speed(conversations: list[Conversation], tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    first = evaluate(conversations, parts(Doubting(GOOD)), kept, prices=PAID, beside=2)
    again = Doubting(GOOD)
    second = evaluate(conversations, parts(again), kept, prices=PAID, beside=2)
    assert again.asked == []
    assert second["cost_per_1000"] is None and second["cascade"][0]["cost"] is None
    assert second["baseline"]["base"]["valid_without_grammar"] == first["baseline"]["base"]["valid_without_grammar"]
    assert "all outputs came from the cache" in comparison(second)


def test_the_page_holds_tables_and_plots(conversations: list[Conversation], tmp_path: Path) -> None:
    decoder = Doubting(GOOD, logprob={SMALL_TALK: -0.7})
    judge = ScriptedJudge({frozenset({PIANO, BIKE}): 0.9})
    told = evaluate(conversations, parts(decoder, judge), prices=PAID, beside=1)
    runs = []
    for share in (100, 25):
        (tmp_path / f"{share}.json").write_text(json.dumps(told | {"slot_f1": share / 200}))
        runs.append(f"{share}={tmp_path / f'{share}.json'}")
    scaling = read_scaling(runs)
    assert [share for share, _ in scaling] == [25, 100]
    page = write_report(tmp_path / "report", told, scaling, command="--split test").read_text()
    for plot in ("confidence", "judge", "cost", "scaling"):
        assert f"({plot}.png)" in page
        assert (tmp_path / "report" / f"{plot}.png").read_bytes().startswith(PNG)
    assert "| 25% | 0.125 |" in page and "python -m training.evaluate --split test" in page
    assert "| `slot_f1` | " in page and "0.36 EUR an hour" in page
    bare = write_report(
        tmp_path / "bare", told | {"cascade": [], "judge_reliability": None}, [], command=""
    ).read_text()
    assert "scaling.png" not in bare and "judge.png" not in bare


def test_what_a_report_cannot_use_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")
    for word in ("25", f"half={tmp_path / 'a.json'}", f"25={tmp_path / 'none.json'}", f"25={tmp_path / 'a.json'}"):
        with pytest.raises(InputError, match="--scaling"):
            read_scaling([word])
    router = tmp_path / "metrics.json"
    assert router_figures(router) == {}
    router.write_text(json.dumps({"regret": {"router": 0.02, "graph": 0.05}, "pairs": 7, "regret_note": "text"}))
    assert router_figures(router) == {"router.regret.router": 0.02, "router.regret.graph": 0.05}
    prices = tmp_path / "prices.yaml"
    prices.write_text("machine: {hour: -1}\nteacher: {price: 3}\n")
    with pytest.raises(ConfigError, match="machine.hour") as caught:
        load_prices(prices)
    assert "teacher.price" in str(caught.value)
    assert load_prices(PRICES).machine.hour > 0
    assert student_cost(2.0, PAID) == pytest.approx(0.05) and student_cost(None, PAID) is None


def test_a_sample_is_spread_evenly() -> None:
    assert sample(range(10), 3) == [0, 3, 6] and sample(range(2), 5) == [0, 1]
