"""Which passages get frames and facts: the others are stored raw, found by their words and vector, and can be promoted.

Takes drafts and the configured policy; gives the drafts, those outside the policy marked as not to be extracted. Looks at
cheap signs only: length, words, who spoke, where from; no model is asked. Knows nothing about storage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seem.config import Tiers
from seem.store.batch import Draft
from seem.store.words import STOP_WORDS, tokens

# What people say to keep a talk going: alone, it tells nothing.
_SMALL_TALK = frozenset(
    token
    for word in (
        "ok okay yes yeah yep no nope sure thanks thank please hi hello hey bye goodbye goodnight morning night welcome "
        "great good nice cool wow awesome amazing perfect right true exactly absolutely definitely totally really haha "
        "lol hmm oh ah well sounds look glad sorry problem worries course see talk soon later too again always just "
        "very much so lot love wonderful fantastic agree agreed know think hope keep care take let"
    ).split()
    for token in tokens(word)
)
_NAMED = re.compile(r"(?<=[^.!?\s] )[A-Z][\w'’-]+")
_DIGIT = re.compile(r"\d")
TOKENS_A_CHARACTER = 0.25
# An extractor is shown each passage with the two before it, and its prompt; it writes some lines.
SHOWN, TOKENS_AROUND = 3, 120


def placed(draft: Draft, tiers: Tiers) -> Draft:
    """Give the draft, not to be extracted where the policy leaves it out."""
    return draft if not draft.infer or wanted(draft, tiers) else replace(draft, infer=False)


def wanted(draft: Draft, tiers: Tiers) -> bool:
    """Tell whether the policy gives a passage frames."""
    if tiers.max_chars is not None and len(draft.text) > tiers.max_chars:
        return False
    if not _listed(draft.speaker, tiers.speakers) or not _listed(source(draft.metadata), tiers.sources):
        return False
    return tiers.policy == "all" or (tiers.policy == "worthy" and worthy(draft.text, tiers.min_words))


def worthy(text: str, least: int) -> bool:
    """Tell whether a text seems to say something: ``least`` telling words, or one beside a name or a number."""
    telling = {token for token in tokens(text) if token not in STOP_WORDS and token not in _SMALL_TALK}
    return len(telling) >= least or bool(telling and (_DIGIT.search(text) or _NAMED.search(text)))


def source(metadata: Mapping[str, Any]) -> str:
    """Give where a passage comes from: the ``source`` of its metadata, else its role."""
    told = metadata.get("source") or metadata.get("role") or ""
    return told if isinstance(told, str) else ""


def saved(raw: int, characters: int, total: int) -> dict[str, float]:
    """Estimate what ``raw`` passages of so many characters spared: their share of all, and tokens not read or written."""
    spared = round(SHOWN * characters * TOKENS_A_CHARACTER) + raw * TOKENS_AROUND
    return {"raw_share": round(raw / total, 4) if total else 0.0, "raw_tokens_saved": spared if raw else 0}


def _listed(name: str, names: str) -> bool:
    """Tell whether a name is in a list: ``ana, bo`` are the only ones, ``-log, -tool`` are those left out."""
    told = [part.strip() for part in names.split(",") if part.strip()]
    out = [part[1:].strip() for part in told if part.startswith("-")]
    only = [part for part in told if not part.startswith("-")]
    return name not in out and (not only or name in only)
