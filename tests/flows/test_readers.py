"""Rights per passage: to a restricted reader the memory is what his passages alone would have made of it."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from seem.cli.exporting import export
from seem.config import Config
from seem.errors import InputError, NotFoundError
from seem.memory import Memory
from seem.models.fakes import HashingEncoder, ScriptedExtractor, ScriptedJudge, ScriptedReader
from seem.models.protocols import ExtractItem
from seem.rights import OWNER, may_read
from seem.store.batch import WriteBatch
from seem.types import Event, Extraction, Fact, Passage
from seem.wiring import Parts
from tests.flows.people import memory, said, texts
from tests.test_state import SAME, SCRIPT, TEXTS

KEY = "user_id:u"
SHARED: dict[str, Any] = {"user_id": "u"}
QUESTIONS = ("Where does Ana live?", "Why does Bo live in the old mill?", "tea")
RIGHTS = ((), ("a",), ("b",), ("a", "b"), ("b", "c"))
FAIR = "The spring fair made 900."
DEBT = "With the fair money Otto's debt of 650 was paid."
STORY = {
    FAIR: Extraction("", (Event(("The fair",), "made 900"),), (Fact("The spring fair", "made", "900"),)),
    DEBT: Extraction("", (Event(("Otto",), "paid a debt of 650"),), (Fact("Otto", "owed", "650"),)),
}


@contextmanager
def scripted(extractor: Any = None, **fakes: Any) -> Iterator[Memory]:
    with tempfile.TemporaryDirectory() as folder:
        config = Config.from_dict({"data_dir": folder, "store": {"url": "sqlite:///:memory:"}})
        given: dict[str, Any] = {"judge": ScriptedJudge(SAME), "reader": ScriptedReader(), **fakes}
        parts = Parts(config, encoder=HashingEncoder(), extractor=extractor or ScriptedExtractor(SCRIPT), **given)
        with Memory(parts=parts) as opened:
            yield opened


Step = tuple[str, int, int, str]
verbs = st.sampled_from(["add", "add", "add", "add", "update", "retag", "delete", "grant", "revoke", "ask"])
steps = st.lists(
    st.tuples(verbs, st.integers(0, 9), st.integers(0, len(RIGHTS) - 1), st.sampled_from(TEXTS)),
    min_size=2,
    max_size=9,
)


def play(opened: Memory, step: Step, n: int) -> None:
    verb, which, rights, text = step
    known = [p["id"] for p in opened.get_all(**SHARED)["results"]]
    names = RIGHTS[rights] or ("*",)
    if verb == "add":
        message = {"role": "user", "content": text, "id": f"m{n}", "session": f"s{n % 2}"}
        opened.add(message, **SHARED, timestamp=f"2024-05-{n + 1:02}T10:00+00:00", readers=RIGHTS[rights])
    elif verb == "ask":
        opened.search(text, **SHARED, principals=["a"])
    elif not known:
        return
    elif verb == "update":
        opened.update(known[which % len(known)], text)
    elif verb == "retag":
        opened.update(known[which % len(known)], metadata={"tag": n})
    elif verb == "delete":
        opened.delete(known[which % len(known)])
    elif verb == "grant":
        opened.grant(known[which % len(known)], readers=names)
    else:
        item = opened.get(known[which % len(known)])
        opened.revoke(item["id"], readers=names if item["readers"] else ["*"])


@contextmanager
def alone(whole: Memory, who: frozenset[str]) -> Iterator[Memory]:
    """Give a memory that holds only a reader's passages, of the same ids, arrived one by one in the same order."""
    mine = [p for p in whole.parts.store.passages(KEY) if may_read(p.readers, who)]
    with scripted() as opened:
        for n, passage in enumerate(mine):
            arrived = replace(passage, position=n, status="pending")
            with opened.pipeline.states.lock(KEY):
                opened.parts.store.apply(KEY, WriteBatch(passages=[arrived]))
            opened.pipeline._index_words(KEY, [arrived])
            assert opened.pipeline.digest(KEY, [arrived]) == {}
        yield opened


def paged(opened: Memory, kind: Any, **options: Any) -> Iterator[dict[str, Any]]:
    after: str | None = ""
    while after is not None:
        page = opened.page(kind, 2, after, **SHARED, **options)
        yield page
        after = page["next"]


