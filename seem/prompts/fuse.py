"""What the fuser is shown of one occurrence, and the words with which it may retell it.

Takes notes, one line for each passage; gives the prompt, used by training AND by serving, and a grammar in which every content word stands in a note, up to
its ending; only words that assert nothing alone are free. Knows nothing about extractions, tokenizers or models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

import snowballstemmer

from seem.prompts.window import show

MAX_SENTENCES = 3
# Modal verbs and denials are not among them: they turn a plan into a deed, or a deed into none.
GLUE = frozenset(
    "a about after also although an and are as at be because been before being between both but by each for from had has have he her "
    "him his how in into is it its of on onto or she since so that the their them then there these they this those to until was were "
    "what when where which while who whom whose with".split()
)
_ENDINGS = ("", "s", "es", "d", "ed", "ing")
_LEAST_STEM = 3
_stem = snowballstemmer.stemmer("english").stemWord


def fuse_prompt(notes: Sequence[str]) -> str:
    """Render the prompt; the completion starts on the next line."""
    return "\n".join([*(show(note).text for note in notes), "=>"]) + "\n"


def fuse_grammar(notes: Sequence[str]) -> str:
    """Give the Lark grammar for one to three sentences of the notes' words, in any order."""
    words = sorted({form for word in (*_words(notes), *GLUE) for form in _cased(word)})
    return "\n".join(
        [
            f"start: first (later){{0,{MAX_SENTENCES - 1}}}",
            'first: FIRST (WORD | MARK)* "."',
            'later: WORD (WORD | MARK)* "."',
            'FIRST: /["(]?/ ANY',
            'WORD: / ["(]?/ ANY',
            "MARK: /[,;:)\"]|['’]s?/",
            "ANY: " + " | ".join(json.dumps(word, ensure_ascii=False) for word in words),
        ]
    )


def _words(notes: Iterable[str]) -> set[str]:
    """Give the words of the notes and, of those in lower case, their other endings."""
    shown = {chunk.strip() for note in notes for chunk in show(note).chunks()}
    return {form for word in shown if word[:1].isalnum() for form in (_forms(word) if word.islower() else (word,))}


@lru_cache(maxsize=20_000)
def _forms(word: str) -> tuple[str, ...]:
    """Give the word's inflections: whatever the stemmer takes for the same word."""
    if not word.isalpha() or not word.isascii():
        return (word,)
    stem = str(_stem(word))
    # plan: planned; move: moving; try: tries
    roots = {stem, stem + stem[-1:], stem.removesuffix("e"), stem + "e"}
    roots |= {stem[:-1] + "y"} if stem.endswith("i") else set()
    forms = (root + ending for root in roots if len(root) >= _LEAST_STEM for ending in _ENDINGS)
    return tuple(sorted({word, *(form for form in forms if _stem(form) == stem)}))


def _cased(word: str) -> tuple[str, ...]:
    return word, word[:1].upper() + word[1:], word[:1].lower() + word[1:]
