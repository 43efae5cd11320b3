"""What the benchmarks share: methods, growing memories, gold labels, other memories over HTTP, costs, kept results."""

from __future__ import annotations

import json
import mmap
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seem.config import Config
from seem.errors import ConfigError, InputError, ModelError
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge, ScriptedReader
from seem.store.batch import Draft
from seem.types import Event, Extraction, Fact
from seem.wiring import Parts
from tests.training.openai_server import Answer, Server
from training.benchmarks.cases import Bench, Case, Query
from training.benchmarks.corpus import BENCH as CORPUS_BENCH
from training.benchmarks.corpus import case as corpus_case
from training.benchmarks.judging import Endpoint, EndpointJudge, Marking, load_judge, read_mark
from training.benchmarks.kept import Kept
from training.benchmarks.locomo import BENCH
from training.benchmarks.memories import Imported, import_case, in_parts
from training.benchmarks.meter import meter, peak_bytes, reset_peak, tokens
from training.benchmarks.methods import opened
from training.benchmarks.program import measure, numbers
from training.benchmarks.report import write_report
from training.benchmarks.run import Plan
from training.benchmarks.tables import tables
from training.corpus import CORPUS, read
from training.corpus.folder import paths

TEXTS = [
    "Ana moved to Porto.",
    "Nice weather today.",
    "Porto lies on the Douro.",
    "The cat sleeps all day long.",
    "Somebody sold an old piano.",
    "The train left at noon.",
]
EVENTS = {text: (Event(("Ana",), text),) for text in TEXTS}
FACTS = {TEXTS[0]: (Fact("Ana", "moved to", "Porto"),), TEXTS[2]: (Fact("Porto", "lies on", "the Douro"),)}
SCRIPT = {text: Extraction("", EVENTS[text], FACTS.get(text, ())) for text in TEXTS}


def case(name: str = "one", texts: list[str] = TEXTS) -> Case:
    drafts = tuple(
        Draft(text, f"{name}/{n}", session=f"S{n // 2}", metadata={"dia_id": f"t{n}"}) for n, text in enumerate(texts)
    )
    queries = (
        Query("Where did Ana move to?", "Porto", ("t0", "t2"), "1"),
        Query("Who sold the piano?", "Somebody", ("t4",), "4"),
        Query("Who bought the train?", "Not mentioned", ("t5",), "5", trap="Ana"),
    )
    return Case(name, drafts, queries, "dia_id", "hash")


def models(extractor: Any = None, **config: Any) -> Parts:
    return Parts(
        Config.from_dict(config),
        encoder=HashingEncoder(256),
        extractor=extractor or ScriptedExtractor(SCRIPT),
        judge=ScriptedJudge(),
        reader=ScriptedReader(),
    )


@pytest.fixture
def imported(tmp_path: Path) -> Iterator[Imported]:
    memory = import_case(case(), models(), tmp_path)
    yield memory
    memory.pipeline.parts.store.close()


def test_the_graph_reaches_what_shares_no_word_with_the_question(imported: Imported) -> None:
    question = "Where did Ana go?"
    found = opened("graph", imported).ask(question, 2, 1000)
    assert found.labels == ("t0", "t2")
    assert "t2" not in opened("dense", imported).ask(question, 1, 1000).labels


def test_without_facts_the_graph_ranks_by_the_vector(tmp_path: Path) -> None:
    bare = ScriptedExtractor({text: Extraction("", EVENTS[text]) for text in TEXTS})
    memory = import_case(case(), models(bare), tmp_path)
    asked = [opened(name, memory).ask("Who sold the piano?", 6, 1000).labels for name in ("graph", "dense")]
    assert asked[0] == asked[1] and asked[0][0] == "t4"


def test_each_switch_takes_its_part_out_of_the_context(imported: Imported) -> None:
    def text(method: str) -> str:
        return opened(method, imported).ask("Where did Ana move to?", 4, 1000).text

    assert "Events:" in text("seem") and "Facts:" in text("seem")
    assert "Events:" not in text("seem-no-frames") and "Facts:" in text("seem-no-frames")
    assert "Events:" in text("seem-no-facts") and "Facts:" not in text("seem-no-facts")
    for method in ("dense", "bm25", "rrf", "graph"):
        assert text(method).startswith("Passages:\n[1] ") and "Events:" not in text(method)