def everything(opened: Memory, principals: Sequence[str] | None) -> dict[str, Any]:
    """Give all that a reader can get."""
    told: dict[str, Any] = {}
    for question in QUESTIONS:
        for expand in ("always", "never", "auto"):
            options = {**SHARED, "expand": expand, "principals": principals}
            told[f"search {question} {expand}"] = opened.search(question, explain=True, **options)
            told[f"narrowed {question} {expand}"] = opened.search(question, filters={"session": "s1"}, **options)
        told[f"answer {question}"] = opened.answer(question, **SHARED, principals=principals)
    told["all"] = opened.get_all(**SHARED, principals=principals)
    for kind in ("passages", "frames", "facts"):
        told[kind] = list(paged(opened, kind, principals=principals))
        for item in (i for page in told[kind] for i in page["results"]):
            told[f"get {item['id']}"] = opened.get(item["id"], principals=principals)
            if kind != "passages":
                told[f"history {item['id']}"] = opened.history(item["id"], principals=principals)
    told["stats"] = opened.stats(**SHARED, principals=principals)
    # The message's own id is lost where a passage is restored.
    told["export"] = [{**line, "id": ""} for line in export(opened, KEY, principals)]
    return told


DATED = ("created_at", "expired_at", "readers")
EXTRA = ("vectors", "history")


def as_reader(opened: Memory, told: Any) -> Any:
    """Give what the owner is told under the names that a reader would meet, without what depends on the clock."""
    with opened.pipeline.states.state(KEY) as state:
        names = {f.id: f"f_{f.provenance[0][2:]}" for f in state.frames.values()}
        for fact_id in sorted(state.facts):
            source = state.facts[fact_id].provenance[0]
            names[fact_id] = f"k_{source[2:]}_{sum(name.startswith(f'k_{source[2:]}') for name in names.values()):03d}"
    text = json.dumps(told)
    for real, name in names.items():
        text = text.replace(real, name)
    return _bare(json.loads(text))


def _bare(told: Any) -> Any:
    if isinstance(told, dict):
        return {key: _bare(value) for key, value in told.items() if key not in (*DATED, *EXTRA)}
    return [_bare(value) for value in told] if isinstance(told, list) else told


