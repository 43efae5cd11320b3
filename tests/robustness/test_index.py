"""The vector index: empty, short, after removals and a restart, and under an encoder that did not make it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seem.errors import StoreError
from seem.memory import Memory
from seem.models.fakes import HashingEncoder
from tests.flows.people import memory, parts, texts
from tests.robustness.scan import sound


def test_an_empty_and_a_short_memory_give_what_there_is(tmp_path: Path) -> None:
    """O-28 (a), (b)."""
    with memory(tmp_path) as opened:
        assert opened.search("anything", user_id="ana")["results"] == []
        opened.add(["one bee", "two bees", "three bees"], user_id="ana")
        found = texts(opened.search("bees", user_id="ana", top_k=10))
        assert sorted(found) == ["one bee", "three bees", "two bees"]


def test_after_forgetting_from_the_middle_and_a_restart_every_hit_is_its_own_text(tmp_path: Path) -> None:
    """O-28 (c): the forgotten never appear and no id is used again."""
    names = [f"word{n} item{n}" for n in range(105)]
    with memory(tmp_path) as opened:
        ids = [item["id"] for item in opened.add(names[:100], user_id="ana")["results"]]
        for gone in ids[48:53]:
            opened.delete(gone)
        ids += [item["id"] for item in opened.add(names[100:], user_id="ana")["results"]]
        assert len(set(ids)) == 105
    with memory(tmp_path) as opened:
        kept = names[:48] + names[53:]
        assert [texts(opened.search(name, user_id="ana", top_k=1)) for name in kept] == [[name] for name in kept]
        everything = texts(opened.search("word50 item50", user_id="ana", top_k=200))
        assert len(everything) <= 100 and not set(names[48:53]) & set(everything)
        assert sound(opened)


@pytest.mark.parametrize("encoder", [HashingEncoder(768), HashingEncoder(64, "another")], ids=["dimension", "model"])
def test_an_index_of_another_encoder_refuses_before_anything_is_written(
    tmp_path: Path, encoder: HashingEncoder
) -> None:
    """O-29: both encoders and the cure are named, old data stays as it was, and after a reindex all works."""
    with memory(tmp_path) as opened:
        opened.add(["Ana keeps bees"], user_id="ana")
    given = parts(tmp_path)
    given.encoder = encoder
    with Memory(parts=given) as opened:
        before = opened.parts.store.load("user_id:ana")
        acts: tuple[Callable[[], object], ...] = (
            lambda: opened.add("Bo keeps goats", user_id="ana"),
            lambda: opened.search("bees", user_id="ana"),
        )
        for act in acts:
            with pytest.raises(StoreError, match=rf"hashing-64.*{encoder.fingerprint}.*seem reindex"):
                act()
        after = opened.parts.store.load("user_id:ana")
        assert (after.generation, after.passages, after.encoder) == (before.generation, before.passages, "hashing-64")
        opened.reindex()
        opened.add("Bo keeps goats", user_id="ana")
        assert texts(opened.search("keeps goats", user_id="ana", top_k=1)) == ["Bo keeps goats"]
        assert sound(opened)
