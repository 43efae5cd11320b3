"""What a large model's answer to each task looks like, as JSON schemas in the subset that every server knows.

Every key is required and no other allowed, unknown is null; bounds on numbers of items stand in the prompts and in the
validators, since several servers refuse them. Knows nothing about prompts or endpoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_OPEN: Schema = {"type": ["string", "null"]}
_TIME: Schema = {"anyOf": [_object(text=_TEXT, start=_OPEN, end=_OPEN), {"type": "null"}]}
_EVENT = _object(
    participants=_list(_TEXT), action=_TEXT, time=_TIME, location=_OPEN, causality=_OPEN, manner=_OPEN
)  # fmt: skip
_PATTERN = _object(s=_TEXT, r=_TEXT, o=_TEXT)
_TYPES = ("single-hop", "multi-hop", "temporal", "open-domain", "update", "adversarial")

# The summary comes last: of an answer that is cut off, whole events and facts are then kept.
EXTRACT = _object(events=_list(_EVENT), facts=_list(_object(s=_TEXT, r=_TEXT, o=_TEXT, time=_TIME)), summary=_TEXT)
JUDGE = _object(reason=_TEXT, same=_FLAG)
FUSE = _object(events=_list(_EVENT), summary=_TEXT)
PARSE = _object(facts=_list(_PATTERN), time=_OPEN)
ROUTE = _object(reason=_TEXT, narrative=_FLAG)
CORPUS_PLAN = _object(speakers=_list(_TEXT), premise=_TEXT, sessions=_list(_object(time=_TEXT, outline=_TEXT)))
CORPUS_SESSION = _object(turns=_list(_object(speaker=_TEXT, text=_TEXT, image=_OPEN)))
CORPUS_LINKS = _object(
    occurrences=_list(_object(turns=_list(_TEXT), summary=_TEXT)),
    distinct=_list(_object(a=_TEXT, b=_TEXT, why=_TEXT)),
    questions=_list(
        _object(
            question=_TEXT,
            answer=_TEXT,
            type={"type": "string", "enum": list(_TYPES)},
            evidence=_list(_TEXT),
            facts=_list(_PATTERN),
            narrative=_FLAG,
        )
    ),
)
