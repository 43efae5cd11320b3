"""What the relation of a fact says: which single-valued thing it gives a value to, what it ends, whether it only may be.

Takes the words of a relation, gives their reading; one list of cues, in English, and nothing is read into words that are
not on it. Knows nothing about subjects and objects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from seem.write.polarity import is_negated

# Of these one subject has one value at a time; any other relation may hold many times over.
_SINGLE = {
    name: re.compile(f"^(?:now |currently |just )?(?:{pattern})$")
    for name, pattern in (
        (
            "home",
            r"(?:live|reside|stay)s? (?:in|at|on)|(?:is|am|are) (?:living|residing|based|located) (?:in|at)|"
            r"(?:has |have )?(?:moved|relocated) (?:back )?(?:in)?to|(?:has |have )?settled in",
        ),
        ("employer", r"works? (?:at|for)|(?:is|am|are) (?:employed|working) (?:at|by|for)"),
        ("job", r"works? as|(?:is|am|are) (?:employed|working) as"),
        ("spouse", r"(?:is|am) married to|married"),
        ("fiance", r"(?:is|am) engaged to"),
        ("age", r"(?:is|am) aged"),
        ("phone", r"has phone number"),
        ("address", r"has address"),
        ("weight", r"weighs?"),
        ("price", r"costs?"),
        (
            "schedule",
            r"(?:is|are) (?:scheduled|set|booked) (?:for|on|at)|takes? place (?:on|in|at)|(?:is|are|was|were) (?:moved|"
            r"postponed|rescheduled|brought forward|pushed back) to|(?:moved|postponed|rescheduled) to",
        ),
        ("due", r"(?:is|are) due (?:on|by)"),
    )
}
# A verb that names the end, and the relations to the same object that it ends.
_ENDINGS = tuple(
    (re.compile(f"^(?:has |have |is |am |are |was |were )?(?:just )?(?:{verb})$"), re.compile(f"^(?:{ended})$"))
    for verb, ended in (
        (
            r"left|quit|resigned from|retired from|dropped out of|was fired from|was dismissed from",
            r"works? (?:at|for|with|in|on)|(?:is|am|are) (?:employed|working) (?:at|by|for|on)|(?:is|am|are) (?:a )?(?:member of|on|in)|"
            r"plays? (?:in|for)|sings? in|stud(?:y|ies) at|attends?|belongs? to|joined|volunteers? (?:at|for)|"
            r"lives? (?:in|at)",
        ),
        (
            r"moved out of|moved away from",
            r"lives? (?:in|at|on)|resides? (?:in|at)|(?:is|am|are) (?:living|based) in|moved (?:in)?to",
        ),
        (
            r"off|taken off|moved off|removed from|rolled off",
            r"(?:is|am|are|works?|(?:is|am|are) working) (?:now )?on|(?:is|am|are) assigned to|joined|belongs? to|works? on",
        ),
        (
            r"gave up|given up|stopped|quit",
            r"drinks?|smokes?|eats?|takes?|plays?|does|uses?|attends?|practises?|practices?",
        ),
        (r"cancelled|canceled", r"booked|(?:is |am )?subscribe[ds]? to|has"),
        (r"sold|gave away|threw away", r"owns?|has|bought|keeps?"),
        (
            r"divorced|divorced from|separated from|broke up with",
            r"(?:is|am) (?:married|engaged) to|married|dates?|(?:is|am) dating",
        ),
    )
)
_LIKES = re.compile(r"\b(?:lov(?:e|es|ed)|lik(?:e|es|ed)|ador(?:e|es|ed)|enjoy(?:s|ed)?|fond of|keen on)\b")
_LOATHES = re.compile(
    r"\b(?:hat(?:e|es|ed)|dislik(?:e|es|ed)|detest(?:s|ed)?|loath(?:e|es|ed)|despis(?:e|es|ed)|sick of|went off|gone off|"
    r"(?:cannot|can not|can['’]?t|could not|couldn['’]?t) (?:stand|bear|abide))\b"
)
_NO_LONGER = re.compile(r"\b(?:no longer|no more|not any ?more)\b|\bany ?more\b")
# Of the present alone: «did not take the train» tells of one day, «cannot take it» of one occasion.
_DENIAL = re.compile(r"\b(?:do(?:es)? not|do(?:es)?n['’]?t|(?:is|are|am) not|(?:is|are)n['’]?t|never)\b")
_STOPPED = re.compile(r"^(?:has |have )?(?:just )?(?:stopped|quit|gave up|given up)\b (?=\w+ing\b)")
_MAY_BE = re.compile(
    r"\b(?:may|might|could|would|should|will|must|want(?:s|ed)?|wish(?:es|ed)?|hop(?:e|es|ed|ing)|plan(?:s|ned|ning)?|"
    r"intend(?:s|ed|ing)?|consider(?:s|ed|ing)?|think(?:s|ing)? (?:of|about)|thought (?:of|about)|dream(?:s|ed|t|ing)?|"
    r"going to|about to|tr(?:y|ies|ied|ying) to|if|whether|perhaps|maybe|almost|nearly|used to|hypothetically|pretends?)\b"
)
_FORBIDDEN = re.compile(r"\b(?:never|do not|don['’]?t|(?:must|may|shall) not|mustn['’]?t|cannot)\b")
_BEING = frozenset({"is", "am", "are"})
_AUXILIARY = frozenset({"is", "was", "has", "does"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What a relation says, in one form.

    ``bare`` is the verb without denial and person; ``slots`` the single-valued things to one of which it gives a value;
    ``liking`` 1, -1, or 0 where it tells of none; ``ends`` that it denies its own verb from now on; ``forbids`` that it may
    be a prohibition, which no single act takes back.
    """

    bare: str
    slots: frozenset[str]
    liking: int
    denies: bool
    ends: bool
    forbids: bool
    may_be: bool
    text: str


@lru_cache(maxsize=8192)
def read(relation: str) -> Reading:
    """Read the words of a relation."""
    text = " ".join(relation.casefold().split())
    no_longer = _NO_LONGER.search(text) is not None
    denies = is_negated(text) or no_longer
    bare = _bare(text)
    return Reading(
        bare,
        frozenset(name for name, pattern in _SINGLE.items() if not denies and pattern.match(text)),
        _liking(text),
        denies,
        no_longer or _DENIAL.search(text) is not None or _STOPPED.match(text) is not None,
        _FORBIDDEN.search(text) is not None,
        _MAY_BE.search(text) is not None,
        text,
    )


def names_the_end(ending: Reading, of: Reading) -> bool:
    """Tell whether the first relation says in its verb that the second, to the same object, has ended."""
    if ending.denies:
        return False
    return any(verb.match(ending.text) and ended.match(of.text) for verb, ended in _ENDINGS)


def _liking(text: str) -> int:
    if _LOATHES.search(text):
        # «cannot stand» denies nothing; «does not hate» says nothing sure.
        return 0 if is_negated(_LOATHES.sub("", text)) else -1
    if _LIKES.search(text):
        return -1 if is_negated(text) or _NO_LONGER.search(text) else 1
    return 0


def _bare(text: str) -> str:
    text = _STOPPED.sub("", _NO_LONGER.sub("", _DENIAL.sub("", text)))
    first, _, rest = " ".join(text.split()).partition(" ")
    if first in _BEING and rest:
        return rest
    if first not in _AUXILIARY:
        first = re.sub(r"(?<=[a-z]{2}[^s])s$", "", first)
        first = re.sub(r"(?<=[a-z]{2})(?:ing|e)$", "", first)
    return f"{first} {rest}".strip()
