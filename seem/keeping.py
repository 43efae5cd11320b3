"""What is kept and how: which passages a caller means, what retention lets go, what is promoted from the raw tier.

Takes an opened pipeline and checked values; gives plain dicts. Knows nothing about how texts are erased.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from seem.config import Retention
from seem.forgetting import Elsewhere
from seem.pipeline import Pipeline
from seem.receipt import receipt_dict
from seem.retention import due
from seem.store.batch import WriteBatch


def retain(
    pipeline: Pipeline, rules: Retention, memories: Sequence[str], *, dry_run: bool, elsewhere: Elsewhere | None
) -> dict[str, Any]:
    """Erase what is due under the rules; give the numbers by memory and rule, and the receipt (none for a dry run)."""
    now = datetime.now(UTC)
    found = {memory: due(pipeline.parts.store.passages(memory), rules, now) for memory in memories}
    chosen = {memory: sorted({i for ids in by_rule.values() for i in ids}) for memory, by_rule in found.items()}
    chosen = {memory: ids for memory, ids in chosen.items() if ids}
    receipt = None
    if chosen and not dry_run:
        receipt = receipt_dict(pipeline.forgetting.forget(chosen, elsewhere=elsewhere))
    return {
        "due": sum(len(ids) for ids in chosen.values()),
        "rules": {memory: {rule: len(ids) for rule, ids in found[memory].items()} for memory in chosen},
        "dry_run": dry_run,
        "receipt": receipt,
    }


def promote(pipeline: Pipeline, chosen: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Make frames and facts of passages that were stored raw; give their ids, and the error of each that still waits."""
    promoted: list[str] = []
    errors: dict[str, str] = {}
    for memory, ids in chosen.items():
        raw: list[str] = []

        def batch(state: Any, ids: Sequence[str] = ids, raw: list[str] = raw) -> WriteBatch:
            raw[:] = [i for i in ids if i in state.passages and state.passages[i].status == "raw"]
            return WriteBatch(again=raw)

        pipeline.states.commit(memory, batch)
        with pipeline.states.state(memory) as state:
            waiting = [state.passages[i] for i in raw if i in state.passages]
        errors |= pipeline.digest(memory, waiting) if waiting else {}
        promoted += raw
    return {"promoted": promoted, "errors": errors}
