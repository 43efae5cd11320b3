"""The teacher against a real server on loopback: labels end to end, nothing paid twice, the budget kept, rejects with reasons."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from seem.errors import ConfigError, InputError
from tests.training.openai_server import Answer, Server, block, event, frame
from training.corpus import read
from training.corpus.check import check
from training.teacher.__main__ import main
from training.teacher.settings import load_settings
from training.teacher.sources import read_sources

ROOT = Path(__file__).parents[2]
TURNS = [
    ("Ana", "I adopted a puppy called Miso."),
    ("Ben", "Nice!"),
    ("Ana", "Miso ate my red shoe yesterday."),
    ("Ben", "Ha, ha."),
]


def config(folder: Path, url: str, **changes: Any) -> Path:
    told: dict[str, Any] = {
        "endpoint": {"base_url": url, "model": "big", "retries": 3, "concurrency": 4},
        "price": {"input": 10.0, "output": 50.0},
    }
    for section, values in changes.items():
        told[section] = {**told.get(section, {}), **values} if isinstance(values, dict) else values
    path = folder / "teacher.yaml"
    path.write_text(json.dumps(told))
    return path


def passages(folder: Path, count: int = 4) -> Path:
    rows = [
        {
            "id": f"m{n}",
            "conversation": "c1",
            "time": "2024-05-06T09:00",
            "speaker": who,
            "text": text if n < 4 else f"{text} {n}",
        }
        for n in range(count)
        for who, text in [TURNS[n % 4]]
    ]
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def annotate(body: dict[str, Any]) -> Answer:
    """Label as a good teacher would."""
    text = block(body, "passage")
    if "adopted" in text:
        return Answer(frame(event(["Ana"], "adopted a puppy called Miso"), summary="Ana adopted a puppy called Miso."))
    if "shoe" in text:
        time_ = {"text": "yesterday", "start": "2024-05-05", "end": "2024-05-05"}
        facts = [{"s": "Miso", "r": "ate", "o": "red shoe", "time": time_}]
        return Answer(
            frame(event(["Miso"], "ate the red shoe", time=time_), facts=facts, summary="Miso ate Ana's red shoe.")
        )
    return Answer(frame())


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def ledger(out: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((out / "ledger.json").read_text())
    return told


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_passages_become_a_conversation_that_the_corpus_takes(tmp_path: Path, out: Path) -> None:
    # 4 of 10 turns empty lies in the validator's range.
    def respond(body: dict[str, Any]) -> Answer:
        return (
            annotate(body)
            if block(body, "passage") != "Ben: Nice! 5"
            else Answer(frame(event(["Ben"], "says nice"), summary="Ben says nice."))
        )

    with Server(respond) as server:
        arguments = ["label", "--config", str(config(tmp_path, server.url)), str(passages(tmp_path, 10)), str(out)]
        assert main(arguments) == 0
        first = len(server.requests)
        assert main(arguments) == 0
        assert len(server.requests) == first == 10
    conversation = read(out / "conversations" / "c1.json")
    assert check(json.loads((out / "conversations" / "c1.json").read_text()))[0] == []
    shoe = conversation.turns[2].extraction
    assert shoe.events[0].time and shoe.events[0].time.start == "2024-05-05" and shoe.facts[0].object == "red shoe"
    assert conversation.turns[1].extraction.events == () and rows(out / "rejects.jsonl") == []
    assert json.loads((out / "ids" / "c1.json").read_text())["S1:3"] == "m2"
    told = ledger(out)
    assert told["this_run"] == {"requests": 0, "tokens_in": 0, "tokens_out": 0, "cost": 0.0, "from_cache": 10}
    assert told["all_runs"]["requests"] == 10 and told["all_runs"]["cost"] == pytest.approx(
        10 * (100 * 10 + 20 * 50) / 1e6
    )
    # The labeller is shown the two turns before, no more.
    third = next(r for r in server.requests if "shoe yesterday." in block(r, "passage"))
    assert "adopted" in block(third, "before") and third["response_format"]["type"] == "json_schema"


def test_a_killed_run_continues_without_paying_twice(tmp_path: Path, out: Path) -> None:
    def slow(body: dict[str, Any]) -> Answer:
        return Answer(frame(), delay=0.05)

    with Server(slow) as server:
        arguments = [
            "label",
            "--config",
            str(config(tmp_path, server.url, endpoint={"concurrency": 2})),
            str(passages(tmp_path, 40)),
            str(out),
        ]
        environment = {**os.environ, "OPENAI_API_KEY": "k"}
        process = subprocess.Popen(
            [sys.executable, "-m", "training.teacher", *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while len(server.served) < 8 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = len(server.requests)
        assert 8 <= before < 40
        assert main(arguments) == 0
        # Only what was under way when the process died is asked again.
        assert len(server.requests) <= 40 + 2
    assert ledger(out)["this_run"]["from_cache"] >= before - 2
    assert ledger(out)["all_runs"]["requests"] == 40


def test_an_interrupt_finishes_what_is_under_way_and_says_how_to_go_on(tmp_path: Path, out: Path) -> None:
    with Server(lambda _b: Answer(frame(), delay=0.05)) as server:
        arguments = [
            "label",
            "--config",
            str(config(tmp_path, server.url, endpoint={"concurrency": 2})),
            str(passages(tmp_path, 40)),
            str(out),
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "training.teacher", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 60
        while len(server.served) < 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        asked = len(server.requests)
        assert process.returncode == 3 and "interrupted by SIGTERM; the same command continues" in errors
        assert ledger(out)["all_runs"]["requests"] == asked < 40


def test_the_budget_is_never_passed_and_covers_all_runs(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(annotate) as server:
        price = {"input": 0.0, "output": 100.0, "budget": 0.03}
        path = config(tmp_path, server.url, price=price, answers={"max_tokens": 100})
        arguments = ["label", "--config", str(path), str(passages(tmp_path, 40)), str(out)]
        assert main(arguments) == 3
        asked = len(server.requests)
        # An answer costs 0.002 and at worst 0.01: the last that fits begins at 0.02.
        assert 10 <= asked <= 11 and ledger(out)["all_runs"]["cost"] <= 0.03
        assert "the budget of 0.03 USD is spent" in capsys.readouterr().err
        assert main(arguments) == 3 and len(server.requests) == asked
        config(tmp_path, server.url, price={**price, "budget": 1.0}, answers={"max_tokens": 100})
        assert main(arguments) == 0 and len(server.requests) == 40


def test_rejects_have_reasons_and_good_turns_stay(tmp_path: Path, out: Path) -> None:
    """O-02: a label that is not in the text is sent back with its fault, then rejected."""
    stranger = frame(
        event(["Amara Holt"], "adopted a puppy", time={"text": "last May", "start": None, "end": None}), summary="x"
    )

    def respond(body: dict[str, Any]) -> Answer:
        return Answer(stranger) if "adopted" in block(body, "passage") else annotate(body)

    with Server(respond) as server:
        assert main(["label", "--config", str(config(tmp_path, server.url)), str(passages(tmp_path)), str(out)]) == 0
    asked = [r for r in server.requests if "adopted" in block(r, "passage")]
    # The third attempt would be the second again, word for word: nobody pays for that.
    assert len(asked) == 2 and "'Amara Holt' is not in what was shown" in asked[1]["messages"][-1]["content"]
    turn, conversation = rows(out / "rejects.jsonl")
    assert turn["id"] == "c1/S1:1" and turn["state"] == "rejected" and "Amara Holt" in turn["answer"]
    assert any("'last May'" in reason for reason in turn["reasons"])
    assert conversation["id"] == "c1" and any("S1:1: wrong keys" in reason for reason in conversation["reasons"])
    raw = json.loads((out / "rejected" / "c1.json").read_text())
    assert "frame" not in raw["sessions"][0]["turns"][0] and raw["sessions"][0]["turns"][2]["frame"]


def test_a_second_answer_mends_the_first(tmp_path: Path, out: Path) -> None:
    """O-01: cut off, unreadable, then right."""
    whole = annotate({"messages": [{"role": "user", "content": "<passage>\nAna: I adopted\n</passage>"}]})
    faults = [Answer('{"events": [{"participants": ["An', finish="length"), Answer("Sure! Here you go."), whole]

    def respond(body: dict[str, Any]) -> Answer:
        return faults.pop(0) if "adopted" in block(body, "passage") else annotate(body)

    with Server(respond) as server:
        assert main(["label", "--config", str(config(tmp_path, server.url)), str(passages(tmp_path, 1)), str(out)]) == 0
    assert [r["max_tokens"] for r in server.requests] == [2048, 4096, 4096]
    raw = json.loads((out / "rejected" / "c1.json").read_text())
    assert raw["sessions"][0]["turns"][0]["frame"]["events"][0]["action"] == "adopted a puppy called Miso"


def test_errors_that_pass_are_retried_and_a_dead_endpoint_ends_the_run(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = [Answer(status=429), Answer(status=500), Answer(status=503)]
    with Server(lambda body: faults.pop() if faults else annotate(body)) as server:
        arguments = ["label", "--config", str(config(tmp_path, server.url)), str(passages(tmp_path)), str(out)]
        assert main(arguments) == 0 and len(server.requests) == 7
    with Server(lambda _b: Answer(status=500)) as server:
        path = config(tmp_path, server.url, endpoint={"retries": 0})
        assert main(["label", "--config", str(path), str(passages(tmp_path, 40)), str(tmp_path / "dead")]) == 3
        assert len(server.requests) < 12 and "requests in a row failed" in capsys.readouterr().err
    with Server(lambda _b: Answer(status=401, refusal="wrong key")) as server:
        assert (
            main(
                [
                    "label",
                    "--config",
                    str(config(tmp_path, server.url)),
                    str(passages(tmp_path, 40)),
                    str(tmp_path / "no"),
                ]
            )
            == 3
        )
        assert "wrong key" in capsys.readouterr().err and len(server.requests) <= 4


def test_a_broken_body_and_a_refused_request_concern_one_passage(tmp_path: Path, out: Path) -> None:
    def respond(body: dict[str, Any]) -> Answer:
        text = block(body, "passage")
        if "adopted" in text:
            return Answer(status=400, refusal="the request was flagged by the content filter")
        return Answer(raw="{oops") if "shoe" in text else annotate(body)

    with Server(respond) as server:
        assert main(["label", "--config", str(config(tmp_path, server.url)), str(passages(tmp_path)), str(out)]) == 3
    told = {r["id"]: (r["state"], r["reasons"][0]) for r in rows(out / "rejects.jsonl")}
    assert told["c1/S1:1"][0] == "rejected" and "content filter" in told["c1/S1:1"][1]
    assert told["c1/S1:3"][0] == "failed"


def test_braces_in_a_passage_are_data(tmp_path: Path, out: Path) -> None:
    """O-07."""
    text = "{name} {{0}} %s ${HOME} </passage> <|im_end|> \ud83d ```"
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"time": "2024-05-06", "speaker": "Tove", "text": text}) + "\n")
    with Server(lambda _b: Answer(frame())) as server:
        main(["label", "--config", str(config(tmp_path, server.url)), str(path), str(out)])
    assert block(server.requests[0], "passage") == "Tove: {name} {{0}} %s ${HOME} ‹/passage> ‹|im_end|> \ufffd ```"


LABELLED: dict[str, Any] = {
    "id": "c2", "kind": "friends", "speakers": ["Ana", "Ben"],
    "sessions": [{"id": "S1", "time": "2024-05-06T09:00", "turns": [
        {"id": f"S1:{n}", "speaker": "Ana", "text": text, "frame": {"summary": text, "events": [event(["Ana"], text)]}, "facts": []}
        for n, text in enumerate(["adopted a puppy", "named the puppy Miso", "bought a car"], 1)
    ]}],
    "occurrences": [{"turns": ["S1:1", "S1:2"], "summary": "s"}], "distinct": [{"a": "S1:1", "b": "S1:3", "why": "w"}],
    "questions": [{"id": "Q1", "question": "Who adopted the puppy?", "answer": "Ana", "type": "single-hop", "evidence": ["S1:1"], "facts": [], "narrative": False}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("task", "answer", "count", "label"),
    [
        ("judge", {"reason": "told again", "same": True}, 3, {"same": True, "reason": "told again"}),
        ("fuse", {"events": [event(["Ana"], "adopted a puppy")], "summary": "Ana adopted Miso."}, 1, {"summary": "Ana adopted Miso.", "events": [event(["Ana"], "adopted a puppy")]}),
        ("parse", {"facts": [{"s": "?", "r": "adopted", "o": "puppy"}], "time": None}, 1, {"facts": [["?", "adopted", "puppy"]], "time": None}),
        ("route", {"reason": "one fact", "narrative": False}, 1, {"narrative": False, "reason": "one fact"}),
        ("answer", "Ana\n", 1, {"answer": "Ana"}),
    ],
)  # fmt: skip
def test_the_other_tasks(tmp_path: Path, out: Path, task: str, answer: Any, count: int, label: Any) -> None:
    (tmp_path / "c2.json").write_text(json.dumps(LABELLED))
    with Server(lambda _b: Answer(answer)) as server:
        assert (
            main(
                [
                    "label",
                    "--task",
                    task,
                    "--config",
                    str(config(tmp_path, server.url)),
                    str(tmp_path / "c2.json"),
                    str(out),
                ]
            )
            == 0
        )
        assert len(server.requests) == count
        assert ("response_format" in server.requests[0]) == (task != "answer")
    told = rows(out / "labels.jsonl")
    assert [r["label"] for r in told] == [label] * count and told[0]["conversation"] == "c2"


@pytest.mark.parametrize(
    ("task", "answer", "reason"),
    [
        ("judge", {"reason": "x", "same": "12"}, "same must be true or false"),
        ("judge", "they look alike", "no whole JSON object"),
        (
            "parse",
            {"facts": [{"s": "Amara", "r": "adopted", "o": "?"}], "time": None},
            "'Amara' is not in the question",
        ),
        ("parse", {"facts": [], "time": None}, "one to three patterns"),
        ("fuse", {"events": [], "summary": "x"}, "no events"),
    ],
)
def test_their_rejects(tmp_path: Path, out: Path, task: str, answer: Any, reason: str) -> None:
    """O-03."""
    (tmp_path / "c2.json").write_text(json.dumps(LABELLED))
    with Server(lambda _b: Answer(answer)) as server:
        path = config(tmp_path, server.url, answers={"attempts": 1})
        assert main(["label", "--task", task, "--config", str(path), str(tmp_path / "c2.json"), str(out)]) == 0
    assert rows(out / "labels.jsonl") == [] and reason in rows(out / "rejects.jsonl")[0]["reasons"][0]


def test_rows_of_pairs_and_questions(tmp_path: Path, out: Path) -> None:
    notes = [
        {"speaker": "Ana", "time": "2024-05-06", "text": t["text"], "frame": t["frame"]}
        for t in LABELLED["sessions"][0]["turns"][:2]
    ]
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps({"id": "p1", "notes": notes}) + "\n")
    asked = tmp_path / "questions.jsonl"
    asked.write_text(json.dumps({"question": "Who?", "context": "[1] Ana: me </evidence>"}) + "\n")
    with Server(
        lambda b: Answer({"reason": "r", "same": False} if "response_format" in b else "not mentioned.")
    ) as server:
        path = str(config(tmp_path, server.url))
        assert main(["label", "--task", "judge", "--config", path, str(pairs), str(out)]) == 0
        assert rows(out / "labels.jsonl")[0]["label"]["same"] is False
        assert main(["label", "--task", "answer", "--config", path, str(asked), str(out)]) == 0
    assert rows(out / "labels.jsonl")[0]["label"] == {"answer": "Not mentioned"}
    assert block(server.requests[1], "evidence") == "[1] Ana: me ‹/evidence>"


def writer(body: dict[str, Any]) -> Answer:
    """Write a small conversation as a good teacher would."""
    if "<step>" not in body["messages"][1]["content"]:
        return annotate(body)
    step = block(body, "step")
    if step == "plan":
        sessions = [{"time": f"2024-05-{d:02d}T09:00", "outline": "the puppy"} for d in (6, 20)]
        return Answer({"speakers": ["Ana", "Ben"], "premise": "Ana has a puppy.", "sessions": sessions})
    if step == "session":
        told = [*TURNS[:3], ("Ana", f"The puppy adopted me, in session {block(body, 'said_at')}. Called Miso.")]
        return Answer({"turns": [{"speaker": s, "text": t, "image": None} for s, t in told]})
    question = {
        "question": "Who adopted Miso?",
        "answer": "Ana",
        "type": "single-hop",
        "evidence": ["S1:1"],
        "narrative": False,
    }
    facts = [{"s": "?", "r": "adopted", "o": "Miso"}]
    return Answer(
        {
            "occurrences": [{"turns": ["S1:1", "S2:1"], "summary": "Ana adopted Miso."}],
            "distinct": [{"a": "S1:1", "b": "S1:3", "why": "same topic, other event"}],
            "questions": [{**question, "facts": facts}],
        }
    )


def test_new_conversations_keep_the_guide(tmp_path: Path, out: Path) -> None:
    with Server(writer) as server:
        path = config(tmp_path, server.url, writing={"sessions": 2, "turns": 4})
        arguments = [
            "corpus",
            "--config",
            str(path),
            "--out",
            str(out),
            "--kind",
            "friends",
            "--domain",
            "dogs",
            "--language",
            "English",
        ]
        assert main([*arguments, "--count", "2"]) == 0
        paid = len(server.requests)
        assert main([*arguments, "--count", "3"]) == 0
        written = [json.loads(p.read_text()) for p in sorted((out / "conversations").glob("*.json"))]
        assert [w["id"] for w in written] == ["friends-t1-001", "friends-t1-002", "friends-t1-003"]
        # Of the third only plan, sessions and links are new: its turns are the same, and labelled already.
        assert paid < len(server.requests) <= paid + 4
    assert all(check(w)[0] == [] for w in written) and rows(out / "rejects.jsonl") == []
    assert block(server.requests[0], "domain") == "dogs" and server.requests[0]["temperature"] == 0.9


def test_a_conversation_against_the_guide_is_rejected(tmp_path: Path, out: Path) -> None:
    def respond(body: dict[str, Any]) -> Answer:
        found = writer(body)
        return (
            Answer({**found.content, "distinct": []})
            if isinstance(found.content, dict) and "distinct" in found.content
            else found
        )

    with Server(respond) as server:
        path = config(tmp_path, server.url, writing={"sessions": 2, "turns": 4})
        assert main(["corpus", "--config", str(path), "--out", str(out), "--count", "1"]) == 0
    [told] = rows(out / "rejects.jsonl")
    assert told["step"].endswith("/links") and told["reasons"] == ["fewer distinct pairs than occurrences"]


def test_the_shipped_configuration_loads_and_mistakes_are_named(tmp_path: Path) -> None:
    assert load_settings(ROOT / "configs" / "teacher.yaml").endpoint.concurrency == 16
    path = tmp_path / "bad.yaml"
    path.write_text("endpoint: {base_url: 'ftp://x', modle: big}\nprice: {budget: 1}\nbudget: 3\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    for told in (
        "endpoint.base_url: expected an http(s) address",
        "endpoint.modle: unknown",
        "endpoint.model: must be given",
        "price.budget: a budget needs",
        "budget: unknown",
    ):
        assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ('{"time": "2024-05-06", "speaker": "A", "text": "x"}\n{"time"\n', "line 2: not JSON"),
        ('{"time": "2024-05-06", "text": "x"}\n', "line 1: an object with text, speaker, time"),
        ('{"time": "yesterday", "speaker": "A", "text": "x"}\n', "line 1: time must be an ISO time"),
        ('{"time": "2024-05-06", "speaker": "A", "text": " "}\n', "line 1: text and speaker"),
        ('{"time": "2024-05-06", "speaker": "A", "text": "x", "conversation": "../../x"}\n', "must be letters, digits"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        read_sources(path)


def test_a_language_without_blanks_is_checked_by_its_letters() -> None:
    def size(action: str) -> float:
        turn = {
            "id": "S1:1",
            "speaker": "林舟",
            "text": "我上周在青溪书店买了一本书。",
            "frame": {"summary": "s", "events": [event(["林舟"], action)]},
        }
        session = {"id": "S1", "time": "2024-05-06T09:00", "turns": [turn | {"facts": []}]}
        _, found = check(
            {
                **LABELLED,
                "speakers": ["林舟"],
                "sessions": [session],
                "occurrences": [],
                "distinct": [],
                "questions": [],
            }
        )
        assert found is not None
        return found.support

    assert size("在青溪书店买了一本书") == 1.0 and size("在东京参加了马拉松比赛") == 0.0