@settings(
    max_examples=6,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(steps)
def test_a_reader_gets_what_a_memory_of_his_passages_alone_would_give(told: list[Step]) -> None:
    with scripted() as whole:
        for n, step in enumerate(told):
            play(whole, step, n)
        for principals in (["a"], ["b", "c"], ["z"]):
            found = everything(whole, principals)
            with alone(whole, frozenset(principals)) as his:
                assert found == everything(his, principals)
                assert _bare(found) == as_reader(his, everything(his, None))


def hidden(told: Any, *words: str) -> bool:
    # As words of their own: an id may hold any digits.
    return not any(re.search(rf"\b{re.escape(word)}\b", json.dumps(told)) for word in words)


def test_a_private_source_does_not_shine_through(tmp_path: Path) -> None:
    """O-27."""
    judge = ScriptedJudge({frozenset({FAIR, DEBT}): 0.9})
    with scripted(ScriptedExtractor(STORY), judge=judge) as opened:
        shared = opened.add(FAIR, **SHARED)["results"][0]
        private = opened.add(DEBT, **SHARED, readers=["ana"])["results"][0]
        assert private["event"] == "MERGE" and len(private["frame"]["passages"]) == 2
        asked: dict[str, Any] = {"query": "What happened with the fair money?", **SHARED, "explain": True}
        both = opened.search(**asked, principals=["ana"])
        assert len(both["results"]) == 2 and "650" in both["frames"][0]["summary"] and "Otto" in both["context"]
        for ben in (["ben"], ["ben", "an", "ana2", "Ana"]):
            found = opened.search(**asked, principals=ben)
            assert texts(found) == [FAIR]
            assert [frame["passages"] for frame in found["frames"]] == [[shared["id"]]]
            assert [fact["passages"] for fact in found["facts"]] == [[shared["id"]]]
            everywhere = [found, everything(opened, ben), opened.history(shared["id"], principals=ben)]
            assert hidden(everywhere, "Otto", "debt", "650", private["id"], private["frame"]["id"])
            for item in (private["id"], private["frame"]["id"], private["facts"][0]["id"]):
                with pytest.raises(NotFoundError, match=f"there is no (passage|frame|fact) '{item}'"):
                    opened.get(item, principals=ben)
                assert opened.history(item, principals=ben) == []
        opened.revoke(private["id"], readers=["ana"])
        assert hidden(opened.search(**asked, principals=["ana"]), "Otto", "650")
        assert len(opened.search(**asked)["results"]) == 2
        opened.grant(private["id"], readers=["ben"])
        assert len(opened.search(**asked, principals=["ben"])["results"]) == 2


def test_memories_of_alike_names_do_not_meet(tmp_path: Path) -> None:
    """O-26."""
    names = ("oak", "oakridge", "oak:north", "OAK")
    with memory(tmp_path) as opened:
        for name in names:
            opened.add(f"the gate of {name} is green", user_id=name, readers=[name])
        for principals in (None, ["oak"]):
            mine: dict[str, Any] = {"user_id": "oak", "principals": principals}
            assert texts(opened.search("gate green", **mine)) == ["the gate of oak is green"]
            assert texts(opened.get_all(**mine)) == ["the gate of oak is green"]
            assert opened.stats(**mine)["passages"] == 1
            assert [line["text"] for line in export(opened, "user_id:oak", principals)] == ["the gate of oak is green"]
            assert texts(opened.get_all(user_id="oakridge", principals=["oak"])) == []
        assert opened.memories(principals=["oak"]) == ["user_id:oak"]
        assert opened.delete_all(user_id="oak", principals=["oak"]) == {"deleted": 1}
        assert [len(opened.get_all(user_id=name)["results"]) for name in names] == [0, 1, 1, 1]
        with pytest.raises(InputError, match="non-empty"):
            opened.get_all(user_id="")


def test_rights_change_at_once_and_are_written_down(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        first, second = opened.add(said("the key is under the mat", "the mat is red"), **SHARED)["results"]
        assert first["readers"] == []
        with pytest.raises(InputError, match="everyone may read it"):
            opened.revoke([second["id"], first["id"]], readers=["bo"])
        assert opened.revoke(first["id"], readers=["*"], actor="boss")["changed"] == [first["id"]]
        assert opened.get(first["id"])["readers"] == [OWNER]
        assert opened.get_all(**SHARED, principals=["bo"])["results"][0]["id"] == second["id"]
        assert opened.grant(first["id"], readers=["bo", "cy"])["changed"] == [first["id"]]
        assert opened.grant(first["id"], readers=["bo"])["changed"] == []
        assert opened.get(first["id"], principals=["bo"])["readers"] == ["bo"]
        assert opened.revoke(filters={"session": ""}, **SHARED, readers=["*"])["changed"] == [first["id"], second["id"]]
        assert opened.stats(**SHARED, principals=["bo"])["passages"] == 0
        assert opened.memories(principals=["bo"]) == []
        opened.grant(**SHARED, readers=["*"])
        assert opened.get_all(**SHARED, principals=["bo"])["results"] == opened.get_all(**SHARED)["results"]
        past = [(e["event"], e["old_memory"], e["new_memory"], e["actor_id"]) for e in opened.history(first["id"])]
        assert past == [
            ("ADD", None, "the key is under the mat", None),
            ("REVOKE", "*", None, "boss"),
            ("GRANT", None, "bo, cy", None),
            ("REVOKE", "*", None, None),
            ("GRANT", None, "*", None),
        ]
        assert [e["event"] for e in opened.history(first["id"], principals=["bo"])] == ["ADD"]
        assert opened.get(first["id"])["updated_at"] is None
        for wrong in ([], [""], [OWNER], "bo"):
            with pytest.raises(InputError):
                opened.grant(first["id"], readers=wrong)
        for wrong in (["*"], [OWNER], [" "], "bo"):
            with pytest.raises(InputError):
                opened.search("key", **SHARED, principals=wrong)


def test_what_a_restricted_writer_adds_is_his(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        told = opened.add({"role": "user", "content": "mine", "id": "m1"}, **SHARED, principals=["bo"])["results"][0]
        assert (told["event"], told["readers"]) == ("ADD", ["bo"])
        assert opened.get(told["id"])["readers"] == ["bo"]
        shared = opened.add("ours", **SHARED, principals=["bo"], readers=["*"])["results"][0]
        assert opened.get(shared["id"])["readers"] == []
        with pytest.raises(InputError, match="leave out the writer"):
            opened.add("theirs", **SHARED, principals=["bo"], readers=["cy"])
        with pytest.raises(InputError, match="must name the readers"):
            opened.add("whose", **SHARED, principals=[])
        for who in (["cy"], ["cy"], ["bo"]):
            event = opened.add({"role": "user", "content": "mine", "id": "m1"}, **SHARED, principals=who)["results"][0]
            assert event["memory"] == "mine" and event["readers"] == who
            assert event["id"] != told["id"] or who == ["bo"]
        assert len(opened.get_all(**SHARED)["results"]) == 3, "a repeat of his own is none, one of another's is new"
        assert [line["id"] for line in export(opened, KEY, ["cy"])][-1] == "m1"
        assert opened.update(told["id"], "mine alone", principals=["bo"])["memory"] == "mine alone"
        for verb in (opened.delete, opened.update):
            with pytest.raises(NotFoundError):
                verb(told["id"], **({"text": "x"} if verb == opened.update else {}), principals=["cy"])
        assert opened.reset(principals=["cy"]) == {"deleted": 2, "memories": 1}, "his own, and what everyone may read"
        assert texts(opened.get_all(**SHARED)) == ["mine alone"]


class Window(ScriptedExtractor):
    """Repeats all that it was shown, which is the worst that an extractor can do."""

    def extract(self, items: Sequence[ExtractItem], *, progress: Any = None) -> list[Extraction]:
        return [_repeated(*item) for item in items]


def _repeated(passage: Passage, before: Iterable[Passage], names: Sequence[str]) -> Extraction:
    heard = " / ".join([*(p.text for p in before), passage.text])
    event = Event(tuple(names), heard)
    return Extraction(passage.id, (event,), (), f"{', '.join(names)} {heard}", "window")


def test_an_extractor_is_shown_only_what_all_readers_may_read() -> None:
    with scripted(Window()) as opened:

        def add(text: str, speaker: str, *readers: str) -> str:
            message = {"role": "user", "content": text, "name": speaker}
            return str(opened.add(message, **SHARED, readers=readers)["results"][0]["id"])

        secret = add("the vault code is 77", "Otto", "ana")
        own = add("I wrote it down", "Mia", "ana")
        public = add("it rains", "Mia")
        both = add("she knows it", "Mia", "ana", "ben")
        assert "77" in opened.get(own)["frame"]["summary"] and "Otto" in opened.get(own)["frame"]["summary"]
        assert hidden([opened.get(public), opened.get(both)], "77", "Otto")
        assert hidden(everything(opened, ["ben"]), "77", "Otto")
        assert opened.grant(own, readers=["ben"]) == {"changed": [own], "again": [own], "errors": {}}
        assert hidden(everything(opened, ["ben"]), "77", "Otto")
        assert hidden(opened.get(own), "77", "Otto") and "wrote it down" in opened.get(own)["frame"]["summary"]
        opened.grant(secret, readers=["*"])
        last = add("who said so", "Mia")
        assert "Otto" in opened.get(last)["frame"]["summary"]
        again = opened.revoke(secret, readers=["*"])["again"]
        assert last in again
        assert hidden(everything(opened, ["ben"]), "77", "Otto")
        assert opened.get(last)["updated_at"] is None


def test_a_view_follows_what_comes_and_is_the_same_when_it_is_made_anew(tmp_path: Path) -> None:
    with scripted() as opened:
        for n, text in enumerate(TEXTS):
            play(opened, ("add", 0, n % len(RIGHTS), text), n)
            opened.search("Ana", **SHARED, principals=["a"])
        play(opened, ("retag", 3, 0, ""), 20)
        followed = everything(opened, ["a"])
        views = opened.pipeline.states._views[KEY]
        assert len(views) == 1
        opened.pipeline.states.drop(KEY)
        assert everything(opened, ["a"]) == followed
        for n in range(12):
            opened.search("Ana", **SHARED, principals=[f"p{n}"])
        assert len(opened.pipeline.states._views[KEY]) == 8
