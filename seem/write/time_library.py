"""Absolute dates in a shape or language that our rules do not know: ``dateparser``, kept from inventing.

Takes the words as they were said; gives an ISO date at the precision known, or ``None``. Knows nothing about anchors.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from seem.write.time_calendar import written

_LENGTH = 60
_HAS_YEAR = re.compile(r"(?<!\d)(?:1[4-9]|20|21)\d\d(?!\d)")
_NUMERIC = re.compile(r"(?<![\d./])(\d{1,2})[./](\d{1,2})[./](\d{4}|\d\d)(?![\d./])")
_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "sv")
_NEUTRAL = datetime(2000, 1, 1)


def absolute(text: str) -> str | None:
    """An absolute date in a shape or language that our rules do not know.

    Only words with a year of their own: whatever the library completes from its base would be an invented date.
    """
    words = text.strip()
    numeric = _NUMERIC.search(words[:_LENGTH])
    if numeric and int(numeric[1]) <= 12 and int(numeric[2]) <= 12 and numeric[1] != numeric[2]:
        # Day or month first is a custom of the writer, which nobody here knows.
        return None
    if len(words) > _LENGTH or not (numeric or _HAS_YEAR.search(words)):
        return None
    words = numeric[0] if numeric else words
    for parts in (["day", "month", "year"], ["month", "year"]):
        if parsed := _parsed(words, parts, "MDY" if numeric and int(numeric[2]) > 12 else "DMY"):
            return written(parsed.date(), "day" if "day" in parts else "month")
    return None


def _parsed(words: str, parts: list[str], order: str) -> datetime | None:
    settings: dict[str, Any] = {
        "RELATIVE_BASE": _NEUTRAL, "REQUIRE_PARTS": parts, "PREFER_DATES_FROM": "past", "DATE_ORDER": order,
        "PARSERS": ["absolute-time"], "PREFER_DAY_OF_MONTH": "first",
    }  # fmt: skip
    import dateparser  # loaded late: it takes longer than everything else here

    try:
        parsed: datetime | None = dateparser.parse(words, languages=list(_LANGUAGES), settings=settings)
    except Exception:  # the library raises many kinds on odd input; none of them means more than «no date here»
        return None
    if parsed is None or not (str(parsed.year) in words or str(parsed.year)[2:] in words):
        return None
    return parsed
