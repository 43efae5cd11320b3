"""The grammar of one window's extraction: every slot is a name in play or a run of words that were shown; only a relation is free.

Takes a window, gives a Lark grammar with llguidance's substring terminals. The same text works inside vLLM (guidance backend).
Fields end at a bare ``|``, ``;`` or line end, which no shown text contains, so that no field can swallow a separator.
"""

from __future__ import annotations

import json

from seem.prompts.window import Window

MAX_EVENTS = 4
MAX_FACTS = 5
# Long relations are a sign of a model that lost its way; a bounded repetition would make masks a hundred times dearer.
_RELATION = r"/ [^|;\n]+/"


def extraction_grammar(window: Window) -> str:
    """Give the Lark grammar for a window. A window without any word allows ``none`` only."""
    terminals: list[str] = []
    spans: list[str] = []
    for n, source in enumerate(window.sources()):
        chunks = [c for c in source.chunks() if c.strip()]
        if chunks:
            terminals.append(f"S{n}: %regex {json.dumps({'substring_chunks': chunks}, ensure_ascii=False)}")
            terminals.append(f"W{n}: S{n} & / [^ ](?s:.*)/")
            spans.append(f"W{n}")
    if not spans:
        return 'start: "none"'
    names = " | ".join(json.dumps(" " + name, ensure_ascii=False) for name in window.names)
    return "\n".join(
        [
            f'start: "none" | event{{1,{MAX_EVENTS}}} fact{{0,{MAX_FACTS}}}',
            'event: "E" who (";" who){0,5} "|" span when? ("|where" span)? ("|why" span)? ("|how" span)? "\\n"',
            'fact: "F" who "|" RELATION "|" who when? "\\n"',
            'when: "|when" span',
            "who: NAME | span",
            "span: " + " | ".join(spans),
            f"NAME: {names}",
            f"RELATION: {_RELATION}",
            *terminals,
        ]
    )
