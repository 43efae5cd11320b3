"""The audit trail: every write leaves who, what and when; no content; it outlives what it tells of."""

from __future__ import annotations

from pathlib import Path

from seem.audit import acting
from seem.store.batch import WriteBatch
from seem.store.store import Store
from tests.store.samples import draft, fill


def test_every_write_leaves_a_line(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        with acting("key:7"):
            first, second = fill(store, "oak")
        [third] = (p for p, _ in store.add_passages("oak", [draft("more")]))
        with acting("ana"):
            store.apply("oak", WriteBatch(failed={third.id: "no"}))
            store.apply("oak", WriteBatch(remove_passages=[first.id, second.id]))
        store.noted("oak", "read", {"passage": [third.id]})
        lines = store.audit()
        assert [(line.action, line.actor) for line in lines] == [
            ("add", "key:7"),
            ("derive", "odile"),
            ("add", ""),
            ("fail", "ana"),
            ("delete", "ana"),
            ("read", ""),
        ]
        assert [line.generation for line in lines] == [1, 2, 3, 4, 5, 5]
        assert lines[4].ids == {} and lines[4].removed["passage"] == [first.id, second.id]
        assert lines[4].removed["frame"] == ["f_oak"] and lines[4].removed["fact"] == ["q_oak"]
        assert [line.action for line in store.audit(item=first.id)] == ["add", "derive", "delete"]
        assert [line.action for line in store.audit(actor="ana", action="fail")] == ["fail"]
        assert store.audit(item="p%") == [] and store.audit(memory="elm") == []
        assert [line.id for line in store.audit(after=lines[3].id, limit=1)] == [lines[4].id]
        assert [line.id for line in store.audit(since=lines[2].at, until=lines[4].at)] == [
            line.id for line in lines if lines[2].at <= line.at < lines[4].at
        ]
        assert "sold" not in repr(lines)
        store.delete_memory("oak")
        assert store.audit(memory="oak")[:6] == lines
        assert store.audit(memory="oak")[6].action == "delete_memory"
