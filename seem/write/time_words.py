"""The vocabulary of English time words, as data, and the two readers that need nothing else.

``normalise`` brings a phrase into one spelling (lower case, digits, full month names); ``find`` gives the spans of time
expressions in a sentence; ``guess_tense`` weighs the verbs around one. Knows nothing about calendars or anchors.
"""

from __future__ import annotations

import re
import unicodedata

MAX_PHRASE = 240
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
UNITS = {
    "minute": "hour", "minutes": "hour", "min": "hour", "mins": "hour", "hour": "hour", "hours": "hour",
    "day": "day", "days": "day", "night": "day", "nights": "day", "week": "week", "weeks": "week",
    "fortnight": "fortnight", "fortnights": "fortnight", "month": "month", "months": "month", "year": "year",
    "years": "year", "decade": "decade", "decades": "decade",
}  # fmt: skip
DECADE_WORDS = {
    "twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70, "eighties": 80,
    "nineties": 90,
}  # fmt: skip


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_SMALL = _listed(
    """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
    """
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_ORDINAL_SMALL = _listed(
    """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth
    """
)
_ORDINAL_TENS = {"twentieth": 20, "thirtieth": 30}
_NUMBERS = {word: number for number, word in enumerate(_SMALL, 1)} | _TENS
_ORDINALS = {word: number for number, word in enumerate(_ORDINAL_SMALL, 1)} | _ORDINAL_TENS

_ABBREVIATIONS = (
    {month[:3]: month for month in MONTHS if month != "may"}
    | {"sept": "september"}
    | {day[:3]: day for day in WEEKDAYS}
    | {"tues": "tuesday", "weds": "wednesday", "thur": "thursday", "thurs": "thursday", "xmas": "christmas"}
    | {"fall": "autumn", "til": "until", "till": "until", "tmrw": "tomorrow", "tmr": "tomorrow", "tonite": "tonight"}
    | {"yr": "year", "yrs": "years", "wk": "week", "wks": "weeks", "mth": "month", "mths": "months"}
    | {"2nite": "tonight", "2day": "today", "2moro": "tomorrow", "upcoming": "coming", "previous": "last"}
)
_HEDGES = re.compile(
    r"\b(?:about|around|roughly|approximately|approx|circa|probably|maybe|perhaps|almost|nearly|exactly|some time|"
    r"sometime|only|well|right|already|or so)\b"
)
_COUPLE = re.compile(r"\ba couple(?: of)?\b")
_NUMBER_WORD = re.compile(rf"\b(?:(?P<tens>{'|'.join(_TENS)})[- ])?(?P<word>{'|'.join((*_ORDINALS, *_NUMBERS))})\b")
_ABBREVIATED = re.compile(rf"\b({'|'.join(sorted(_ABBREVIATIONS, key=len, reverse=True))})\b\.?")


def suffix(number: int) -> str:
    """The ordinal of a number: 1st, 2nd, 13th."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _digits(match: re.Match[str]) -> str:
    tens, word = match["tens"], match["word"]
    base = _TENS[tens] if tens else 0
    if word in _ORDINALS:
        return suffix(base + _ORDINALS[word])
    number = _NUMBERS[word]
    return f"{tens} {number}" if tens and number > 9 else str(base + number)


def normalise(text: str) -> str:
    """One spelling of a time phrase, cut to the length that a phrase can have."""
    cut = unicodedata.normalize("NFKC", text[:MAX_PHRASE]).lower()[:MAX_PHRASE]
    cut = re.sub(r"[’‘`´]", "'", cut)
    cut = re.sub(r"(?<!\w)'(\d\d)\b(?!')", lambda m: f"{'20' if int(m[1]) < 40 else '19'}{m[1]}", cut)
    cut = re.sub(r"\s*[–—]\s*", " to ", cut)
    cut = re.sub(r"[«»\"“”()\[\]]", " ", cut)
    cut = _ABBREVIATED.sub(lambda m: _ABBREVIATIONS[m[1]], cut)
    cut = _COUPLE.sub("2", _NUMBER_WORD.sub(_digits, cut))
    cut = _HEDGES.sub(" ", cut)
    return re.sub(r"\s+", " ", cut).strip(" ,.;:!?")


# ---- finding -------------------------------------------------------------------------------------------------------

_ALT_MONTH = "|".join((*(m for m in MONTHS if m not in ("may", "march")), "jan", "feb", "apr", "jun", "jul", "aug",
                       "sept", "sep", "oct", "nov", "dec"))  # fmt: skip
# «may» and «march» are verbs as well, so that they count only with a capital letter.
_F_MONTH = rf"(?:(?:{_ALT_MONTH})\b\.?|(?-i:May|March|Mar|MAY|MARCH)\b(?! (?:i|we|you|he|she|they|it)\b)\.?)"
_F_DAYNAME = rf"(?:{'|'.join(WEEKDAYS)}|mon|tues?|wed|thur?s?|fri)\b"
_F_NUM = rf"(?:\d{{1,4}}|an?|a couple of|a few|several|{'|'.join((*_SMALL, *_TENS))})"
_F_UNIT = r"(?:days?|weeks?|weekends?|months?|years?|decades?|fortnights?|hours?|minutes?)\b"
_F_DAY = r"\d{1,2}(?:st|nd|rd|th)?\b"
_F_YEAR = r"(?:1[5-9]|20)\d\d\b"
_F_SEASON = r"(?:spring|summer|autumn|winter)\b"
_F_HOLIDAY = (
    r"(?:christmas(?: eve| day)?|xmas|new year(?:'?s)?(?: eve| day)?|easter(?: monday| sunday)?|good friday|halloween|"
    r"valentine'?s(?: day)?|thanksgiving|boxing day|labou?r day|memorial day)(?:\s+weekend)?\b"
)
_F_POINT = (
    rf"(?:\d{{4}}-\d\d(?:-\d\d)?(?:[t ]\d\d:\d\d(?::\d\d)?z?)?\b|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b|"
    rf"(?:{_F_DAYNAME},?\s+)?(?:the\s+)?{_F_DAY}\s+(?:of\s+)?{_F_MONTH}(?:,?\s+{_F_YEAR})?|"
    rf"(?:{_F_DAYNAME},?\s+)?(?:(?:early|mid|late)[- ])?{_F_MONTH}(?:\s+(?:the\s+)?{_F_DAY}(?!:))?"
    rf"(?:,?\s+(?:of\s+)?{_F_YEAR})?|"
    rf"(?:the\s+)?(?:day before yesterday|day after tomorrow)\b|(?:yesterday|today|tomorrow|tonight)\b"
    rf"(?:\s+(?:morning|afternoon|evening|night))?|"
    rf"(?:the\s+)?(?:last|past|next)\s+{_F_NUM}\s+{_F_UNIT}|"
    rf"(?:last|next|this|past|coming)\s+(?:{_F_UNIT}|{_F_DAYNAME}|{_F_MONTH}|{_F_SEASON}|{_F_HOLIDAY}|"
    rf"night\b|morning\b|afternoon\b|evening\b)|"
    rf"{_F_NUM}\s+{_F_UNIT}\s+(?:ago|back|from now)\b|in\s+{_F_NUM}\s+{_F_UNIT}|"
    rf"{_F_DAYNAME}(?:,?\s+the\s+{_F_DAY})?(?:\s+(?:morning|afternoon|evening|night)\b)?|"
    rf"{_F_HOLIDAY}(?:\s+{_F_YEAR})?|(?:early|mid|late)[- ]{_F_YEAR}|"
    rf"the\s+\d{{1,2}}(?:st|nd|rd|th)\b|(?:the\s+)?(?:1[5-9]|20)\d0s\b|"
    rf"(?:(?<=in )|(?<=in the )|(?<=since )|(?<=until )|(?<=by )){_F_SEASON}(?:\s+(?:of\s+)?{_F_YEAR})?|"
    rf"{_F_SEASON}\s+(?:of\s+)?{_F_YEAR}|"
    rf"(?:(?<=in )|(?<=since )|(?<=from )|(?<=to )|(?<=until )|(?<=by )|(?<=before )|(?<=after )|(?<=during )|"
    rf"(?<=and )|(?<=of )|(?<=around )){_F_YEAR}(?!\s*[a-z]*%))"
)
_F_LEAD = (
    r"(?:(?:since|until|till|before|after|between|from|by|"
    r"(?:at\s+|by\s+|until\s+)?(?:the\s+)?(?:end|beginning|start|middle)\s+of)\s+(?:the\s+)?)"
)
_FIND = re.compile(
    rf"(?<![\w-])(?=\w)(?:{_F_LEAD}?{_F_POINT}(?:\s*(?:-|–|to|and|until|till|through)\s*{_F_POINT})?"
    rf"|{_F_DAY}\s*(?:-|–|to|and)\s*{_F_DAY}\s+(?:of\s+)?{_F_MONTH}(?:,?\s+{_F_YEAR})?)",
    re.IGNORECASE,
)
# «and» joins two times of one expression only where «between» opened it; else they are two times.
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)


def find(text: str) -> list[tuple[int, int]]:
    """The character spans of the time expressions in a sentence, from left to right, disjoint."""
    spans: list[tuple[int, int]] = []
    for match in _FIND.finditer(text):
        start, end = match.span()
        joint = _AND.search(match[0])
        if joint and "between" not in match[0].lower() and not re.match(r"\d", match[0]):
            spans += [(start, start + joint.start()), (start + joint.end(), end)]
        else:
            spans.append((start, end))
    return spans


# ---- tense ---------------------------------------------------------------------------------------------------------

_PAST_VERBS = _listed(
    """
    was were did didn't had hadn't wasn't weren't went got came said told took gave made found left felt kept
    lost met bought brought thought caught taught sold paid saw sat stood ran won broke fell drove flew wrote
    rode spoke woke wore tore threw grew knew drew began sang sank drank swam rang slept spent sent built led
    fed hit hurt cut put let bit hid lit slid stole chose froze forgot became understood held heard laid burnt
    learnt dreamt shook shot stuck hung dug spilt swore struck gone been done born died ate beat couldn't blew
    bled bent rose shone swept wept cost read quit split ago yesterday since
    """
)
_NOT_PAST = _listed("need speed feed seed shed bed red indeed wed exceed proceed breed hundred naked wicked")
_FUTURE_WORDS = _listed(
    """
    will won't shall gonna plan plans planning want wants wanna hope hopes hoping must should might let's soon
    tomorrow can can't need needs scheduled due upcoming deadline starts begins opens lands closes leaves
    arrives ends turns comes gets flies moves goes retires runs expects expect expecting signs marries invite
    intend agree promise promises start next target follow follows
    """
)
_FUTURE_PAIRS = frozenset(
    {("have", "to"), ("has", "to"), ("going", "to"), ("about", "to"), ("is", "to"), ("are", "to"), ("would", "like"),
     ("would", "love"), ("signed", "up"), ("have", "got"), ("i've", "got"), ("we've", "got"), ("he's", "got"),
     ("she's", "got"), ("they've", "got"), ("moved", "to"), ("postponed", "to")}
)  # fmt: skip
# What is booked or agreed lies ahead, though the booking is over.
_COMMITTED = _listed("booked registered entered planned scheduled invited engaged decided promised offered")
_PRESENT_BE = _listed(
    "i'm he's she's it's we're they're you're that's there's who's is are am isn't aren't be gets get"
)
_PRONOUNS = _listed("i we they he she you")
_AUXILIARY = _listed("have has i've we've they've he's she's haven't hasn't never also just")
_TOKEN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?|[,;:–—()|]|\d+")
_SENTENCE_END = re.compile(r"[.!?…]+(?=\s|$)|\n+")
_FOR_LEAD = re.compile(r"\b(?:for|until|till|by|to|before)\s+(?:the\s+)?$", re.IGNORECASE)
_MOVED_TO = re.compile(
    r"\b(?:moved?|changed?|postponed|pushed|shifted|delayed)\b[^.!?]{0,40}?\bto\b(?: the)? ?\w{0,3}$", re.IGNORECASE
)
_AHEAD = re.compile(
    r"\b(?:tomorrow|next|coming|until|till|by|for|before|from|starting|after|deadline|at the earliest)\b|"
    r"^in (?:\d|an? |\w+ (?:week|day|month|year))",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"\b(?:last|yesterday|ago|since|back|past|previous)\b", re.IGNORECASE)
_YEARLY = re.compile(
    rf"\b(?:{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|{'|'.join(SEASONS)}|christmas|easter)\b"
)
_SURE = 0.4
_REACH = 400
_PENALTY = {",": 3.0, ";": 8.0, ":": 2.0, "(": 3.0, ")": 3.0, "|": 8.0, "–": 4.0, "—": 4.0}


def _cue(tokens: list[str], index: int) -> tuple[str, float] | None:
    """What one word says about the tense of its clause, with a weight."""
    token, low = tokens[index], tokens[index].lower()
    before = tokens[index - 1].lower() if index else ""
    after = tokens[index + 1].lower() if index + 1 < len(tokens) else ""
    if token == "may" or low in _FUTURE_WORDS or low.endswith("'ll") or (low, after) in _FUTURE_PAIRS:
        return "future", 1.0
    if low in _COMMITTED and before not in ("was", "were"):
        return "future", 0.5
    if low in _PAST_VERBS or (len(low) > 3 and low.endswith("ed") and low not in _NOT_PAST):
        if (before, low) in _FUTURE_PAIRS:
            return "future", 1.0
        return ("future", 0.6) if before in _PRESENT_BE and low != "been" and low != "gone" else ("past", 1.0)
    if low in ("has", "have") and after and not _finite_past(after):
        return "future", 0.6
    if low in _PRESENT_BE:
        return "future", 0.8 if after.endswith("ing") else 0.45
    if low in _PRONOUNS and after and after[0].isalpha() and not _finite_past(after):
        return "future", 0.6
    return None


def _finite_past(word: str) -> bool:
    return word in _PAST_VERBS or word in _AUXILIARY or word.endswith("ed") or word in ("would", "could", "used")


def _weigh(left: list[str], right: list[str]) -> dict[str, float]:
    """The strongest cue of each tense: cues before the time count more than those after it."""
    scores = {"past": 0.0, "future": 0.0}
    for tokens, order, side in ((left, range(len(left) - 1, -1, -1), 1.0), (right, range(len(right)), 0.7)):
        distance = 1.0
        for index in order:
            distance += _PENALTY.get(tokens[index], 1.0)
            if cue := _cue(tokens, index):
                name, weight = cue
                scores[name] = max(scores[name], side * weight / distance**0.5)
    return scores


def _stronger(scores: dict[str, float]) -> str | None:
    return None if scores["past"] == scores["future"] else max(scores, key=lambda name: scores[name])


def guess_tense(sentence: str, time_text: str) -> str | None:
    """«past», «future», or ``None``: the words of the sentence around the time, the nearer the heavier.

    A sentence without a cue («They came back! Tuesday night.») borrows from the one before it, then the one after it.
    """
    phrase = time_text[:MAX_PHRASE].strip().lower()
    if _BEHIND.search(phrase):
        return "past"
    ahead = bool(_AHEAD.search(phrase))
    low = sentence.lower()
    found = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", low) if phrase and len(low) == len(sentence) else None
    if found is None:
        if ahead:
            return "future"
        return _stronger(_weigh([], _words(sentence[:_REACH])))
    before = _SENTENCE_END.split(sentence[max(0, found.start() - _REACH) : found.start()])
    after = _SENTENCE_END.split(sentence[found.end() : found.end() + _REACH])
    scores = _weigh(_words(before[-1]), _words(after[0]))
    if _MOVED_TO.search(before[-1] + phrase[:3]):
        scores["future"] += 0.8
    elif ahead or _FOR_LEAD.search(before[-1]):
        scores["future"] += 0.3
    if guess := _stronger(scores):
        # Last year's May is a rare meaning of «in May»: only verbs close by outweigh the nearer one.
        unsure = guess == "past" and scores["past"] - scores["future"] < _SURE and _YEARLY.search(phrase)
        return None if unsure else guess
    if _YEARLY.search(phrase):
        return None
    for neighbour in (_words(before[-2]) if len(before) > 1 else [], _words(after[1]) if len(after) > 1 else []):
        if guess := _stronger(_weigh(neighbour, [])):
            return guess
    return None


def _words(text: str) -> list[str]:
    return _TOKEN.findall(text.replace("’", "'"))
