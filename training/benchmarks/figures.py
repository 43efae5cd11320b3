"""What was found, said and spent, into the figures of a benchmark.

Takes the outcomes of a run; gives plain numbers, ready for JSON. Overall figures of retrieval are micro averages over
the kinds that are not kept apart; those of answers count every question, as the published tables do. Knows nothing about
memories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from training.benchmarks.averages import all_found, average, bootstrap, evidence_recall, spread
from training.benchmarks.cases import Bench, Query
from training.benchmarks.run import Asked, Outcome, Said

Measure = Callable[[Collection[str], Collection[str]], float]


def method_figures(asked: Sequence[Asked], method: str, ks: Sequence[int], bench: Bench) -> dict[str, Any]:
    """Give recall and «all found» of one method, overall and by kind, intervals by case, latency, tokens, cost."""
    rows = [
        (n, query, found)
        for n, each in enumerate(asked)
        for query, found in zip(each.case.queries, each.outcomes[method].found, strict=True)
    ]

    def values(k: int, measure: Measure) -> list[tuple[int, str, float]]:
        return [(n, query.kind, measure(query.evidence, found[k].labels)) for n, query, found in rows]

    recall = {k: values(k, evidence_recall) for k in ks}
    whole = {k: values(k, all_found) for k in ks}
    return {
        "recall": {str(k): _overall(recall[k], bench) for k in ks},
        "recall_interval": {str(k): _interval(recall[k], bench) for k in ks},
        "by_category": _by_kind(recall, bench),
        "all_found": {str(k): _overall(whole[k], bench) for k in ks},
        "all_found_by_category": _by_kind(whole, bench),
        "latency_ms": {str(k): spread([1000 * found[k].seconds for _, _, found in rows]) for k in ks},
        "context_tokens": {str(k): spread([float(found[k].tokens) for _, _, found in rows]) for k in ks},
        "cost": cost_figures([(len(each.case.drafts), each.outcomes[method]) for each in asked]),
    }


def cost_figures(outcomes: Sequence[tuple[int, Outcome]]) -> dict[str, Any]:
    """Give what a method's memories cost; outcomes come with their number of passages. None: nobody counted."""
    passages = sum(number for number, _ in outcomes)
    costs = [outcome.cost for _, outcome in outcomes]
    seconds = sum(cost.seconds for cost in costs)
    peaks = [cost.peak_bytes for cost in costs if cost.peak_bytes]
    return {
        "construction_seconds": seconds,
        "construction_seconds_per_passage": seconds / passages if passages else 0.0,
        "part_seconds": [list(cost.part_seconds) for cost in costs],
        "tokens_in_per_passage": _per(passages, [cost.tokens_in for cost in costs]),
        "tokens_out_per_passage": _per(passages, [cost.tokens_out for cost in costs]),
        "bytes_per_passage": _per(passages, [cost.bytes for cost in costs]),
        "peak_bytes_import": max(peaks, default=None),
        "peak_bytes_asking": max((outcome.peak_bytes for _, outcome in outcomes), default=None),
    }


def answer_figures(queries: Sequence[Query], texts: Sequence[str], bench: Bench) -> dict[str, Any]:
    """Average every score over the answers to all questions, and over those of the kinds that are not kept apart."""
    found: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    for query, text in zip(queries, texts, strict=True):
        for name, value in bench.scores(query, text).items():
            found[name].append((query.kind, value))
    return {name: _told(pairs, bench) for name, pairs in found.items()}


def said_figures(asked: Sequence[Asked], method: str, bench: Bench) -> dict[str, Any]:
    """Give the scores of one method's answers, what they cost, and the texts."""
    pairs = [
        (each.case.id, query, said)
        for each in asked
        for query, said in zip(each.case.queries, each.outcomes[method].said, strict=True)
    ]
    said: list[Said] = [each for _, _, each in pairs]
    return {
        "scores": answer_figures([query for _, query, _ in pairs], [each.text for each in said], bench),
        "latency_ms": spread([1000 * each.seconds for each in said]),
        "tokens_in_per_question": _per(len(said), [each.tokens_in for each in said]),
        "tokens_out_per_question": _per(len(said), [each.tokens_out for each in said]),
        "texts": [
            {"case": case, "question": query.text, "kind": query.kind, "gold": query.answer, "answer": each.text}
            for case, query, each in pairs
        ],
    }


def marked_figures(pairs: Sequence[tuple[str, float]], bench: Bench, *, unreadable: int) -> dict[str, Any]:
    """Give the judge's accuracy over (kind, right) pairs, with how many replies said neither right nor wrong."""
    return {**_told(pairs, bench), "unreadable": unreadable}


def question_counts(asked: Sequence[Asked], bench: Bench) -> dict[str, Any]:
    """Count the questions, overall and by kind, and those without evidence."""
    queries = [query for each in asked for query in each.case.queries]
    kinds = [query.kind for query in queries]
    return {
        "all": len(queries),
        "overall": sum(kind != bench.apart for kind in kinds),
        "by_category": {kind: kinds.count(kind) for kind in bench.kinds},
        "without_evidence": sum(not query.evidence for query in queries),
    }


def import_figures(asked: Sequence[Asked]) -> dict[str, Any]:
    """Give what the imports made and took, by case and in all."""
    each = {a.case.id: {**a.imported, "passages_per_second": _rate(a.imported)} for a in asked}
    # The greatest of several peaks stands in the costs; their sum would mean nothing.
    names = [name for name, v in next(iter(each.values())).items() if isinstance(v, int | float) and "peak" not in name]
    totals = {name: sum(told[name] or 0 for told in each.values()) for name in names}
    slowest = max(told["seconds"] for told in each.values())
    return {**totals, "passages_per_second": _rate(totals), "slowest_seconds": slowest, "conversations": each}


def _rate(told: Mapping[str, Any]) -> float:
    return float(told["passages"] / told["seconds"]) if told["seconds"] else 0.0


def _per(count: int, values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / count if count and len(known) == len(values) else None


def _overall(values: Sequence[tuple[int, str, float]], bench: Bench) -> float:
    return average([(kind, value) for _, kind, value in values if kind != bench.apart], bench.kinds).mean


def _by_kind(values: Mapping[int, Sequence[tuple[int, str, float]]], bench: Bench) -> dict[str, dict[str, float]]:
    means = {k: average([(kind, v) for _, kind, v in told], bench.kinds).by_kind for k, told in values.items()}
    kinds = next(iter(means.values()), {})
    return {kind: {str(k): means[k][kind][0] for k in means} for kind in kinds}


def _interval(values: Sequence[tuple[int, str, float]], bench: Bench) -> list[float]:
    groups: defaultdict[int, list[float]] = defaultdict(list)
    for case, kind, value in values:
        if kind != bench.apart:
            groups[case].append(value)
    return list(bootstrap(list(groups.values())))


def _told(pairs: Sequence[tuple[str, float]], bench: Bench) -> dict[str, Any]:
    whole = average(pairs, bench.kinds)
    answerable = average([(kind, value) for kind, value in pairs if kind != bench.apart], bench.kinds)
    return {
        "mean": whole.mean,
        "mean_answerable": answerable.mean,
        "count": whole.count,
        "by_category": {kind: mean for kind, (mean, _) in whole.by_kind.items()},
    }
