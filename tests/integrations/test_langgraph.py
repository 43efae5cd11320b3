"""SEEM as a LangGraph store: it does what LangGraph's own store does, and finds by meaning what was put."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest

from seem.errors import InputError
from seem.memory import Memory
from tests.flows.people import parts

pytest.importorskip("langgraph.graph")
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, PutOp
from langgraph.store.memory import InMemoryStore

from seem.integrations.langgraph import SeemStore

ANA, BO = ("memories", "ana"), ("memories", "bo")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SeemStore]:
    with Memory(parts=parts(tmp_path)) as memory:
        yield SeemStore(memory)


def played(store: BaseStore) -> list[Any]:
    """Do everything that needs no query; give what came back."""
    store.put(ANA, "a", {"content": "Ana likes tea", "n": 1, "tags": {"mood": "good"}})
    store.put(ANA, "b", {"content": "Ana likes tea", "n": 2})
    store.put(BO, "a", {"content": "Bo keeps bees", "n": 3}, index=False)
    store.put(("other", "x", "y"), "k", {"n": 4})
    store.put(ANA, "b", {"content": "Ana likes cocoa", "n": 5})
    store.put(BO, "gone", {"content": "soon deleted"})
    store.delete(BO, "gone")
    store.delete(BO, "never there")
    found = [store.get(ANA, key) for key in ("a", "b", "none")]
    found += [store.get(BO, "a")]
    listed: list[list[Any]] = [
        store.search(ANA),
        store.search(("memories",), limit=2, offset=1),
        store.search((), filter={"n": {"$gte": 3}}),
        store.search(ANA, filter={"tags": {"mood": "good"}}),
        store.search(ANA, filter={"n": {"$lt": 5, "$ne": 2}}),
    ]
    names = [
        store.list_namespaces(),
        store.list_namespaces(prefix=("memories",)),
        store.list_namespaces(suffix=("*", "y")),
        store.list_namespaces(max_depth=1),
        store.list_namespaces(limit=1, offset=1),
    ]
    told = [(i.namespace, i.key, i.value) if i else None for i in found]
    return [told, [[(i.namespace, i.key, i.value) for i in items] for items in listed], [sorted(n) for n in names]]


def test_it_does_what_the_store_of_langgraph_does(store: SeemStore) -> None:
    assert played(store) == played(InMemoryStore())
    assert store.get(("nowhere",), "a") is None


def test_items_are_found_by_their_words_over_all_namespaces_below(store: SeemStore) -> None:
    store.put(ANA, "tea", {"content": "Ana drinks green tea"})
    store.put(ANA, "boat", {"content": "Ana sold the old boat"}, index=["content"])
    store.put(BO, "bees", {"content": "Bo keeps bees near the mill", "secret": True})
    store.put(BO, "raw", {"content": "bees bees bees"}, index=False)
    found = store.search(("memories",), query="who keeps bees?")
    assert found[0].key == "bees" and found[0].score is not None and found[0].score > 0
    assert {item.key for item in found} == {"tea", "boat", "bees"}
    assert [i.key for i in store.search(ANA, query="the old boat", limit=1)] == ["boat"]
    assert [i.key for i in store.search((), query="bees", filter={"secret": True})] == ["bees"]
    before = store.get(ANA, "boat")
    store.put(ANA, "boat", {"content": "Ana bought a canoe"})
    after = store.get(ANA, "boat")
    assert before and after and after.created_at == before.created_at and after.updated_at >= before.updated_at
    assert [i.key for i in store.search(ANA, query="canoe", limit=1)] == ["boat"]


def test_what_cannot_be_meant_is_refused(store: SeemStore) -> None:
    store.put(ANA, "a", {"n": 1})
    with pytest.raises(InputError, match="unknown operator"):
        store.search(ANA, filter={"n": {"$near": 1}})
    with pytest.raises(InvalidNamespaceError):
        store.batch([GetOp(("memories.ana",), "a")])
    with pytest.raises(NotImplementedError, match="TTL"):
        store.put(ANA, "a", {"n": 1}, ttl=5)


class Talk(TypedDict):
    said: str
    reply: str


def test_a_graph_remembers_across_runs(store: SeemStore) -> None:
    def answer(state: Talk, *, store: BaseStore) -> dict[str, str]:
        known = store.search(ANA, query=state["said"], limit=1)
        store.put(ANA, state["said"], {"content": state["said"]})
        return {"reply": known[0].value["content"] if known else "nothing yet"}

    builder = StateGraph(Talk)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    graph = builder.compile(store=store)
    assert graph.invoke({"said": "I live in Tartu", "reply": ""})["reply"] == "nothing yet"
    assert graph.invoke({"said": "Where do I live?", "reply": ""})["reply"] == "I live in Tartu"
    told = asyncio.run(store.abatch([PutOp(BO, "a", {"content": "Bo sings"}), GetOp(BO, "a")]))
    assert told[0] is None and getattr(told[1], "value", None) == {"content": "Bo sings"}
