"""The command line as a restricted reader, and the commands that say who may read what."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_cli import Seem, chat_file, data, error, seem
from tests.flows.people import NARVA, PLANTED, TARTU

__all__ = ["seem"]


def test_a_reader_sees_what_was_granted_and_no_more(seem: Seem, tmp_path: Path) -> None:
    data(seem("add", TARTU, "--speaker", "Ana", "--timestamp", "2024-01-02", "--json"))
    told = data(seem("add", NARVA, "--speaker", "Ana", "--timestamp", "2024-06-02", "--reader", "ana", "--json"))
    private = told["results"][0]["id"]
    assert [i["memory"] for i in data(seem("list", "--as", "ben", "--json"))["results"]] == [TARTU]
    found = data(seem("search", "Where does Ana live?", "--as=ben", "--explain", "--json"))
    assert [(f["object"], f["invalid_at"]) for f in found["facts"]] == [("Tartu", None)], (
        "closed by what he may not read"
    )
    assert NARVA not in json.dumps(data(seem("answer", "Where does Ana live?", "--as", "ben", "--json")))
    assert data(seem("stats", "--as", "ben", "--json"))["closed_facts"] == 0
    assert data(seem("history", private, "--as", "ben", "--json")) == []
    assert error(seem("get", private, "--as", "ben", "--json"), "not_found").startswith("there is no passage")
    assert error(seem("delete", private, "-y", "--as", "ben", "--json"), "not_found").startswith("there is no passage")
    assert [line["text"] for line in data(seem("export", "--as", "ben", "--json"))] == [TARTU]
    assert data(seem("grant", private, "--to", "ben", "--json")) == {"changed": [private], "again": [], "errors": {}}
    assert data(seem("get", private, "--as", "ben", "--json"))["memory"] == NARVA
    status, out, err = seem("revoke", private, "--from", "ben", "--from", "ana")
    assert (status, out, err) == (0, "changed 1 passages, 0 extracted again\n", "")
    assert data(seem("get", private, "--json"))["readers"] == ["@owner"]
    assert data(seem("stats", "-u", "default", "--as", "ana", "--json"))["passages"] == 1
    data(seem("import", str(chat_file(tmp_path, PLANTED)), "-f", "chat", "--as", "ben", "--json"))
    assert [i["memory"] for i in data(seem("list", "--as", "ana", "--json"))["results"]] == [TARTU]
    assert len(data(seem("list", "--as", "ana", "--as", "ben", "--json"))["results"]) == 2
    assert data(seem("delete", "--all", "-u", "default", "-y", "--as", "ben", "--json"))["deleted"] == 2
    assert len(data(seem("list", "--json"))["results"]) == 1


def test_rights_are_asked_for_exactly(seem: Seem) -> None:
    told = data(seem("add", PLANTED, "--session", "s1", "--json"))["results"][0]["id"]
    assert data(seem("revoke", "--filters", '{"session": "s1"}', "--from", "*", "--json"))["changed"] == [told]
    assert data(seem("grant", "--all", "--to", "*", "--json"))["changed"] == [told]
    for words in (
        ("grant", "--to", "bo"),
        ("grant", told, "--all", "--to", "bo"),
        ("grant", "--filters", "{", "--to", "bo"),
        ("grant", "--filters", "[]", "--to", "bo"),
        ("revoke", told, "--from", "bo"),
        ("grant", told, "--to", ""),
        ("list", "--as", "*"),
    ):
        error(seem(*words, "--json"), "input")
    for command in (("verify",), ("retry",), ("reindex",), ("grant", told, "--to", "bo"), ("audit",)):
        assert "--as" in error(seem(*command, "--as", "bo", "--json"), "input")
