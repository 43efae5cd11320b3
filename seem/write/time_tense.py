"""Whether the words around a time expression look back or ahead.

``lean`` weighs the verbs, particles and punctuation of the clause around the words and gives one number: below zero
the time lies behind, above zero ahead, near zero nobody can tell. Knows nothing about calendars or anchors.
"""

from __future__ import annotations

import re

from seem.write.time_words import MAX_PHRASE, WEEKDAYS, listed

_PAST_VERBS = frozenset(listed(
    """
    was were did didn't had hadn't wasn't weren't went got came said told took gave made found left felt kept
    lost met bought brought thought caught taught sold paid saw sat stood ran won broke fell drove flew wrote
    rode spoke woke wore tore threw grew knew drew began sang sank drank swam rang slept spent sent built led
    fed hit hurt cut put let bit hid lit slid stole chose froze forgot became understood held heard laid burnt
    learnt dreamt shook shot stuck hung dug spilt swore struck gone done born died ate beat couldn't blew
    bled bent rose shone swept wept cost read quit split ago yesterday since arose bore bound clung crept dealt
    fled flung forbade forgave fought hid knelt leapt lent meant mistook overcame rid sewn shrank sought spun
    sprang stank strode strove swung took undid upset withdrew wound wrung showed wasn weren couldn spat
    set lay been
    """
))  # fmt: skip
# Past only after «have».
_PARTICIPLES = frozenset(listed(
    """
    taken given seen known eaten driven broken fallen spoken chosen shown worn written flown begun stolen ridden risen
    drawn grown thrown blown sung drunk swum rung forgotten hidden bitten beaten become come run
    """
))  # fmt: skip
# «15 to 22 March, I've asked already»: a perfect has no time of its own, so that it says nothing of one before it.
_PERFECT = frozenset(listed("have has i've we've they've you've haven't hasn't"))
_NOT_PAST = frozenset(listed("need speed feed seed shed bed red indeed wed exceed proceed breed hundred naked wicked"))
_FUTURE_WORDS = frozenset(listed(
    """
    will won't shall gonna planning want wants wanna hoping must should might let's soon tomorrow can can't need
    needs scheduled due upcoming deadline starts begins opens lands closes leaves arrives ends comes gets flies
    moves goes retires runs expects expect expecting signs marries invite intend agree next follow follows kicks
    falls stops visits changes graduates reopens sails happens expires finishes returns departs joins launches takes
    ships forecast
    """
))  # fmt: skip
# Verbs that are nouns as well: they count only after a subject.
_NOUNS_TOO = frozenset(listed("plan plans hope hopes promise promises start target turns"))
_FUTURE_PAIRS = frozenset(
    {("have", "to"), ("has", "to"), ("going", "to"), ("about", "to"), ("is", "to"), ("are", "to"), ("would", "like"),
     ("would", "love"), ("signed", "up"), ("have", "got"), ("i've", "got"), ("we've", "got"), ("he's", "got"),
     ("she's", "got"), ("they've", "got"), ("has", "got")}
)  # fmt: skip
_NO_VERBS = frozenset({("cut", "over"), ("let", "me"), ("let", "us")})
# What is booked or agreed lies ahead, though the booking is over.
_COMMITTED = frozenset(listed("booked registered entered planned scheduled invited engaged decided promised offered"))
_PRESENT_BE = frozenset(listed(
    "i'm he's she's it's we're they're you're that's there's who's is are am isn't aren't be gets get"
))  # fmt: skip
_FINITE_BE = frozenset(listed("is are it's that's he's she's we're they're i'm"))
_PRONOUNS = frozenset(listed("i we they he she you"))
_AUXILIARY = frozenset(listed("have has i've we've they've he's she's haven't hasn't never also just"))
_UNREAL = frozenset(listed("should could would might must"))
_PREPOSITIONS = frozenset(listed("on in at from for until till by around"))
# Somebody is back, off or out at the time that follows.
_ADVERBS = frozenset(listed("back off away home here there out over done open closed free"))
# What is named with its day because it is to come: «delivery on Thursday», «arriving on the 22nd».
_COMING = frozenset(listed(
    """
    delivery premiere deadline appointment departure arrival kickoff cutover arriving leaving coming
    starting opening landing closing flying
    """
))  # fmt: skip
# Verbs in their plain form that open an order or a piece of advice.
IMPERATIVES = frozenset(listed(
    """
    ask bring buy call check choose come find give go join keep make meet order pay phone register remember
    let put ring save see send stop take tell treat try turn wait write
    """
))  # fmt: skip
# Words before the first word that matters: a clause that opens with its time.
_OPENERS = frozenset(listed("and but so then or on in at the by since until"))
# What they are told or agree to do lies ahead of the telling: «dared me to enter the show on 24 August».
_COMMANDS = frozenset(listed(
    """
    dared asked told invited persuaded convinced forced challenged ordered promised agreed decided wants offered
    allowed got
    """
))  # fmt: skip
_NO_INFINITIVE = frozenset(listed("the a an my your his her its our their me you him us them this that these those"))
_TOKEN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?|[,;:–—()|]|\d+")
_SENTENCE_END = re.compile(r"[.!?…]+(?=\s|$)|\n+")
_TILL = re.compile(r"\b(?:until|till|til|by|before|no later than|deadline)\b")
_FROM = re.compile(r"\b(?:for|from|starting|after|at the earliest)\b")
_MAY = re.compile(r"\bmay\b")  # inside a time it is the month
_SINCE = re.compile(r"\bsince\b")
_TILL_LEAD = re.compile(r"\b(?:until|till|by|before)\s+(?:the\s+)?$", re.IGNORECASE)
_FOR_LEAD = re.compile(r"\b(?:for|to)\s+(?:the\s+)?$", re.IGNORECASE)
_MOVED_TO = re.compile(
    r"\b(?:moved?|changed?|postponed|pushed|shifted|delayed)\b[^.!?]{0,40}?\bto\b(?: the)? ?\w{0,3}$", re.IGNORECASE
)
_AGREED = re.compile(r"^,? then(?=\s*(?:[.!?,;…]|$))", re.IGNORECASE)
# A minute that nobody plans is a record.
_RECORDED = re.compile(r"\b(?:at )?\d{1,2}:[0-5][1-46-9]\b")
# «Again in May?» proposes; «the Saturday» is one that both know.
_ASKED = re.compile(r"^[^.!?…\n]*\?")
_KNOWN = re.compile(rf"\bthe (?:{'|'.join(WEEKDAYS)})\b")
_REACH = 400
# A verb no more than four words away, and no sign of the other tense, leaves no doubt.
_CERTAIN = 0.44
# Cues weaker than this stand too far off; the sentences around tell more.
_FAINT = 0.12
# A deadline is still to come unless a past verb stands nearer than this.
_FAR = 0.3
_PENALTY = {",": 3.0, ";": 8.0, ":": 2.0, "(": 3.0, ")": 3.0, "|": 8.0, "–": 4.0, "—": 4.0}

