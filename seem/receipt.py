"""An erase receipt as the plain dict that callers get: ids, numbers and moments, never a word of what was erased.

Takes a Receipt. Knows nothing about how anything was erased.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from seem.forgetting import Gone, Receipt
from seem.store.erasure import Seen


def receipt_dict(receipt: Receipt) -> dict[str, Any]:
    """Give a receipt: sums in "removed" and "refolded", ids by memory in "memories", and what the search of the files saw.

    "clean" says that every text long enough to be looked for was found nowhere; ``None`` where the database lies in no
    files that could be searched. "again" counts passages that were
    extracted anew, "waiting" those of them that a model failed.
    """
    removed: Counter[str] = Counter()
    refolded: Counter[str] = Counter()
    for gone in receipt.gone:
        removed.update({kind: len(ids) for kind, ids in gone.removed.items()})
        removed.update(gone.counts)
        refolded.update({kind: len(ids) for kind, ids in gone.refolded.items()})
    return {
        "at": receipt.at.isoformat(),
        "actor": receipt.actor or None,
        "removed": dict(removed),
        "refolded": dict(refolded),
        "again": sum(len(gone.again) for gone in receipt.gone),
        "waiting": dict(receipt.errors),
        "memories": [_gone(gone) for gone in receipt.gone],
        "scan": _seen(receipt.seen),
        "clean": None if receipt.seen.unsearched else receipt.seen.hits == 0,
    }


def of_passages(told: dict[str, Any]) -> dict[str, Any]:
    """Give what a restricted caller gets of a receipt: his passages; what was refolded tells of those of others."""
    memories = [
        {**part, "removed": {"passages": part["removed"]["passages"]}, "refolded": {}, "again": []}
        for part in told["memories"]
    ]
    removed = {"passages": told["removed"].get("passages", 0)}
    return {**told, "removed": removed, "refolded": {}, "again": 0, "waiting": {}, "memories": memories, "scan": {}}


def _gone(gone: Gone) -> dict[str, Any]:
    return {
        "memory": gone.memory,
        "removed": {kind: list(ids) for kind, ids in gone.removed.items()},
        "refolded": {kind: list(ids) for kind, ids in gone.refolded.items()},
        "again": list(gone.again),
    }


def _seen(seen: Seen) -> dict[str, Any]:
    return {**asdict(seen), "files": [dict(file) for file in seen.files]}
