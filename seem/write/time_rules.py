"""The table of rules that turn one normalised time phrase into calendar dates.

Takes normalised words (see ``time_words``) and an anchor; gives a closed interval with a precision, or ``None``. A rule
is a pattern, its reader, and whether it needs the anchor; the first that answers wins.
Knows nothing about open intervals (since, until), passages or the wall clock.
"""

from __future__ import annotations

import re

from seem.write.time_calendar import STEP, Anchor, Found, Reader
from seem.write.time_dates import calendar, day_range, decade, iso, nth, quarter, short_years, tagged, weekend_of
from seem.write.time_holidays import HOLIDAYS, holiday
from seem.write.time_relative import (
    DAY_OFFSETS,
    ago,
    agreed_weekday,
    ahead,
    ahead_range,
    bare_weekday,
    before_last,
    clock,
    day_of_month,
    day_offset,
    end_of,
    from_now,
    last_units,
    next_units,
    season,
    stepped_month,
    stepped_unit,
    stepped_weekday,
    weekday_week,
    weekend,
    weekends_ago,
)
from seem.write.time_words import DECADE_WORDS, MONTHS, SEASONS, UNITS, WEEKDAYS

_MON = rf"(?P<mon>{'|'.join(MONTHS)})\b"
_WD = rf"(?P<wd>{'|'.join(WEEKDAYS)})\b"
_TH = r"(?:st|nd|rd|th)"
_D = rf"(?P<d>\d{{1,2}})(?:{_TH})?(?![\d:.])\b"
_Y = r"(?P<y>(?:1[4-9]|20|21)\d\d)(?![\d:])\b"
_OF_YEAR = rf"(?:,? (?:of )?{_Y})?"
_YEAR = rf"(?:,? (?:of )?{_Y}|,? (?:of )?(?P<yw>last|this|next) year)?"
_WEEKDAY_OF = rf"(?: (?:on )?(?:an? )?(?P<wd>today|{'|'.join(WEEKDAYS)}))?"
_N = r"(?P<n>\d{1,4}|an?|1)"
_UNIT = rf"(?P<unit>{'|'.join(sorted(UNITS, key=len, reverse=True))})\b"
_DECADES = "|".join(DECADE_WORDS)
_JOIN = r"(?:to|and|until|through|-|&)"
# «the 3rd» is a day only where no noun follows («the 3rd floor», «the 1st day»).
_TWO = rf"(?P<d1>\d{{1,2}}){_TH}?(?: {_JOIN} |-)(?:the )?(?P<d2>\d{{1,2}}){_TH}?"
_WEEKDAY_NAMES = "|".join(WEEKDAYS)
_WEEKDAY_AFTER = rf"(?:,? (?:an? )?(?P<wd2>{_WEEKDAY_NAMES})\b)?"
_NO_NOUN = r"(?=$|[,.;:!?]| (?:at|in|of|by|and|to|until|or|from|then|now|with|around|after|on|before)\b)"
_STEPS = r"(?P<step>last|past|this|current|next|coming)"

Rule = tuple[re.Pattern[str], Reader, bool]


def _rule(pattern: str, reader: Reader, needs_anchor: bool = True) -> Rule:
    return re.compile(pattern), reader, needs_anchor


