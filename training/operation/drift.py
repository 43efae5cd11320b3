"""Does the student still agree with the teacher on what people say now? ``python -m training.operation.drift --config configs/teacher.yaml MEMORY_DB``.

Samples passages of a live memory, lets the teacher label them (its cache, budget and ledger are those of
``training.teacher``), compares with what the student stored, and adds a line of numbers to a history. The passages go
to the configured endpoint. Gives 0 where the agreement holds, 4 where it surely lies below a floor of the
configuration, 3 where the teacher ended early, 1 where something cannot be used. Knows nothing about models.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from seem.errors import InputError, SeemError
from seem.store.store import Store
from training.evaluate.counts import Counts, Interval, counts, intervals, nothing
from training.evaluate.figures import finite
from training.operation.sample import Live, sampled
from training.teacher.client import Teacher
from training.teacher.label import solve_all
from training.teacher.ledger import Ledger
from training.teacher.session import Meter, run
from training.teacher.settings import Settings, load_settings
from training.teacher.solve import Job, Outcome
from training.teacher.sources import Source, moment, note
from training.teacher.tasks import turn_inputs

EARLY, DRIFTED = 3, 4
FIGURES = ("slot_f1", "fact_f1", "null_accuracy")


@dataclass(frozen=True, slots=True)
class Checked:
    """One check: passages labelled, rejected and without an answer, and the student's agreement on the labelled ones."""

    labelled: int
    rejected: int
    missing: int
    stopped: str
    agreement: Mapping[str, Interval]
    students: Mapping[str, int]
    ledger: Ledger


def check(settings: Settings, sample: Sequence[Live], out: Path) -> Checked:
    """Let the teacher label the sample into OUT's cache; raise InputError where it gave no label at all."""
    jobs = [_job(live, settings) for live in sample]

    async def work(teacher: Teacher, meter: Meter) -> tuple[dict[str, Outcome], str]:
        return await solve_all(teacher, jobs, meter)

    (outcomes, stopped), ledger = run(settings, out, len(jobs), "drift", work)
    told = [(live, outcomes.get(job.id)) for live, job in zip(sample, jobs, strict=True)]
    done = [(live, outcome) for live, outcome in told if outcome and outcome.state == "done"]
    rejected = sum(outcome is not None and outcome.state == "rejected" for _, outcome in told)
    if not done:
        raise InputError(
            f"the teacher gave no usable label for {len(sample)} passages "
            f"({stopped or next((o.reasons[0] for _, o in told if o and o.reasons), 'no answer')}); see {out}"
        )
    groups: defaultdict[tuple[str, str], Counts] = defaultdict(nothing)
    for live, outcome in done:
        own = counts(note(live.passage.id, outcome.label), live.extraction)
        session = (live.passage.memory, live.passage.session)
        groups[session] = groups[session] + own
    return Checked(
        len(done),
        rejected,
        len(sample) - len(done) - rejected,
        stopped,
        {name: told for name, told in intervals(np.stack(list(groups.values()))).items() if name in FIGURES},
        Counter(live.extraction.model for live, _ in done),
        ledger,
    )


def below(settings: Settings, agreement: Mapping[str, Interval]) -> list[str]:
    """Name the figures whose upper bound lies below their floor."""
    floors = {name: getattr(settings.drift, name) for name in FIGURES}
    return [name for name, floor in floors.items() if floor is not None and agreement[name].high < floor]


def remember(history: Path, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Add a line to the history and give all of them; raise InputError where one cannot be read."""
    with history.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
    lines = history.read_text(encoding="utf-8").splitlines()
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise InputError(f"the history {history} holds a line that is not JSON ({error}); mend or move it") from error


def over_time(rows: Sequence[Mapping[str, Any]]) -> str:
    """Give the history as a table: each figure with its bounds."""
    told = [f"{'checked':17}{'turns':>6}  " + "".join(f"{name:24}" for name in FIGURES) + "student"]
    for row in rows:
        cells = "".join(f"{_cell(row['agreement'][name]):24}" for name in FIGURES)
        told.append(f"{row['at'][:16]:17}{row['labelled']:>6}  {cells}{', '.join(row['students'])}")
    return "\n".join(told)


def _job(live: Live, settings: Settings) -> Job:
    source = Source({"speakers": list(live.names)}, (*live.before, live.passage), {})
    *_, last = turn_inputs(source, settings.answers)
    return last.job


def _cell(told: Mapping[str, float | None]) -> str:
    value, low, high = ("-" if told[key] is None else f"{told[key]:.3f}" for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def _row(settings: Settings, checked: Checked, given: argparse.Namespace, low: Sequence[str]) -> dict[str, Any]:
    now = checked.ledger.now
    row = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "memory": given.memory,
        "since": given.since,
        "teacher": settings.endpoint.model,
        "students": dict(checked.students),
        "labelled": checked.labelled,
        "rejected": checked.rejected,
        "missing": checked.missing,
        "agreement": {name: asdict(told) for name, told in checked.agreement.items()},
        "floors": {name: getattr(settings.drift, name) for name in FIGURES},
        "below": list(low),
        "paid": asdict(now) | {"from_cache": checked.ledger.cached},
    }
    told: dict[str, Any] = finite(row)
    return told


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.operation.drift", description=__doc__)
    parser.add_argument("store", metavar="MEMORY_DB", help="the database: a path, or a URL")
    parser.add_argument("--config", type=Path, required=True, help="the teacher's configuration")
    parser.add_argument("--json", type=Path, required=True, metavar="OUT", help="where this check is written")
    parser.add_argument("--history", type=Path, help="where a line is added; none: drift.jsonl beside OUT")
    parser.add_argument("--memory", help="the key of one memory (user_id:ana); none: all")
    parser.add_argument("--since", help="passages stored from this ISO time on; none: all")
    parser.add_argument("--sample", type=int, help="how many passages; none: as configured")
    parser.add_argument("--seed", type=int, default=7, help="another seed, another sample")
    return parser


def _checked(given: argparse.Namespace) -> tuple[dict[str, Any], Checked]:
    settings = load_settings(given.config)
    try:
        since = moment(given.since) if given.since else None
    except ValueError as error:
        raise InputError(f"--since must be an ISO time such as 2026-11-01, not {given.since!r}") from error
    if "://" not in given.store and not Path(given.store).is_file():
        raise InputError(f"there is no memory at {given.store}; name its database file, or a URL")
    with Store(given.store) as store:
        sample = sampled(
            store, given.sample or settings.drift.sample, since=since, memory=given.memory, seed=given.seed
        )
    checked = check(settings, sample, given.json.with_suffix(".teacher"))
    return _row(settings, checked, given, below(settings, checked.agreement)), checked


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, check, print and write."""
    given = _parser().parse_args(arguments)
    try:
        row, checked = _checked(given)
        given.json.write_text(json.dumps(row, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        rows = remember(given.history or given.json.with_name("drift.jsonl"), row)
    except (SeemError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(over_time(rows))
    paid, currency = checked.ledger.now, checked.ledger.price.currency
    print(
        f"{row['rejected']} labels rejected, {row['missing']} missing; {paid.requests} requests, {paid.cost:.4f} {currency}"
    )
    print(
        f"the teacher's answers about these passages lie in {given.json.with_suffix('.teacher')}; delete it when done"
    )
    if checked.stopped:
        print(f"ended early: {checked.stopped}; the same command continues", file=sys.stderr)
    if row["below"]:
        print(f"the agreement lies below its floor: {', '.join(row['below'])}", file=sys.stderr)
        return DRIFTED
    return EARLY if checked.missing else 0


if __name__ == "__main__":
    sys.exit(main())
