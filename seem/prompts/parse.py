"""What the query parser is shown, the grammar of what it may write, and the patterns read back.

A pattern is a fact with ``?`` for every part that the question asks for or leaves open. Takes a question; gives the prompt, used by training AND by
serving, and a Lark grammar: subject and object are words of the question, only the relation is free. Knows nothing about tokenizers or models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from seem.prompts import lines
from seem.prompts.window import show
from seem.types import Fact

OPEN = "?"
MAX_PATTERNS = 3


def parse_prompt(question: str) -> str:
    """Render the prompt; the completion starts on the next line."""
    return show(question).text + "\n=>\n"


def parse_grammar(question: str) -> str:
    """Give the Lark grammar; a question without any word allows ``none`` only."""
    chunks = [c for c in show(question).chunks() if c.strip() and c.strip() != OPEN]
    if not any(chunk.startswith(" ") for chunk in chunks):
        return f'start: "{lines.NONE}"'
    return "\n".join(
        [
            f"start: fact{{1,{MAX_PATTERNS}}}",
            'fact: "F" (WORDS "|" RELATION "|" (WORDS | OPEN) | OPEN "|" RELATION "|" WORDS) "\\n"',
            f'OPEN: " {OPEN}"',
            f"SHOWN: %regex {json.dumps({'substring_chunks': chunks}, ensure_ascii=False)}",
            "WORDS: SHOWN & / [^ ](?s:.*)/",
            "RELATION: / [^|;\\n]+/",
        ]
    )


def read_patterns(text: str, *, whole: bool = True) -> list[Fact]:
    """Read the patterns of any text; ``whole=False`` says that it was cut off."""
    return usable(lines.parse(text, whole=whole).facts)


def usable(patterns: Iterable[Fact]) -> list[Fact]:
    """Keep the first patterns that are not repeated and of which one end at least is known."""
    return [p for p in dict.fromkeys(patterns) if not p.subject == p.object == OPEN][:MAX_PATTERNS]


def known(pattern: Fact) -> str:
    """Give the parts of a pattern that are known, as text: by it facts are found."""
    return " ".join(part for part in (pattern.subject, pattern.relation, pattern.object) if part != OPEN)
