"""The vocabulary of English time words, as data, and the two readers that need nothing else.

``normalise`` brings a phrase into one spelling (lower case, digits, full month names); ``find`` gives the spans of time
expressions in a sentence. Knows nothing about calendars or anchors.
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


def listed(words: str) -> tuple[str, ...]:
    """The words of a block of text."""
    return tuple(words.split())


_SMALL = listed(
    """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
    """
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_ORDINAL_SMALL = listed(
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
    rf"(?:the\s+)?(?:{_F_DAYNAME}|week|weekend|month|year)\s+before\s+last\b|"
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