Scores = tuple[float, float]


def _cue(tokens: list[str], index: int, *, behind: bool = True) -> tuple[bool, float] | None:
    """What one word says about its clause: whether it looks ahead, and a weight. ``behind``: it precedes the time."""
    token, low = tokens[index], tokens[index].lower()
    before = tokens[index - 1].lower() if index else ""
    after = tokens[index + 1].lower() if index + 1 < len(tokens) else ""
    if low in _UNREAL and after in ("have", "ve"):
        return False, 1.0
    if low in _NOUNS_TOO and (before in _PRONOUNS or before in ("to", "and", "who")):
        return True, 1.0
    if token == "may" or low in _FUTURE_WORDS or low.endswith("'ll") or (low, after) in _FUTURE_PAIRS:
        return True, 1.0
    if low in IMPERATIVES and behind and all(token.lower() in _OPENERS for token in tokens[:index]):
        return True, 1.0
    if low == "over" and before in _PRESENT_BE:
        return False, 1.0
    if (low, after) in _NO_VERBS and (low == "cut" or before in _OPENERS or before in ("", ",")):
        return None
    if low in _COMMITTED and (behind or before == ",") and index and before not in ("was", "were"):
        return True, 0.5
    if verb := _verb_cue(tokens, index, behind=behind):
        return verb[0]
    rest = [token.lower() for token in tokens[index + 1 : index + 4]]
    rest = rest[1:] if rest and rest[0] in _ADVERBS else rest
    at_end = not rest or (len(rest) == 1 and rest[0] in _PREPOSITIONS)
    if behind and at_end and (low in _COMING or _third_person(tokens, index)):
        return True, 0.6
    return _present_cue(low, before, after, at_end=at_end)


def _verb_cue(tokens: list[str], index: int, *, behind: bool) -> tuple[tuple[bool, float] | None] | None:
    """What a past form, a perfect or an infinitive says, in a tuple of one (it may say «nothing»); ``None`` where the word is none of them."""
    low = tokens[index].lower()
    before = tokens[index - 1].lower() if index else ""
    after = tokens[index + 1].lower() if index + 1 < len(tokens) else ""
    if low in _PAST_VERBS or (len(low) > 3 and low.endswith("ed") and low not in _NOT_PAST):
        if (before, low) in _FUTURE_PAIRS:
            return ((True, 1.0),)
        if not behind and before in _PERFECT:
            return (None,)
        passive = before in _PRESENT_BE or before in ("getting", "being")
        return ((True, 0.6) if passive and low not in ("been", "gone") else (False, 1.0),)
    if low.endswith("'d") and after and not _finite_past(after):
        return ((True, 0.6),)
    if low in ("has", "have") and after in _PARTICIPLES:
        return ((False, 1.0) if behind else None,)
    if low in ("has", "have") and after and not _finite_past(after):
        return ((True, 0.6),)
    if low == "to" and after and after not in _NO_INFINITIVE:
        if any(token.lower() in _COMMANDS for token in tokens[max(0, index - 3) : index]):
            return ((True, 0.9),)
    return None