RULES: tuple[Rule, ...] = (
    _rule(r"(?<!\d)(\d{4})-(\d\d)(?:-(\d\d))?(?!\d)", iso, False),
    _rule(r"^(\d{4})(\d\d)(\d\d)$", iso, False),
    _rule(rf"\bq([1-4])(?:,? (?:of )?{_Y})", quarter, False),
    _rule(r"^[a-z][a-z0-9]*-(\d\d)(\d\d)$", tagged),
    _rule(r"^(0[1-9]|1[0-2](?=-(?:1[3-9]|[23]\d)))-(\d\d)$", tagged),
    _rule(rf"{_TWO} (?:of )?{_MON}(?:,? {_Y})?", day_range, False),
    _rule(rf"{_MON},? (?:from )?(?:the )?{_TWO}(?![\d:])(?:,? {_Y})?", day_range, False),
    _rule(rf"(?P<d1>\d{{1,2}}){_TH}(?: {_JOIN} |-)(?:the )?(?P<d2>\d{{1,2}}){_TH}", day_range),
    _rule(rf"(?P<nth>[1-5]{_TH}|last) (?P<what>week|weekend|{_WEEKDAY_NAMES}) (?:of|in) {_MON}{_YEAR}", nth, False),
    _rule(rf"(?P<what>week|weekend) (?:of|around) (?:the )?{_D}(?: (?:of )?{_MON})?{_YEAR}", weekend_of, False),
    _rule(rf"(?P<what>week|weekend) (?:of|around) {_MON} (?:the )?{_D}{_YEAR}", weekend_of, False),
    _rule(rf"(?:{_WD},? )?(?:the )?{_D} (?:of )?{_MON}{_YEAR}{_WEEKDAY_AFTER}", calendar, False),
    _rule(rf"{_Y},? {_MON} {_D}", calendar, False),
    _rule(rf"(?:{_WD},? )?{_MON} (?:the )?{_D}{_YEAR}", calendar, False),
    _rule(rf"(?:{_STEPS} {_MON})", stepped_month),
    _rule(rf"{_MON}{_YEAR}", calendar, False),
    _rule(rf"\b(?P<d>\d{{1,2}})(?:{_TH})? of (?:the )?{_STEPS} month\b", day_of_month),
    _rule(rf"(?:{_WD},? )?(?:the )?(?P<d>\d{{1,2}}){_TH}{_NO_NOUN}", calendar),
    _rule(rf"(?<!\d)(\d{{4}})(?: {_JOIN} |-|/)(\d{{4}}|\d\d)\b(?!:)", short_years, False),
    _rule(rf"(?:last|past) (?P<n>\d{{1,4}}) {_UNIT}", last_units),
    _rule(rf"(?:next|coming) (?P<n>\d{{1,3}}) {_UNIT}", next_units),
    _rule(rf"(?<!half ){_N} {_UNIT} (?:ago|back|earlier){_WEEKDAY_OF}", ago),
    _rule(rf"{_N} weekends? ago", weekends_ago),
    _rule(rf"{_N} {_UNIT} from (?P<when>now|today)", from_now),
    _rule(rf"^{_N} {_UNIT} (?:until|to go|left until)\b", ahead),
    _rule(rf"{_WD} (?P<n>\d{{1,2}}|a) (?P<unit>weeks?) ago", ago),
    _rule(rf"\b(?P<what>{'|'.join(WEEKDAYS)}|week|weekend|month|year) before last\b", before_last),
    _rule(rf"\b({'|'.join(sorted(DAY_OFFSETS, key=len, reverse=True))})\b", day_offset),
    _rule(rf"\b{_WD},? (?:of )?{_STEPS} (?P<unit>week)\b", stepped_unit),
    _rule(rf"\b{_STEPS} (?P<unit>week),? (?:on )?{_WD}", stepped_unit),
    _rule(rf"\bend of (?:the )?(?:{_STEPS} )?(?P<unit>week|month|year)\b", end_of),
    _rule(rf"\b{_STEPS} {_WD}", stepped_weekday),
    _rule(rf"\b(?P<step>{'|'.join(STEP)}) (?P<unit>weekend|week|month|year|decade)\b", stepped_unit),
    *(
        _rule(rf"(?P<over>\bover )?(?:{_STEPS} )?\b{name}(?![\w'])(?P<long> weekend)?{_OF_YEAR}", holiday(rule), False)
        for name, rule in HOLIDAYS.items()
    ),
    _rule(rf"(?:{_STEPS} )?(?:(?:early|mid|late)[- ])?\b(?P<season>{'|'.join(SEASONS)})\b{_YEAR}", season, False),
    _rule(rf"^(?:with)?in {_N} (?:to|or|-) (?P<m>\d{{1,3}}) {_UNIT}", ahead_range),
    _rule(rf"^(?:with)?in {_N} {_UNIT}", ahead),
    _rule(rf"^(?:on )?{_WD} week$", weekday_week),
    _rule(rf"\bweek on {_WD}", weekday_week),
    _rule(rf"^(?:on )?{_WD} then\b", agreed_weekday),
    _rule(rf"^(?!an? |on an? |one )(?:.*\b)?{_WD}", bare_weekday),
    _rule(r"\bthe weekend\b|^weekend$|^at weekend$", weekend),
    _rule(rf"(?:the )?(?:early |mid[- ]|late )?(?:((?:1[4-9]|20)\d0|[1-9]0)'?s|({_DECADES}))\b", decade, False),
    _rule(rf"(?:^|(?:in|since|until|by|before|from|after|early|mid|late|of|year|to|back)[ -]){_Y}", calendar, False),
    _rule(r"(?<![\d:])(?:[01]?\d|2[0-3]):[0-5]\d", clock),
)  # fmt: skip


def first(words: str, anchor: Anchor) -> Found | None:
    """What the first answering rule reads in normalised words."""
    for pattern, reader, needs_anchor in RULES:
        if needs_anchor and anchor.now is None:
            continue
        match = pattern.search(words)
        if match is None:
            continue
        try:
            found = reader(match, anchor)
        except (ValueError, OverflowError):
            found = None
        if found is not None:
            return found
    return None
