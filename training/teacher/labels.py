"""Answers into labels, and what is wrong with them: one check for each task, by the corpus's own rules and by the text that was shown.

Takes an answer read from JSON and the input that it is for; gives the label and its problems. Does not cover whether a
label is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seem.prompts.answer import NOT_MENTIONED
from seem.types import SLOTS, Passage
from seem.write.free import Shown
from seem.write.times import resolve
from training.corpus.check import label_problems

Raw = Mapping[str, Any]
_LONG_SUMMARY = 300


def turn_label(
    answer: Raw, passage: Passage, context: Sequence[Passage], names: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Read an extraction as a turn's ``frame`` and ``facts``."""
    events = [_event(told, passage, context) for told in answer["events"]]
    facts = [_fact(told, passage, context) for told in answer["facts"]] if events else []
    frame = {"summary": answer["summary"], "events": events} if events else None
    shown = Shown([*names, passage.text, passage.image, *(f"{p.speaker} {p.text} {p.image}" for p in context)])
    return {"frame": frame, "facts": facts}, [*label_problems(frame, facts), *_unsupported(events, facts, shown)]


def verdict(answer: Raw) -> tuple[dict[str, Any], list[str]]:
    """Read a judge's answer."""
    label = {"same": answer["same"], "reason": str(answer.get("reason", ""))}
    return label, [] if isinstance(label["same"], bool) else ["same must be true or false"]


def route_label(answer: Raw) -> tuple[dict[str, Any], list[str]]:
    """Read a router's answer."""
    label = {"narrative": answer["narrative"], "reason": str(answer.get("reason", ""))}
    return label, [] if isinstance(label["narrative"], bool) else ["narrative must be true or false"]


def fused_label(answer: Raw, passages: Sequence[Passage]) -> tuple[dict[str, Any], list[str]]:
    """Read a fused note; its time words are resolved where the teacher left them open, against the passage that holds them."""
    shown = Shown([f"{p.speaker} {p.text} {p.image}" for p in passages])
    events = [_event(told, _holder(told, passages), ()) for told in answer["events"]]
    summary = str(answer["summary"]).strip()
    # A merged frame may hold more events than one turn, of which the rules speak.
    problems = [p for event in events for p in label_problems({"summary": "-", "events": [event]}, ())]
    problems += [] if events else ["no events"]
    problems += (
        []
        if 0 < len(summary) <= _LONG_SUMMARY
        else [f"the summary needs 1 to {_LONG_SUMMARY} letters, it has {len(summary)}"]
    )
    return {"summary": summary, "events": events}, problems + _unsupported(events, [], shown)


def patterns(answer: Raw, question: str) -> tuple[dict[str, Any], list[str]]:
    """Read a question's fact patterns as lists of three."""
    facts = [[str(f[key]).strip() for key in "sro"] for f in answer["facts"]]
    shown = Shown([question])
    problems = [] if 1 <= len(facts) <= 3 else [f"one to three patterns are needed, not {len(facts)}"]
    for fact in facts:
        if not all(fact) or fact[0] == fact[2] == "?":
            problems.append(f"a pattern has three parts, one end of it known: {fact}")
        problems += [
            f"{end!r} is not in the question" for end in (fact[0], fact[2]) if end != "?" and not shown.has(end)
        ]
    time = answer.get("time")
    problems += [f"the time words {time!r} are not in the question"] if time and not shown.quotes(str(time)) else []
    return {"facts": facts, "time": time or None}, problems


def reply_label(answer: Raw) -> tuple[dict[str, Any], list[str]]:
    """Read a short answer."""
    text = " ".join(str(answer["text"]).split())
    plain = text.strip(".\"'“”").casefold() == NOT_MENTIONED.casefold()
    return {"answer": NOT_MENTIONED if plain else text}, [] if text else ["an empty answer"]


def _event(told: Raw, passage: Passage, before: Sequence[Passage]) -> dict[str, Any]:
    event = {slot: told[slot] or None for slot in SLOTS}
    return event | {"participants": told["participants"], "time": _time(told["time"], passage, before)}


def _fact(told: Raw, passage: Passage, before: Sequence[Passage]) -> dict[str, Any]:
    return {key: told[key] for key in "sro"} | {"time": _time(told["time"], passage, before)}


def _time(told: Raw | None, passage: Passage, before: Sequence[Passage]) -> dict[str, Any] | None:
    """Keep the teacher's dates; where it gave none, the resolver's."""
    if not told or not told["text"]:
        return None
    start, end = told["start"] or None, told["end"] or None
    if start is None and end is None:
        earlier = [(p.text, p.time) for p in before]
        span = resolve(told["text"], passage.time, context=passage.text, before=earlier)
        start, end = span.start, span.end
    return {"text": told["text"], "start": start, "end": end}


def _holder(told: Raw, passages: Sequence[Passage]) -> Passage:
    words = (told.get("time") or {}).get("text", "")
    return next((p for p in reversed(passages) if words and Shown([p.text]).quotes(words)), passages[-1])


def _unsupported(events: Sequence[Raw], facts: Sequence[Raw], shown: Shown) -> list[str]:
    problems = []
    for event in events:
        for who in (*event["participants"], event["location"]):
            if isinstance(who, str) and not shown.has(who):
                problems.append(f"the participant or location {who!r} is not in what was shown")
        for slot in ("action", "causality", "manner"):
            if isinstance(event[slot], str) and not shown.names(event[slot]):
                problems.append(f"a name or number in the {slot} {event[slot]!r} is not in what was shown")
    for told in (*events, *facts):
        time = told["time"]
        if time and isinstance(time["text"], str) and not shown.quotes(time["text"]):
            problems.append(f"the time words {time['text']!r} do not stand in what was shown letter by letter")
    return problems