def test_the_router_and_expansion_are_switched(tmp_path: Path) -> None:
    same = ScriptedJudge({frozenset((TEXTS[0], TEXTS[3])): 0.9})
    parts = Parts(Config(), encoder=HashingEncoder(256), extractor=ScriptedExtractor(SCRIPT), judge=same)
    memory = import_case(case(), parts, tmp_path)

    def labels(method: str) -> tuple[str, ...]:
        return opened(method, memory).ask("Ana moved to Porto.", 3, 1000).labels

    # No word of the question asks for a story, so that only the method without a router brings the other turn of it.
    assert "t3" in labels("seem-no-router") and "t3" not in labels("seem") and "t3" not in labels("seem-no-expansion")


def test_parts_are_whole_sessions() -> None:
    def cut(sessions: str, parts: int) -> list[str]:
        return ["".join(part) for part in in_parts(sessions, parts, str)]

    assert cut("aabbccdd", 4) == ["aa", "bb", "cc", "dd"]
    assert cut("aaaaaabc", 4) == ["aaaaaa", "b", "c"]
    assert cut("abcdefgh", 4) == ["ab", "cd", "ef", "gh"]
    assert cut("aaaa", 4) == ["aaaa"] and cut("abc", 1) == ["abc"] and "".join(cut("aabcccddde", 4)) == "aabcccddde"


def test_a_memory_that_grows_is_another_memory(tmp_path: Path) -> None:
    extractor = ScriptedExtractor(SCRIPT)
    grown = measure(BENCH, [case()], Plan(("seem",), (3,), 1000, parts=4), models(extractor), tmp_path)
    assert extractor.calls == TEXTS
    assert len(grown["methods"]["seem"]["cost"]["part_seconds"][0]) == 3
    assert grown["settings"]["mode"] == "incremental in 4 parts"
    whole = measure(BENCH, [case()], Plan(("seem",), (3,), 1000), models(extractor), tmp_path)
    assert len(extractor.calls) == 2 * len(TEXTS) and len(list(tmp_path.glob("*.db"))) == 2
    assert whole["methods"]["seem"]["recall"]["3"] > 0.5


def test_gold_labels_take_the_place_of_the_students(tmp_path: Path) -> None:
    conversation = read(paths(CORPUS)[0])
    gold = corpus_case(conversation)
    student = ScriptedExtractor()
    parts = Parts(Config(), encoder=HashingEncoder(), extractor=student, judge=ScriptedJudge())
    report = measure(CORPUS_BENCH, [gold], Plan(("rrf", "seem-gold"), (10,), 1500), parts, tmp_path)
    assert set(report["methods"]["seem-gold"]["by_category"]) == {q.type for q in conversation.questions}
    labelled = Parts(Config(), encoder=HashingEncoder(), extractor=gold.gold[0], judge=gold.gold[1])  # type: ignore[index]
    memory = import_case(gold, labelled, tmp_path)
    assert memory.counts["fused_frames"] > 0 and memory.counts["facts"] > 0
    with pytest.raises(InputError, match="seem-gold needs labelled"):
        measure(BENCH, [case()], Plan(("seem-gold",), (3,), 100), models(), tmp_path)


class Remote:
    """Another memory: gives the passages in the order in which they came, or what the test wants."""

    def __init__(self) -> None:
        self.memories: dict[str, list[str]] = {}
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.search: Callable[[list[str], dict[str, Any]], Any] = lambda ids, body: ids
        self.status = 200

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.requests.append((path, body))
        if path == "/reset":
            self.memories[body["memory"]] = []
            return {}
        if path == "/add":
            self.memories[body["memory"]] += [row["id"] for row in body["passages"]]
            return {"tokens_in": 10, "tokens_out": 2, "bytes": 600}
        return {"passages": self.search(self.memories[body["memory"]], body)}


