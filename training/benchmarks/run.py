"""Every case with every method: import, ask, answer; what is known is not asked again.

Takes cases, a plan and shared models; gives for each case what every method found, said and cost. Results lie in the
folder beside the memories, one file a case and method, named after all that decides them: the memory, the settings, the
code that reads. Knows nothing about scores.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from seem.errors import ModelError
from seem.models.protocols import Reader
from seem.wiring import Parts
from training.benchmarks.cases import Case, Query
from training.benchmarks.kept import Kept, digest, reading_code
from training.benchmarks.memories import Cost, Imported, import_case
from training.benchmarks.meter import peak_bytes, reset_peak, tokens
from training.benchmarks.methods import GOLD, HTTP, Found, Opened, opened
from training.evaluate.replay import weights_hash


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run. ``ks`` are budgets of passages, ``tokens`` the one of the context; ``parts``: 1 is batch.

    ``answer_k`` is the budget of passages at which the reader answers; 0: nothing is answered. ``answer_tokens`` is its
    context's where that is another one; 0: the same.
    """

    methods: tuple[str, ...]
    ks: tuple[int, ...]
    tokens: int
    http: str = ""
    parts: int = 1
    answer_k: int = 0
    answer_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Said:
    """One answer. Tokens are None where the reader does not count them."""

    text: str
    seconds: float
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One method on one case: per question, by k, what was found; the memory's cost; the peak while asking."""

    found: Sequence[Mapping[int, Found]]
    cost: Cost
    peak_bytes: int
    said: Sequence[Said]


@dataclass(frozen=True, slots=True)
class Asked:
    """One case and what each method made of it."""

    case: Case
    outcomes: Mapping[str, Outcome]
    imported: Mapping[str, Any]


def run(cases: Sequence[Case], plan: Plan, models: Parts, folder: Path) -> list[Asked]:
    """Run the plan on every case."""
    if plan.answer_k and models.reader is None:
        raise ModelError("--answer needs a model that answers, but answer.engine is none; set it to local or endpoint")
    total = len(plan.methods) * sum(len(case.queries) for case in cases)
    done = []
    with tqdm(total=total, desc="questions", unit="question", file=sys.stderr) as bar:
        for number, case in enumerate(cases, 1):
            bar.set_description(f"{case.id} ({number}/{len(cases)})")
            done.append(_case(case, plan, models, folder, bar))
    return done


def _case(case: Case, plan: Plan, models: Parts, folder: Path, bar: Any) -> Asked:
    imported = import_case(case, models, folder, parts=plan.parts)
    outcomes = {}
    for method in plan.methods:
        memory = _gold(case, models, folder, plan.parts) if method == GOLD else imported
        outcomes[method] = _outcome(case, method, memory, plan, models, folder, bar)
        if memory is not imported:
            memory.pipeline.parts.store.close()
    imported.pipeline.parts.store.close()
    told = {**asdict(imported.cost), "problems": list(imported.problems), **imported.counts}
    return Asked(case, outcomes, told)


def _gold(case: Case, models: Parts, folder: Path, parts: int) -> Imported:
    assert case.gold is not None
    extractor, judge = case.gold
    labels = Parts(models.config, encoder=models.encoder, extractor=extractor, judge=judge)
    return import_case(case, labels, folder, parts=parts)


def _outcome(case: Case, method: str, memory: Imported, plan: Plan, models: Parts, folder: Path, bar: Any) -> Outcome:
    decides = [memory.key, method, plan.tokens, asdict(models.config.search), reading_code(), plan.parts]
    decides += [models.router.name, asdict(models.config.parse), weights_hash(models.config.parse.adapter)]
    decides += [plan.http] if method == HTTP else []
    decides += [[query.text for query in case.queries], case.label]
    kept = Kept(folder / f"{case.id}-{method}-{digest(*decides)}.jsonl")
    ready = cache(lambda: opened(method, memory, plan.http))
    reset_peak()
    found = []
    for number, query in enumerate(case.queries):
        found.append({k: _found(kept, f"{number}@{k}", ready, query, k, plan.tokens) for k in plan.ks})
        bar.update()
    cost = kept.get("cost", lambda: asdict(ready().cost))
    peak = kept.get("peak", peak_bytes)
    said: list[Said] = []
    if plan.answer_k and models.reader is not None:
        reads = [models.reader.name, plan.answer_k, plan.answer_tokens, [query.asked for query in case.queries]]
        name = digest(*decides, *reads)
        answers = Kept(folder / f"{case.id}-{method}-answers-{name}.jsonl")
        said = _answers(case, ready, plan, models, models.reader, answers)
    return Outcome(found, Cost(**{**cost, "part_seconds": tuple(cost["part_seconds"])}), peak, said)


def _found(kept: Kept, key: str, ready: Any, query: Query, k: int, budget: int) -> Found:
    def ask() -> dict[str, Any]:
        method: Opened = ready()
        # The context is made anew where it is answered from: kept, it would be most of the file.
        return {**asdict(method.ask(query.text, k, budget)), "text": ""}

    told = kept.get(key, ask)
    return Found(tuple(told["labels"]), "", told["tokens"], told["seconds"])


def _answers(case: Case, ready: Any, plan: Plan, models: Parts, reader: Reader, kept: Kept) -> list[Said]:
    """Answer every question from the context that the method gives."""

    def answer(query: Query) -> dict[str, Any]:
        context = ready().ask(query.text, plan.answer_k, plan.answer_tokens or plan.tokens).text
        before, begun = tokens(models), time.perf_counter()
        text = reader.answer(query.asked or query.text, context)
        seconds, after = time.perf_counter() - begun, tokens(models)
        used = tuple(b - a for a, b in zip(before, after, strict=True)) if before and after else (None, None)
        return asdict(Said(text, seconds, *used))

    rows = enumerate(tqdm(case.queries, desc=f"answers {case.id}", unit="answer", file=sys.stderr, leave=False))
    return [Said(**kept.get(str(number), partial(answer, query))) for number, query in rows]
