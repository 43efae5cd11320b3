"""Passages, frames and facts into the text that grounds the answer (C of the paper), under a token budget.

Original passages come first, since they have the last word; then frames, then facts. Every line cites the passages it rests on as [1], [2], ….
What does not fit the budget is left out whole, lowest first. Knows nothing about retrieval or models.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from seem.types import Frame, Passage, StoredFact


def serialize(
    passages: Sequence[Passage],
    frames: Sequence[Frame],
    facts: Sequence[StoredFact],
    *,
    budget: int,
    count: Callable[[str], int],
    summary: Mapping[str, str],
) -> tuple[str, int]:
    """Give the context and its token count. ``count`` counts a line's tokens; ``summary`` gives the text shown of each frame."""
    number = {p.id: n for n, p in enumerate(passages, 1)}
    lines: list[str] = []
    used = 0
    sections = (
        ("Passages:", [passage_line(p, number[p.id]) for p in passages]),
        ("Events:", [f"- {summary[f.id]} {cited(f.provenance, number)}" for f in frames if summary.get(f.id)]),
        ("Facts:", [f"- {fact_line(f)} {cited(f.provenance, number)}" for f in facts]),
    )
    for title, rows in sections:
        opened = False
        for row in rows:
            cost = count(row) + (0 if opened else count(title))
            if used + cost > budget:
                break
            if not opened:
                lines.append(title)
                opened = True
            lines.append(row)
            used += cost
    return "\n".join(lines), used


def passage_line(passage: Passage, number: int) -> str:
    """Give one passage as a line: its number, when it was said, by whom, the words."""
    when = f"({passage.time:%Y-%m-%d %H:%M}) " if passage.time else ""
    image = f" [image: {passage.image}]" if passage.image else ""
    who = f"{passage.speaker}: " if passage.speaker else ""
    return f"[{number}] {when}{who}{' '.join(passage.text.split())}{image}"


def fact_line(fact: StoredFact) -> str:
    """Give one fact as a line, with its validity."""
    since = f" (from {fact.valid_at}" if fact.valid_at else ""
    until = f" until {fact.invalid_at})" if fact.invalid_at and since else ")" if since else ""
    return f"{fact.fact.subject} {fact.fact.relation} {fact.fact.object}{since}{until}"


def cited(provenance: Collection[str], number: Mapping[str, int]) -> str:
    """Give the numbers of those sources that are shown."""
    return "".join(f"[{number[p]}]" for p in provenance if p in number)