@pytest.fixture
def remote() -> Iterator[tuple[Remote, str]]:
    memory = Remote()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(memory.answer(self.path, body)).encode()
            self.send_response(memory.status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield memory, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def over_http(url: str, folder: Path, **more: Any) -> dict[str, Any]:
    told = measure(BENCH, [case()], Plan(("http",), (1, 3), 1000, http=url, **more), models(), folder)
    over: dict[str, Any] = told["methods"]["http"]
    return over


def test_any_memory_is_measured_over_http(remote: tuple[Remote, str], tmp_path: Path) -> None:
    memory, url = remote
    told = over_http(url, tmp_path)
    assert told["by_category"] == {"4": {"1": 0, "3": 0}, "1": {"1": 0.5, "3": 1.0}, "5": {"1": 0, "3": 0}}
    assert told["cost"]["tokens_in_per_passage"] == pytest.approx(10 / 6)
    assert told["cost"]["bytes_per_passage"] == 100
    assert [path for path, _ in memory.requests[:3]] == ["/reset", "/add", "/search"]
    assert memory.requests[1][1]["passages"][0] == {
        "id": "t0", "text": TEXTS[0], "speaker": "", "session": "S0", "time": None, "image": "",
    }  # fmt: skip
    assert memory.requests[2][1] == {"memory": "one", "question": "Where did Ana move to?", "k": 1}


def test_a_memory_that_answers_nonsense_is_refused(remote: tuple[Remote, str], tmp_path: Path) -> None:
    memory, url = remote
    memory.search = lambda ids, body: ["t99"]
    with pytest.raises(ModelError, match="'t99', which was never added"):
        over_http(url, tmp_path)
    memory.search = lambda ids, body: None
    with pytest.raises(ModelError, match="list of ids under passages"):
        over_http(url, tmp_path)
    memory.status = 500
    with pytest.raises(ModelError, match="check --http"):
        over_http(url, tmp_path)


def test_a_run_that_was_killed_asks_only_what_is_left(remote: tuple[Remote, str], tmp_path: Path) -> None:
    memory, url = remote

    def dies(ids: list[str], body: dict[str, Any]) -> list[str]:
        return ids if sum(path == "/search" for path, _ in memory.requests) <= 4 else ["gone"]

    memory.search = dies
    with pytest.raises(ModelError):
        over_http(url, tmp_path)
    memory.search = lambda ids, body: ids
    memory.requests.clear()
    told = over_http(url, tmp_path)
    assert [body["k"] for path, body in memory.requests if path == "/search"] == [1, 3]
    memory.requests.clear()
    assert over_http(url, tmp_path) == told and not memory.requests
    # Another budget of tokens is another result.
    assert measure(BENCH, [case()], Plan(("http",), (1,), 5, http=url), models(), tmp_path) and memory.requests


def test_kept_lines_survive_a_kill_and_damage_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    first = Kept(path)
    assert first.get("a", lambda: {"text": "line\u2028break"}) == {"text": "line\u2028break"}
    first.get("b", lambda: 2)
    with path.open("a") as file:
        file.write('["c", 3')
    again = Kept(path)
    assert "c" not in again and again.get("a", list) == {"text": "line\u2028break"}
    assert again.get("c", lambda: 4) == 4 and Kept(path).get("c", list) == 4
    path.write_text("nonsense\n")
    with pytest.raises(InputError, match="delete the file"):
        Kept(path)


def test_costs_of_baselines_are_their_own(imported: Imported) -> None:
    size = sum(len(text) for text in TEXTS)
    dense, bm25, rrf = (opened(name, imported).cost for name in ("dense", "bm25", "rrf"))
    assert dense.bytes == size + 6 * 256 * 4
    assert bm25.bytes is not None and rrf.bytes is not None and bm25.bytes > size
    assert rrf.bytes == dense.bytes + bm25.bytes - size
    assert (dense.tokens_in, bm25.tokens_out) == (0, 0) and dense.seconds > 0
    ours = opened("seem", imported).cost
    assert ours == imported.cost and ours.bytes is not None and ours.bytes > rrf.bytes and ours.peak_bytes
    assert opened("graph", imported).cost.seconds > ours.seconds


def test_tokens_are_counted_where_they_are_generated() -> None:
    decoder = SimpleNamespace(observe=None)
    parts = models()
    assert tokens(parts) is None
    parts.decoder = decoder  # type: ignore[assignment]
    assert tokens(parts) is None
    meter(parts)
    decoder.observe([SimpleNamespace(prompt_tokens=7, tokens=3), SimpleNamespace(prompt_tokens=5, tokens=1)])
    assert tokens(parts) == (12, 4)


def test_the_peak_is_that_since_the_reset() -> None:
    reset_peak()
    before = peak_bytes()
    # Pages of its own: what is allocated may lie where something else has been before.
    with mmap.mmap(-1, 64 * 2**20) as block:
        block[::4096] = b"x" * len(block[::4096])
        assert peak_bytes() >= before + 48 * 2**20


def test_the_judge_marks_each_answer_once_and_tells_what_it_could_not_read(tmp_path: Path) -> None:
    def respond(body: dict[str, Any]) -> Answer:
        text = body["messages"][0]["content"]
        if "Porto</" in text.replace("\n", "") and "Porto" in text.split("<answer>")[1]:
            return Answer({"reason": "the same", "label": "CORRECT"})
        return Answer("I cannot say.")

    with Server(respond) as server:
        judge = EndpointJudge(Endpoint(server.url, "judge"))
        blocks = (("question", "Where?"), ("right_answer", "Porto"))
        asked = [Marking("locomo", "label", (*blocks, ("answer", text))) for text in ("Porto", "<b>Lisbon", "Porto")]
        marks = judge.mark(asked, Kept(tmp_path / "judged.jsonl"))
        assert [(mark.right, mark.readable) for mark in marks] == [(True, True), (False, False), (True, True)]
        assert len(server.requests) == 2 and "‹b>Lisbon" in str(server.requests)
        assert judge.mark(asked, Kept(tmp_path / "judged.jsonl")) == marks and len(server.requests) == 2


def test_the_label_is_read_from_whatever_the_judge_says() -> None:
    told = ['{"reason": "x", "label": "CORRECT"}', '```json\n{"label": "wrong"}\n```', "It is WRONG", "CORRECT", "hm"]
    assert [read_mark(text, "label").right for text in told] == [True, False, False, True, False]
    assert [read_mark(text, "label").readable for text in told] == [True, True, True, True, False]


def test_answers_are_judged_beside_their_scores_and_written_as_a_report(tmp_path: Path) -> None:
    bench: Bench = BENCH
    with Server(lambda body: Answer({"reason": "r", "label": "CORRECT"})) as server:
        judge = EndpointJudge(Endpoint(server.url, "large"))
        plan = Plan(("bm25", "seem"), (1, 3), 1000, answer_k=3)
        report = measure(bench, [case()], plan, models(), tmp_path, judge=judge)
    for told in report["methods"].values():
        assert told["answers"]["judge"] == "large"
        assert told["answers"]["scores"]["judge"] == {
            "mean": 1.0, "mean_answerable": 1.0, "count": 2, "by_category": {"4": 1.0, "1": 1.0}, "unreadable": 0,
        }  # fmt: skip
        assert told["answers"]["scores"]["official_f1"]["count"] == 3
    shown = tables(report, (1, 3), bench)
    assert "(constant)" in shown and "judge" in shown and "bytes/pass." in shown
    write_report(report, (1, 3), bench, tmp_path / "report", ["python", "-m", "x", "a b"])
    text = (tmp_path / "report" / "report.md").read_text()
    assert "python -m x 'a b'" in text and "judge `large`" in text and "| bm25 |" in text
    assert (tmp_path / "report" / "recall.png").stat().st_size > 5000
    assert (tmp_path / "report" / "tokens.png").stat().st_size > 5000


def test_the_judges_configuration_builds_and_tells_its_problems(tmp_path: Path) -> None:
    assert load_judge(Path(__file__).parents[2] / "configs" / "benchmarks" / "judge.yaml").name
    bad = tmp_path / "bad.yaml"
    bad.write_text("endpoint: {base_url: nowhere, modell: x}\n")
    with pytest.raises(ConfigError) as caught:
        load_judge(bad)
    assert all(told in str(caught.value) for told in ("endpoint.base_url", "endpoint.model", "endpoint.modell"))


def test_budgets_are_read() -> None:
    assert numbers("20,3,5,3") == (3, 5, 20)
    for wrong in ("five", "0,5", ""):
        with pytest.raises(InputError, match="--k"):
            numbers(wrong)