def _third_person(tokens: list[str], index: int) -> bool:
    """Whether a word is the verb of a name or of «it»: «Orville rides»."""
    token, before = tokens[index], tokens[index - 1] if index else ""
    named = before[:1].isupper() and before.lower() not in _PRONOUNS | _NO_INFINITIVE
    verb = token.islower() and len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us", "is", "'s"))
    return verb and (named or before.lower() in ("it", "he", "she", "who"))


def _present_cue(low: str, before: str, after: str, *, at_end: bool) -> tuple[bool, float] | None:
    """What the present tense says: mostly of something to come; ``at_end``: the time follows at once."""
    if low == "to" and before and before not in _PRESENT_BE and after[:1].isalpha() and after not in _NO_INFINITIVE:
        return True, 0.4
    if at_end and (low in _FINITE_BE or low.endswith("'s")):
        return True, 0.9 if low in _FINITE_BE else 0.5
    if low in _PRESENT_BE:
        return True, 0.8 if after.endswith("ing") else 0.45
    if low in _PRONOUNS and after and after[0].isalpha() and not _finite_past(after):
        return True, 0.6
    return None


def _finite_past(word: str) -> bool:
    return word in _PAST_VERBS or word in _AUXILIARY or word.endswith("ed") or word in ("would", "could", "used")


def _weigh(left: list[str], right: list[str]) -> Scores:
    """The strongest cue behind and ahead: cues before the time count more than those after it."""
    scores = [0.0, 0.0]
    opens = all(token.lower() in _OPENERS for token in left)
    for tokens, order in ((left, range(len(left) - 1, -1, -1)), (right, range(len(right)))):
        distance = 1.0
        for index in order:
            distance += _PENALTY.get(tokens[index], 1.0)
            if cue := _cue(tokens, index, behind=tokens is left):
                ahead, weight = cue
                # Where the time opens the clause, its verb in the past can only follow.
                side = 1.0 if tokens is left or (opens and not ahead) else 0.7
                scores[ahead] = max(scores[ahead], side * weight / distance**0.5)
    return scores[0], scores[1]


def lean(context: str, phrase: str) -> tuple[float, str | None]:
    """How clearly the words around ``phrase`` look ahead (above zero) or back; and the tense where it is beyond doubt.

    A sentence without a cue («They came back! Tuesday night.») borrows from its neighbours. The weights were fitted to
    the corpus by logistic regression.
    """
    phrase = phrase[:MAX_PHRASE].strip().lower()
    inside = _weigh(_words(_MAY.sub(" ", phrase)), [])
    opens = bool(_TILL.search(phrase)) or bool(_FROM.search(phrase))
    total = 2.7 * _gap(inside) + 3.0 * bool(_TILL.search(phrase)) + 1.9 * bool(_FROM.search(phrase))
    total -= 2.8 * bool(_SINCE.search(phrase))
    at = place(context, phrase)
    if at is None:
        return total + 1.6 * _gap(_weigh([], _words(context[:_REACH]))), None
    before = _SENTENCE_END.split(context[max(0, at - _REACH) : at])
    after = _SENTENCE_END.split(context[at + len(phrase) : at + len(phrase) + _REACH])
    own = _weigh(_words(before[-1]), _words(after[0]))
    previous = _gap(_weigh(_words(before[-2]), [])) if len(before) > 1 else 0.0
    following = _gap(_weigh(_words(after[1])[::-1], [])) if len(after) > 1 else 0.0
    if max(own) < _FAINT:
        total += 1.6 * (previous + following)
    else:
        total += 2.7 * _gap(own) + 3.4 * _gap(own) / (sum(own) + 0.3) + 0.7 * (previous + following)
    if _AGREED.search(context[at + len(phrase) :]) and own[0] < _FAR:
        return total + 4.0, "future"
    if _RECORDED.search(phrase + after[0][:12]) and own[1] < _CERTAIN:
        total -= 3.0
    if max(own) < _FAINT and _ASKED.search(context[at + len(phrase) :][:_REACH]):
        total += 2.5
    total -= 1.5 * bool(_KNOWN.search(phrase))
    led = bool(_TILL_LEAD.search(before[-1])) or bool(_FOR_LEAD.search(before[-1]))
    moved = bool(_MOVED_TO.search(before[-1] + phrase[:3]))
    total += 1.5 * led + 4.0 * moved
    if _TILL.search(phrase) and own[0] < _FAR:
        return total, "future"
    if own[1] >= _CERTAIN and own[0] == 0 and inside[0] == 0 and not _SINCE.search(phrase):
        return total, "future"
    certain = own[0] >= _CERTAIN and own[1] == 0 and inside[1] == 0 and not (led or moved or opens)
    return total, "past" if certain else None


def _gap(scores: Scores) -> float:
    return scores[1] - scores[0]


def place(context: str, phrase: str) -> int | None:
    """Where a phrase stands in a text as whole words, in any case; ``None`` where it does not."""
    low = context.lower()
    if not phrase or len(phrase) > MAX_PHRASE or len(low) != len(context):
        return None
    found = re.search(rf"(?<!\w){re.escape(phrase.lower())}(?!\w)", low)
    return found.start() if found else None


def _words(text: str) -> list[str]:
    return _TOKEN.findall(text.replace("’", "'"))
