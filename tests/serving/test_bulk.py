"""Bulk import: files are cut without losing a line, a shard goes in once and in order, and two Ray workers do all of it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seem.errors import InputError, ModelError, StoreError
from seem.memory import Memory
from seem.models.fakes import ScriptedExtractor
from seem.store.verify import verify
from serving.bulk import job
from serving.bulk.__main__ import main
from serving.bulk.importer import Importer
from serving.bulk.pieces import cut, rows, shard_of
from serving.bulk.report import Report
from tests.flows.people import SCRIPT, TARTU, parts
from tests.postgres import Cluster

PEOPLE = [f"p{n}" for n in range(12)]


def written(path: Path, lines: list[Any]) -> Path:
    texts = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return path


def line(user: str, text: str, **more: Any) -> dict[str, Any]:
    return {"user_id": user, "text": text, "speaker": user, "time": "2024-01-02T10:00:00+00:00", **more}


def shards(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for shard in sorted({row["shard"] for row in lines}):
        mine = [row for row in lines if row["shard"] == shard]
        yield {name: np.array([row[name] for row in mine], dtype=object) for name in mine[0]}


def test_pieces_hold_every_line_once_with_its_number(tmp_path: Path) -> None:
    texts = [
        "",
        "{",
        "[]",
        *(line("ana", "x" * n + "\u2028é") for n in range(60)),
        line("", "nobody"),
        {"text": "whose?"},
    ]
    one = written(tmp_path / "one.jsonl", texts)
    two = tmp_path / "two.jsonl"
    two.write_bytes(b'{"user_id": "bo", "text": "no line break at the end"}')
    given = [text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in texts]
    for size in (1, 7, 100, 10_000):
        pieces = cut([one, two], size)
        assert len(pieces) > 1
        found = [row for piece in pieces for row in rows(piece, 4, (), {})]
        assert [(row["file"], row["line"]) for row in found] == [
            *((str(one), number) for number, text in enumerate(given, 1) if text),
            (str(two), 1),
        ]
        used = [row for row in found if row["memory"]]
        assert [row["data"].decode() for row in used[:-1]] == given[3:63]
        refused = [(row["line"], row["why"]) for row in found if not row["memory"]]
        assert [number for number, _ in refused] == [2, 3, 64, 65]
        assert ["not JSON" in refused[0][1], "object" in refused[1][1]] == [True, True]
        assert ["non-empty" in refused[2][1], "whose memory" in refused[3][1]] == [True, True]
    [last] = [row for row in rows(cut([one], 10_000)[0], 4, (), {"user_id": "cy"}) if row["line"] == 65]
    assert last["memory"] == "user_id:cy"
    assert not list(rows(cut([one], 10_000)[0], 1, {0}, {}))
    with pytest.raises(InputError, match="cannot be read"):
        cut([tmp_path / "none.jsonl"])


def test_a_shard_goes_in_once_in_order_and_tells_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line(user, f"{user} says {n}", run_id=f"r{n % 2}") for n in range(5) for user in ("ana", "bo")]
    file = written(tmp_path / "a.jsonl", [*lines, line("ana", " "), line("bo", "bad time", time="soon"), lines[0]])
    taken = [row for piece in cut([file], 200) for row in rows(piece, 1, (), {})]
    slow = ScriptedExtractor({**SCRIPT, "bo says 3": ModelError("the model fell over")})
    with Memory(parts=parts(tmp_path, slow)) as memory:
        importer = Importer(lambda: memory, {})
        # A shuffle keeps no order.
        [shard] = shards(taken[::-1])
        for told in ({"added": 11, "known": 0, "waiting": 1}, {"added": 0, "known": 11, "waiting": 1}):
            result = json.loads(importer(shard)["told"][0])
            assert Counter(result["told"]) == Counter(told | {"left_out": 2, "merged": result["told"]["merged"]})
            whys = {problem["line"]: problem["why"] for problem in result["problems"]}
            assert set(whys) == {8, 11, 12}
            assert "not extracted yet" in whys[8]
        store = memory.parts.store
        assert [p.text for p in store.passages("user_id:ana")] == [*(f"ana says {n}" for n in range(5)), "ana says 0"]
        assert [p.metadata["run_id"] for p in store.passages("user_id:bo")] == ["r0", "r1", "r0", "r1", "r0"]
        assert memory.pipeline.states.residents() == []
        assert verify(store, None) == []
        monkeypatch.setattr(store, "add_passages", refuse)
        assert json.loads(importer(shard)["told"][0])["error"] == "the store is away"


def refuse(*arguments: Any) -> Any:
    raise StoreError("the store is away")


def test_a_report_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", [line("ana", "a")])
    folder = tmp_path / "report"
    told = {"told": {"added": 3}, "problems": [{"file": "a", "line": 1, "why": "odd \u2028 text"}]}
    Report(folder, [file], 4, {}).take({"shard": 1, **told})
    with (folder / "problems.jsonl").open("a") as problems, (folder / "shards.jsonl").open("a") as done:
        problems.write('{"shard": 2, "file": "a", "line": 2, "why": "of a shard that was not finished"}\n{"sha')
        done.write('{"shard": 2, "to')
    again = Report(folder, [file], 4, {})
    assert (again.done, again.told) == ({1}, Counter(added=3))
    again.take({"shard": 2, **told})
    assert [json.loads(told)["shard"] for told in (folder / "problems.jsonl").read_text().split("\n")[:-1]] == [1, 2]
    for other in ([[file], 5, {}], [[file], 4, {"user_id": "bo"}], [[written(tmp_path / "b.jsonl", [])], 4, {}]):
        with pytest.raises(InputError, match="another import"):
            Report(folder, *other)  # type: ignore[arg-type]


def test_the_command_tells_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["serving.bulk", str(tmp_path / "none.jsonl"), "--tenant", "acme", "--report", str(tmp_path / "report")]
    monkeypatch.setattr("sys.argv", flags)
    assert main() == 1
    assert "none.jsonl' cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def open_scripted(folder: Path, url: str) -> Memory:
    """Open a memory in a worker: by name, since each has a process of its own."""
    return Memory(
        parts=parts(folder, ScriptedExtractor(SCRIPT, before=lambda passage: time.sleep(0.001)), store={"url": url})
    )


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Start a local Ray cluster; give the number of workers that it has room for."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[ray]' -c constraints.txt")
    ray.init(
        num_cpus=3,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        object_store_memory=100_000_000,
    )
    yield 2
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context")  # Ray warns of its own defaults
def test_two_workers_of_ray_import_all_of_it_and_go_on_where_they_were(
    tmp_path: Path, cluster: Cluster, workers: int
) -> None:
    lines: list[Any] = [line(PEOPLE[n % 12], TARTU if n % 100 == 7 else f"turn {n}") for n in range(360)]
    one = written(tmp_path / "one.jsonl", [*lines[:200], "{"])
    two = written(tmp_path / "two.jsonl", lines[200:])
    url = cluster.url()
    opened = partial(open_scripted, tmp_path, url)
    heard: list[int] = []

    def killed(report: Report, told: Any) -> None:
        heard.append(told["shard"])
        if len(heard) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.run([one, two], tmp_path / "report", opened, workers=workers, shards=8, heard=killed, piece_bytes=4000)
    assert len(heard) == 3
    told = job.run(
        [one, two],
        tmp_path / "report",
        opened,
        workers=workers,
        shards=8,
        heard=lambda r, t: heard.append(t["shard"]),
        piece_bytes=4000,
    )
    assert sorted(heard) == sorted({shard_of(f"user_id:{user}", 8) for user in PEOPLE} | {shard_of(str(one), 8)})
    assert (told["added"] + told["known"], told["left_out"], told["waiting"]) == (360, 1, 0)
    [problem] = (tmp_path / "report" / "problems.jsonl").read_text().splitlines()
    assert (json.loads(problem)["file"], json.loads(problem)["line"]) == (str(one), 201)
    with open_scripted(tmp_path, url) as memory:
        store = memory.parts.store
        assert store.memories() == sorted(f"user_id:{user}" for user in PEOPLE)
        for number, user in enumerate(PEOPLE):
            assert [p.text for p in store.passages(f"user_id:{user}")] == [told["text"] for told in lines[number::12]]
        assert store.stats(None)["done"] == 360
        assert verify(store, None) == []
        assert memory.search("turn 5", user_id="p5", top_k=1)["results"][0]["memory"] == "turn 5"
    # Nothing is left to do, also where that was not noted; and the same files in a new report change nothing.
    assert job.run([one, two], tmp_path / "report", opened, workers=workers, shards=8) == told
    done = (tmp_path / "report" / "shards.jsonl").read_text().splitlines()
    (tmp_path / "report" / "shards.jsonl").write_text("".join(x + "\n" for x in done if '"told": {}' not in x))
    assert len(done) == 8
    assert job.run([one, two], tmp_path / "report", opened, workers=workers, shards=8) == told
    again = job.run([one, two], tmp_path / "second", opened, workers=workers, shards=8)
    assert (again["added"], again["known"]) == (0, 360)
