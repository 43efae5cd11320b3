"""What the students said of labelled turns into the figures of the acceptance table, beside target and ceiling.

Takes labels, extractions and raw outputs; gives plain numbers and text. Knows nothing about models or files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seem.prompts import lines
from seem.types import Extraction, Passage, TimeSpan
from seem.write.extract import Piece
from seem.write.ground import shown_words
from seem.write.times import resolve
from training.corpus import Conversation, Turn
from training.evaluate.metrics import Score
from training.evaluate.slots import ExtractionReport, report, time_exact, unsupported

# Key, target, and whether more is better.
TARGETS: tuple[tuple[str, float, bool], ...] = (
    ("valid", 1.0, True),
    ("null_f1", 0.80, True),
    ("slot_f1", 0.42, True),
    ("fact_f1", 0.42, True),
    ("polarity_flips", 0.01, False),
    ("unsupported", 0.0, False),
    ("time_exact", 0.90, True),
    ("judge_precision", 0.90, True),
    ("judge_recall", 0.50, True),
)


def extraction_figures(gold: Sequence[Extraction], said: Sequence[Extraction]) -> dict[str, Any]:
    """Compare extractions of the same turns with their unprojected labels."""
    told = report(gold, said)
    return {
        **_agreement(told),
        "null_precision": told.null.precision,
        "null_recall": told.null.recall,
        "slot_f1_strict": told.slots_strict.f1,
        "slot_f1_macro": told.macro_f1,
        "slot_precision": told.slots.precision,
        "slot_recall": told.slots.recall,
        "slots_by_name": {slot: _score(each) for slot, each in told.by_slot.items()},
        "fact_precision": told.facts.precision,
        "fact_recall": told.facts.recall,
        "fact_f1_strict": told.facts_strict.f1,
        "intervals_equal": told.intervals_equal[0],
        "aligned_events": told.polarity_flips[1],
        "events": sum(len(each.events) for each in said),
        "facts": sum(len(each.facts) for each in said),
        "events_in_labels": sum(len(each.events) for each in gold),
        "facts_in_labels": sum(len(each.facts) for each in gold),
        "dropped": sum(each.dropped for each in said),
    }


def output_figures(pieces: Sequence[Piece], passages: int) -> dict[str, Any]:
    """Tell how well formed the outputs are, and whether a slot holds a word that its window did not show."""
    claims = [Extraction(str(piece.passage), piece.grounded.events, piece.grounded.facts) for piece in pieces]
    share, slots = unsupported(claims, [shown_words(piece.window) for piece in pieces])
    tokens = sum(piece.output.tokens for piece in pieces)
    return {
        "valid": _mean(valid(piece) for piece in pieces),
        "unsupported": share,
        "filled_slots": slots,
        "windows": len(pieces),
        "truncated": _mean(not piece.output.finished for piece in pieces),
        "forced": sum(piece.output.forced for piece in pieces) / tokens if tokens else 0.0,
        "tokens_per_passage": tokens / passages if passages else 0.0,
    }


def valid(piece: Piece) -> bool:
    """Tell whether an output parses: no malformed line, and something whole where the token limit cut it off."""
    text, finished = piece.output.text, piece.output.finished
    return bool(text.strip()) and lines.parse(text, whole=finished).bad == 0 and (finished or "\n" in text)


def time_figures(turns: Sequence[Turn]) -> dict[str, Any]:
    """Resolve the labels' time words and compare with the labels' intervals; the tense comes from the turn's words."""
    events = [(turn, event.time) for turn in turns for event in turn.extraction.events if event.time]
    facts = [(turn, fact.time) for turn in turns for fact in turn.extraction.facts if fact.time]
    of_events, of_facts = _resolved(events), _resolved(facts)
    return {
        "time_exact": of_events[0] if events else None,
        "times": of_events[1],
        "time_exact_facts": of_facts[0] if facts else None,
        "times_facts": of_facts[1],
    }


def unsupported_in_labels(turns: Sequence[Turn]) -> float | None:
    """Give the share of the labels' own filled slots with a word that turn, context and speakers do not show."""
    shown = [[t.passage.speaker, t.passage.text, t.passage.image, *_words(t.context)] for t in turns]
    share, slots = unsupported([t.extraction for t in turns], shown)
    return share if slots else None


def ceiling(first: Sequence[Conversation], second: Sequence[Conversation]) -> dict[str, float]:
    """Measure a second annotation against the first: how far two teachers agree."""
    labels = {(c.id, turn.passage.id): turn.extraction for c in first for turn in c.turns}
    pairs = [
        (labels[c.id, turn.passage.id], turn.extraction)
        for c in second
        for turn in c.turns
        if (c.id, turn.passage.id) in labels
    ]
    return _agreement(report([one for one, _ in pairs], [other for _, other in pairs])) if pairs else {}


def table(figures: Mapping[str, Any]) -> str:
    """Give the acceptance table as text."""
    reasons: Mapping[str, str] = figures.get("reasons", {})
    rows = [f"{'figure':18}{'value':>8}{'target':>9}{'ceiling':>9}  verdict"]
    for key, target, more in TARGETS:
        value = figures.get(key)
        high = figures["ceiling"].get(key)
        shown = f"{value:8.3f}" if value is not None else f"{'-':>8}"
        told = reasons.get(key, "nothing to measure") if value is None else _verdict(value, target, more)
        sign = ">=" if more else "<="
        rows.append(
            f"{key:18}{shown}{sign + format(target, '.2f'):>9}{'' if high is None else format(high, '.3f'):>9}  {told}"
        )
    return "\n".join(rows)


def finite(value: Any) -> Any:
    """Give the value with None for nan and infinity, which JSON does not know; mappings and lists throughout."""
    if isinstance(value, Mapping):
        return {str(key): finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _agreement(told: ExtractionReport) -> dict[str, float]:
    by_slot = {f"slot_f1_{slot}": each.f1 for slot, each in told.by_slot.items()}
    return {
        "null_f1": told.null.f1,
        "null_accuracy": told.null_accuracy[0],
        "slot_f1": told.slots.f1,
        "fact_f1": told.facts.f1,
        "polarity_flips": told.polarity_flips[0],
        **by_slot,
    }


def _score(score: Score) -> dict[str, float]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "support": score.support,
        "predicted": score.predicted,
    }


def _words(context: Sequence[Passage]) -> list[str]:
    return [words for p in context for words in (p.speaker, p.text, p.image)]


def _resolved(times: Sequence[tuple[Turn, TimeSpan]]) -> tuple[float, int]:
    made = [
        resolve(
            time.text,
            turn.passage.time,
            context=turn.passage.text,
            before=[(before.text, before.time) for before in turn.context],
        )
        for turn, time in times
    ]
    return time_exact([time for _, time in times], made)


def _verdict(value: float, target: float, more: bool) -> str:
    gap = value - target if more else target - value
    return "met" if gap >= 0 else f"missed by {-gap:.3f}"


def _mean(values: Iterable[bool]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None
