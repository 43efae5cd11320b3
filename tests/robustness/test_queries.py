"""Questions of any characters: words to look for, never syntax; the same through the library, the command line and HTTP."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import seem.cli.main as cli
from seem.cli import app
from seem.cli.options import Options
from seem.errors import InputError
from seem.memory import Memory
from tests.flows.people import memory, parts, texts
from tests.serving.house import house

PASSAGES = ["The window seat is pre-booked.", "At T-7 the valves open.", "Please don't wake Nils.", "She writes C++ all day.",
            "He gave 100% of it.", "Biscuit had a ☕ of tea."]  # fmt: skip
FOUND = {
    "don't wake Nils": 2,
    'pre-booked "window': 0,
    "T-7": 1,
    "100%": 4,
    "C++": 3,
    "☕": 5,
    "name:Biscuit*": 5,
}
STRANGE = (
    "AND OR NOT",
    "(",
    "NEAR(a, 3)",
    "'; DROP TABLE passages; --",
    '"',
    "*",
    "\\",
    "%",
    "a\x00b",
    "-- x",
    "{user}",
    "{}",
)


@pytest.fixture(scope="module")
def opened() -> Iterator[Memory]:
    with tempfile.TemporaryDirectory() as folder, memory(Path(folder)) as ready:
        ready.add(PASSAGES, user_id="ana")
        yield ready


@pytest.mark.parametrize(("query", "first"), FOUND.items())
def test_punctuation_finds_the_literal_passage(opened: Memory, query: str, first: int) -> None:
    """O-30."""
    assert texts(opened.search(query, user_id="ana"))[0] == PASSAGES[first]


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=40) | st.lists(st.sampled_from([*FOUND, *STRANGE, "a", " "]), max_size=5).map(" ".join))
@example("\ud800")
@example("\x00")
@example("((((")
@example("“don’t”")
@example("a" * 5000)
def test_any_question_is_answered_or_called_empty(opened: Memory, query: str) -> None:
    """O-30."""
    try:
        found = opened.search(query, user_id="ana")
    except InputError as error:
        assert "empty" in str(error) and not query.strip()
        return
    assert len(found["results"]) <= len(PASSAGES)
    json.dumps(found).encode()


def test_the_command_line_and_http_find_what_the_library_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """O-30: 200 for all but the empty one, and no SQL in any message."""
    with memory(tmp_path) as opened:
        opened.add(PASSAGES, user_id="ana")
        expected = {query: texts(opened.search(query, user_id="ana")) for query in (*FOUND, *STRANGE)}

    def open_parts(options: Options) -> Any:
        return parts(tmp_path)

    monkeypatch.setattr(app, "open_parts", open_parts)
    for query in (*FOUND, *STRANGE):
        assert cli.main(["search", "--json", "-u", "ana", "--", query]) == 0
        assert texts(json.loads(capsys.readouterr().out)["data"]) == expected[query], query
    assert cli.main(["search", "-u", "ana", "--", " "]) != 0
    assert "sql" not in "".join(capsys.readouterr()).casefold()

    async def run() -> None:
        async with house(tmp_path) as home, home.client() as ana:
            await ana.post("/v1/memories", json={"messages": PASSAGES, "user_id": "ana"})
            for query in (*FOUND, *STRANGE):
                reply = await ana.post("/v1/search", json={"query": query, "user_id": "ana"})
                assert reply.status_code == 200, reply.text
                assert texts(reply.json()) == expected[query], query
            for empty in ("", " "):
                reply = await ana.post("/v1/search", json={"query": empty, "user_id": "ana"})
                assert 400 <= reply.status_code < 500 and "sql" not in reply.text.casefold()

    asyncio.run(run())
