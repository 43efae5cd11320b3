"""Text to the tokens that word search compares.

Takes any text, gives tokens: NFKC, case folded, English stems for Latin words; runs of scripts without spaces as
single characters and pairs; what is joined by a hyphen, dot or slash both whole and in parts; ``c++``, ``100%``,
``#tag`` as they stand. Knows nothing about documents or scores. Accents are kept: ``Zoe`` does not find ``Zoë``.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import regex  # type: ignore[import-untyped]
import snowballstemmer

_ATOM = r"[\p{L}\p{N}\p{M}]+(?:'[\p{L}\p{N}\p{M}]+)*"
_TERM = regex.compile(
    rf"[#@$€£]?{_ATOM}(?:[-_./:@&+]{_ATOM})*(?:[+#]+|%)?|[\p{{So}}\p{{Sc}}\p{{Extended_Pictographic}}]"
)
_PART = regex.compile(_ATOM)
# Scripts that are written without spaces between words.
_RUN = regex.compile(
    r"[\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー\p{M}]+"
    r"|[^\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー]+"
)
_UNSPACED = regex.compile(r"[\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー]")
_LATIN = regex.compile(r"[\p{Latin}\p{M}']+")
# Zero-width spaces, joiners, marks of direction, variation selectors: never seen, so never compared.
_UNSEEN = regex.compile(r"[\p{Cf}\N{VARIATION SELECTOR-1}-\N{VARIATION SELECTOR-16}]+")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2019\u2018\u201b\u02bc\uff07\u0060\u00b4\u2032", "'"))

# Beyond this many characters it is a code, not a word.
_LONGEST = 40

_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


def tokens(text: str) -> list[str]:
    """Give the tokens of a text in order; none for punctuation alone."""
    found: list[str] = []
    for match in _TERM.finditer(_normalised(text)):
        term = match.group()
        if term.isascii() and term.isalpha():
            # Most words: none of the questions below arises.
            found.append(_stem(term) if len(term) <= _LONGEST else term)
            continue
        parts = _PART.findall(term)
        if parts != [term] and not _UNSPACED.search(term):
            found.append(term)
        for part in parts:
            found.extend(_words(part))
    return found


def _normalised(text: str) -> str:
    # Apostrophes first: NFKC would turn the acute accent into a space and a mark.
    folded = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).casefold()
    return str(_UNSEEN.sub("", unicodedata.normalize("NFKC", folded)))


def _words(part: str) -> list[str]:
    if not _UNSPACED.search(part):
        return [_stem(part) if len(part) <= _LONGEST and _LATIN.fullmatch(part) else part]
    words: list[str] = []
    for run in _RUN.findall(part):
        if _UNSPACED.search(run):
            words.extend(run)
            words.extend(run[place : place + 2] for place in range(len(run) - 1))
        else:
            words.extend(_words(run.strip("'")) if run.strip("'") else [])
    return words


# Too common to tell anything; negations are not among them.
STOP_WORDS = frozenset(
    _stem(word)
    for word in (
        "a an and are as at be been but by did do does for from had has have he her his how i if in is it its me my of "
        "on or our she so than that the their them then there they this to was we were what when where which who whom "
        "whose why with would you your"
    ).split()
)
