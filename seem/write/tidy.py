"""An event that a small model copied, put in order by code: one clause of one sentence, no slot said twice, no time without a time word.

Takes a grounded event, gives it with shorter or fewer slots, never with other words. For a 135M extractor, whose spans begin too early, end too late
and fill slots twice; each rule was kept for what it gained on dev (training/LOG.md). English; knows nothing about models.
"""

from __future__ import annotations

import re
from dataclasses import replace

from seem.types import Event

# «no longer works» keeps its denial: an answer's «no» is set off by a mark.
_LEAD = re.compile(
    r"^(?:(?:(?:no|yes|yeah|yep|nope|well|oh|ok|okay|true|never)[,!.]|(?:btw|and|but|so|then|also|anyway)\b[,!.]?)\s+)+",
    re.I,
)
_SENTENCE_END = re.compile(r"(?<=\w\w)[.!?;]\s+|\s[–—]\s|\n")
_BEFORE_TIME = re.compile(
    r"\s+(?:on|in|at|since|for|from|by|until|till|around|about|with|because|as|so that|to)$", re.I
)
_TIME_WORD = re.compile(
    r"\b(?:days?|weeks?|weekends?|months?|years?|hours?|minutes?|ago|now|today|tonight|yesterday|tomorrow|mornings?|evenings?|nights?|noon|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october|november|december|"
    r"spring|summer|autumn|fall|winter|seasons?|birthday|christmas|easter|always|often|every|daily|weekly|usually|sometimes|never|times?|once|"
    r"when|before|after|until|since|during|soon|later|then|first|last|next|already|still|again|\d{1,2}:\d\d|\d{4})\b",
    re.I,
)


def tidy(event: Event) -> Event:
    """Give the event with its action cut to its clause and without slots that say nothing of their own."""
    time = event.time
    if time and time.start is None and time.end is None and not _TIME_WORD.search(time.text):
        time = None
    whole = event.action.casefold()

    def own(value: str | None) -> str | None:
        return None if value and (value.casefold() in whole or whole in value.casefold()) else value

    people = {p.casefold() for p in event.participants}
    action = _one_sentence(_LEAD.sub("", event.action) or event.action)
    return replace(
        event,
        action=_without_time(action, time.text) if time else action,
        time=time,
        location=None if event.location and event.location.casefold() in people else event.location,
        causality=own(event.causality),
        manner=own(event.manner),
    )


def _one_sentence(action: str) -> str:
    first = _SENTENCE_END.split(action)[0].strip(" ,.!?")
    return first if len(first.split()) >= 2 else action


def _without_time(action: str, time: str) -> str:
    """Take the words of the time from the end of an action, with their preposition."""
    at = action.casefold().find(time.casefold())
    if at < 0 or action[at + len(time) :].strip(" .,!?"):
        return action
    return _BEFORE_TIME.sub("", action[:at].rstrip(" ,")).rstrip(" ,") or action
