"""Which fact ends which: closings that follow from the facts alone, in whatever order they came to be known.

Takes facts of one subject and what their sources said; gives those whose validity changes. A fact is closed by one
about the same subject: by another value of the same single-valued relation, by the opposite liking of the same thing, or
by words that name its end; and only by a statement of which its source is sure. What was closed is open again where its
end is gone. Knows nothing about storage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from seem.types import Fact, Passage, StoredFact
from seem.write.polarity import is_negated
from seem.write.relations import names_the_end, read

Sure = Callable[[StoredFact], bool]

_SENTENCE = re.compile(r"[^\n]+?(?:[.!?]+(?=\s|$)|$)", re.MULTILINE)
_CLAUSE = re.compile(r"[,;–—()]|:(?!\d)|\b(?:and|but|because|so|then|while)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
# «May» is a month and «may» is not, so case counts there.
_SUPPOSED = re.compile(
    r"\b(?:[Ii]f|[Uu]nless|[Ww]hether|[Ss]uppos(?:e|ing)|[Ii]magine|[Pp]retend|[Ww]ish(?:es|ed)?|[Aa]s though|rumou?r|"
    r"[Mm]aybe|[Pp]erhaps|[Pp]robably|[Hh]op(?:e|es|ing)|[Dd]ream(?:s|t|ed|ing)?)\b"
)
_MIGHT = re.compile(
    r"\b(?:may|might|could|would|should|will|going to|about to|want(?:s|ed)? to|plan(?:s|ned|ning)? (?:to|on)|thinking (?:of|about)|"
    r"consider(?:s|ing)?|almost|nearly|used to)\b|['’](?:d|ll)\b"
)
_ALSO = re.compile(
    r"\b(?:also|too|as well|besides|in addition|another|second|both|part[- ]time|still)\b", re.IGNORECASE
)
# A denial of one day or under a condition ends nothing.
_SOMETIMES = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|this (?:morning|evening|week|month|time|year)|always|usually|often|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)days?|on weekends?|when|before|after|until|till)\b",
    re.IGNORECASE,
)
_TEMPORAL = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:january|february|march|april|may|june|july|august|september|october|"
    r"november|december|noon|midnight|morning|evening|tomorrow|week|month)\b",
    re.IGNORECASE,
)


def ends(new: StoredFact, old: StoredFact) -> bool:
    """Tell whether the first fact says that the second holds no more, whichever is the later."""
    if new.subject_id != old.subject_id or new.id == old.id:
        return False
    now, then = read(new.fact.relation), read(old.fact.relation)
    if now.may_be or then.may_be:
        return False
    if new.object_id != old.object_id:
        return not now.slots.isdisjoint(then.slots) and _alike(new.fact.object, old.fact.object)
    if now.liking and then.liking:
        return now.liking == -then.liking
    if then.denies:
        # Only what was said to have ended may begin again; a prohibition stands.
        return then.ends and not then.forbids and not now.denies and now.bare == then.bare
    return (now.ends and now.bare == then.bare) or names_the_end(now, then)


def asserted(fact: Fact, text: str) -> bool:
    """Tell whether a text says the fact for sure: not as a question, a wish, a condition, a plan or an addition."""
    reading = read(fact.relation)
    if reading.may_be:
        return False
    clauses = list(_clauses(fact.object, text))
    return not clauses or any(_sure(reading.denies, reading.ends, sentence, clause) for sentence, clause in clauses)


def settle(new: StoredFact, stored: Iterable[StoredFact], sure: Sure) -> list[StoredFact]:
    """Give the facts of its subject that change because one more is known: those that it ends, and itself if it has ended."""
    changed = []
    closers = []
    is_sure = sure(new)
    single = bool(read(new.fact.relation).slots)
    for old in stored:
        if old.object_id != new.object_id and not single:
            continue
        if is_sure and ends(new, old) and _later(new, old) and _sooner(new, old):
            changed.append(_closed(old, new))
        if ends(old, new) and _later(old, new) and sure(old):
            closers.append(old)
    if closers and new.invalid_at is None:
        changed.append(_closed(new, min(closers, key=_since)))
    return changed


def reopened(fact: StoredFact, left: Iterable[StoredFact], sure: Sure) -> StoredFact:
    """Give a fact whose end is gone: open again, or ended by the next one that ends it."""
    bare = replace(fact, invalid_at=None, expired_at=None, superseded_by=None)
    closers = [other for other in left if ends(other, bare) and _later(other, bare) and sure(other)]
    return _closed(bare, min(closers, key=_since)) if closers else bare


def told_by(passages: Mapping[str, Passage]) -> Sure:
    """Give the test whether one of a fact's sources says it for sure."""
    return lambda fact: any(asserted(fact.fact, passages[p].text) for p in fact.provenance if p in passages)


def _closed(fact: StoredFact, by: StoredFact) -> StoredFact:
    known = [moment for moment in (fact.created_at, by.created_at) if moment is not None]
    return replace(fact, invalid_at=by.valid_at, expired_at=max(known) if known else None, superseded_by=by.id)


def _later(new: StoredFact, old: StoredFact) -> bool:
    if new.valid_at is None:
        return False
    # Words that name the end close what was said earlier on the same day; another value does not.
    named = new.object_id == old.object_id and new.provenance[0] > old.provenance[0]
    return (old.valid_at or "") < new.valid_at or (named and old.valid_at == new.valid_at)


def _sooner(new: StoredFact, old: StoredFact) -> bool:
    """Tell whether the fact is open, or closed later than this one closes it."""
    if old.invalid_at is None:
        return True
    return old.superseded_by is not None and (new.valid_at or "") < old.invalid_at


def _since(fact: StoredFact) -> tuple[str, str, str]:
    return (fact.valid_at or "", fact.provenance[0], fact.id)


def _alike(one: str, other: str) -> bool:
    """Tell whether two values are of one kind: names, times, or things; a name does not replace a thing."""
    return _kind(one) == _kind(other)


def _kind(value: str) -> str:
    if _TEMPORAL.search(value):
        return "time"
    return "name" if value[:1].isupper() else "thing"


def _clauses(object: str, text: str) -> Iterable[tuple[str, str]]:
    """Give the sentences and clauses that name an object; those of the whole text where none does."""
    wanted = set(_words(object))
    found = []
    for sentence in _SENTENCE.findall(text):
        for clause in _CLAUSE.split(sentence):
            found.append((sentence, clause, bool(wanted) and wanted <= set(_words(clause))))
    named = [(sentence, clause) for sentence, clause, names in found if names]
    return named or [(sentence, sentence) for sentence in _SENTENCE.findall(text) if sentence.strip()]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _sure(denies: bool, ends_it: bool, sentence: str, clause: str) -> bool:
    if sentence.rstrip().endswith("?") or _SUPPOSED.search(sentence) or _MIGHT.search(clause):
        return False
    if (
        denies
        and ends_it
        and _SOMETIMES.search(clause)
        and not re.search(r"\b(?:no longer|any ?more)\b", sentence, re.IGNORECASE)
    ):
        return False
    return denies or ends_it or not (is_negated(clause) or _ALSO.search(clause))
