"""Every fault that can be planted is found and named; a sound store gives no sentence."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from seem.errors import InputError
from seem.store.store import Store
from seem.store.verify import verify
from tests.store.conftest import Place
from tests.store.samples import draft, fill

BLOBS = {
    "UNIT": np.array([1, 0, 0, 0, 0, 0, 0, 0], "<f4").tobytes(),
    "SHORT": np.array([1], "<f4").tobytes(),
    "NOTHING": bytes(32),
}
FAULTS = {
    "frame cites missing passage": (
        "UPDATE frame_members SET passage_id = 'p_gone' WHERE rank = 0 AND OAK",
        "frame f_oak cites the passage p_gone",
    ),
    "fact cites missing passage": (
        "UPDATE fact_sources SET passage_id = 'p_gone' WHERE OAK",
        "fact q_oak cites the passage p_gone",
    ),
    "broken key": ("UPDATE fact_sources SET passage_id = 'p_gone' WHERE OAK", "fact_sources refer to rows of passages"),
    "frame without passages": ("DELETE FROM frame_members WHERE OAK", "frame f_oak cites no passage"),
    "fact without passages": ("DELETE FROM fact_sources WHERE OAK", "fact q_oak cites no passage"),
    "done without extraction": ("DELETE FROM extractions WHERE OAK", "is done, but has no extraction"),
    "events in no frame": (
        "DELETE FROM frame_members WHERE rank = 1 AND OAK",
        "has events, but the passage is in no frame",
    ),
    "passage vector missing": ("DELETE FROM vectors WHERE kind = 'passage' AND OAK", "the passage p_.* has no vector"),
    "frame vector missing": ("DELETE FROM vectors WHERE kind = 'frame' AND OAK", "the frame f_oak has no vector"),
    "extraction vector missing": (
        "DELETE FROM vectors WHERE kind = 'extraction' AND OAK",
        "the extraction p_.* has no vector",
    ),
    "fact vector missing": ("DELETE FROM vectors WHERE kind = 'fact' AND OAK", "the fact q_oak has no vector"),
    "orphaned vector": (
        "INSERT INTO vectors VALUES ('oak', 'frame', 'f_gone', UNIT)",
        "vector of the frame f_gone, which does not exist",
    ),
    "wrong dimension": ("UPDATE vectors SET vector = SHORT WHERE kind = 'fact' AND OAK", "q_oak has dimension 1"),
    "not of length one": ("UPDATE vectors SET vector = NOTHING WHERE kind = 'fact' AND OAK", "q_oak has length 0"),
    "missing end": ("UPDATE facts SET object_id = 'n_gone' WHERE OAK", "fact q_oak has the entity n_gone"),
    "missing successor": ("UPDATE facts SET superseded_by = 'q_gone' WHERE OAK", "superseded by q_gone"),
    "empty name": (
        "UPDATE entities SET name = ' ' WHERE id = 'n_oak_odile' AND OAK",
        "entity n_oak_odile has an empty name",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_is_named(place: Place, fault: str) -> None:
    statement, words = FAULTS[fault]
    if fault == "broken key" and place.cluster is not None:
        pytest.skip("PostgreSQL has no check of its keys after the fact")
    for name, value in BLOBS.items():
        statement = statement.replace(name, place.blob(value))
    with Store(place.address) as store:
        fill(store, "oak")
        fill(store, "elm")
        assert verify(store, None) == []
        place.run(statement.replace("OAK", "memory = 'oak'"))
        found = verify(store, "oak")
    assert any(re.search(words, sentence) for sentence in found), found


def test_damaged_pages_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        store.add_passages("oak", [draft(f"{number} " + "x" * 3000) for number in range(50)])
        store.purge()
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 8192] = b"\xff" * 8192
    path.write_bytes(data)
    with Store(path) as store:
        found = verify(store, None)
    assert any("damaged" in sentence for sentence in found)


def test_unfinished_passages_and_empty_texts_are_no_fault(place: Place) -> None:
    with Store(place.address) as store:
        store.add_passages("oak", [draft("waits"), draft(" ", "blank", infer=False)])
        assert verify(store, "oak") == []
        with pytest.raises(InputError):
            verify(store, "")
