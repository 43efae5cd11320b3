"""What the extractor is shown of one passage, and the words that it may copy.

Takes a passage, the turns before it and the names in play; gives the prompt text, used by training AND by serving, and the chunks of
which every copied span consists. Shown text differs from the raw text only in blank runs and in three reserved characters, and each
shown character knows its place in the raw text, so that a span is handed back byte for byte.
Knows nothing about tokenizers, grammars or labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from seem.types import Passage

CONTEXT_WORDS = 24
PIECE_WORDS = 110
# "|" and ";" separate fields, "<" could open a special token of some tokenizer: none of them may come from the text.
_RESERVED = str.maketrans({"|": "/", ";": ",", "<": "‹"})
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CHUNK = re.compile(rf" ?(?:[{_CJK}]|['’]s\b|[^\W{_CJK}]+(?:(?:[.\-/:@]|['’](?![sS]\b))[^\W{_CJK}]+)*|[^\w\s])")
_BREAK = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Shown:
    """A piece of raw text as it is shown: one line, no reserved character. ``origin[i]`` is the raw index of shown character i."""

    text: str
    raw: str
    origin: tuple[int, ...]

    def chunks(self) -> list[str]:
        """Give the words and marks that a span is made of; together they are the shown text, each word with its leading blank."""
        return _CHUNK.findall(" " + self.text)

    def restore(self, span: str) -> str | None:
        """Give the raw words behind a shown span, or ``None`` where the span is not in this text."""
        wanted = span.strip()
        at = self.text.find(wanted)
        if at < 0 or not wanted:
            return None
        return " ".join(self.raw[self.origin[at] : self.origin[at + len(wanted) - 1] + 1].split())


@dataclass(frozen=True, slots=True)
class Window:
    """One prompt: names in play, the end of the turn before, and one piece of the passage with its image caption."""

    speaker: str
    names: tuple[str, ...]
    turn: Shown
    before: Shown
    before_speaker: str
    image: Shown

    def prompt(self) -> str:
        """Render the prompt; the completion starts on the next line."""
        lines = ["names: " + ", ".join(self.names)]
        if self.before.text:
            lines.append(f"before: {self.before_speaker}: {self.before.text}")
        image = f" [image: {self.image.text}]" if self.image.text else ""
        lines.append(f"{self.speaker}: {self.turn.text}{image}")
        return "\n".join(lines) + "\n=>\n"

    def sources(self) -> tuple[Shown, ...]:
        """Give the texts that may be copied from, the passage first."""
        return tuple(s for s in (self.turn, self.image, self.before) if s.text)

    def restore(self, span: str) -> str | None:
        """Give the raw words behind a copied span or a name, or ``None`` where nothing shown contains it."""
        if span.strip() in self.names:
            return span.strip()
        return next((found for s in self.sources() if (found := s.restore(span)) is not None), None)


def show(raw: str) -> Shown:
    """Fold blanks and replace the reserved characters, remembering where each character came from."""
    letters: list[str] = []
    origin: list[int] = []
    for i, letter in enumerate(raw):
        if letter.isspace() or not letter.isprintable():
            if letters and letters[-1] != " " and letter.isspace():
                letters.append(" ")
                origin.append(i)
            continue
        letters.append(letter)
        origin.append(i)
    if letters and letters[-1] == " ":
        letters.pop()
        origin.pop()
    return Shown("".join(letters).translate(_RESERVED), raw, tuple(origin))


def clean_name(name: str) -> str:
    """Give a speaker's name as it is shown."""
    return show(name.replace(":", " ").replace(",", " ")).text or "Someone"


def windows(passage: Passage, context: Sequence[Passage], names: Iterable[str] = ()) -> list[Window]:
    """Cut a passage into windows, one for all but long texts; nothing is left out.

    ``context`` holds the turns before the passage, the nearest last. ``names`` are the other people known to take part.
    """
    speaker = clean_name(passage.speaker)
    before = context[-1] if context else None
    tail = show(" ".join(before.text.split()[-CONTEXT_WORDS:])) if before else show("")
    before_speaker = clean_name(before.speaker) if before else ""
    known = dict.fromkeys([speaker, *(clean_name(c.speaker) for c in context), *(clean_name(n) for n in names)])
    pieces = split_long(passage.text)
    out = []
    for n, piece in enumerate(pieces):
        image = show(passage.image if n == len(pieces) - 1 else "")
        out.append(Window(speaker, tuple(known)[:6], show(piece), tail, before_speaker, image))
        tail, before_speaker = show(" ".join(piece.split()[-CONTEXT_WORDS:])), speaker
    return out


def halves(window: Window) -> list[Window]:
    """Cut a window in two where its words allow it, else give none: of less text a model has less to say."""
    raw = window.turn.raw
    pieces = split_long(raw, max(1, sum(_size(word) for word in raw.split()) // 2))
    if len(pieces) < 2:
        return []
    first, rest = pieces[0], " ".join(pieces[1:])
    tail = show(" ".join(first.split()[-CONTEXT_WORDS:]))
    return [
        replace(window, turn=show(first), image=show("")),
        replace(window, turn=show(rest), before=tail, before_speaker=window.speaker),
    ]


def split_long(text: str, limit: int = PIECE_WORDS) -> list[str]:
    """Cut a long text at sentence ends, else at blanks, else between letters, into pieces of at most ``limit`` words."""
    if len(text) <= limit * 4 and len(text.split()) <= limit:
        return [text]
    pieces: list[str] = []
    room = 0
    for sentence in _units(text, limit):
        size = _size(sentence)
        if pieces and size <= room:
            pieces[-1] += " " + sentence
            room -= size
        else:
            pieces.append(sentence)
            room = limit - size
    return pieces or [text]


def _units(text: str, limit: int) -> Iterable[str]:
    for sentence in _BREAK.split(text):
        words = [w[i : i + limit * 4] for w in sentence.split() for i in range(0, len(w), limit * 4)]
        start, size = 0, 0
        for i, word in enumerate(words):
            if size + _size(word) > limit and i > start:
                yield " ".join(words[start:i])
                start, size = i, 0
            size += _size(word)
        if words[start:]:
            yield " ".join(words[start:])


def _size(text: str) -> int:
    # A long unbroken run (a hash, a text without blanks) weighs as many words as its letters would make.
    return sum(max(1, len(word) // 6) for word in text.split())
