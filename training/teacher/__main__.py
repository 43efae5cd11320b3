"""Arguments in, text out: ``label`` labels a folder or file, ``corpus`` writes new conversations.

Gives 0 where all was done (rejects allowed), 1 where something cannot be used, 3 where the run ended early and can be continued by the same command.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from seem.errors import SeemError
from training.corpus.check import KINDS
from training.teacher import corpus
from training.teacher.label import Labelled, label
from training.teacher.settings import load_settings
from training.teacher.tasks import TASKS

EARLY = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command."""
    options = _parser().parse_args(arguments)
    try:
        settings = load_settings(options.config)
        if options.command == "label":
            done = label(options.task, settings, options.source, options.out)
        else:
            wish = corpus.Wish(options.kind, options.language, options.domain)
            done = corpus.write(settings, wish, options.count, options.out)
    except SeemError as error:
        print(error, file=sys.stderr)
        return 1
    return _tell(done, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.teacher", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    labelling = commands.add_parser("label", help="label conversations, pairs or questions")
    labelling.add_argument("--task", choices=TASKS, default="extract")
    labelling.add_argument("--config", type=Path, required=True)
    labelling.add_argument(
        "source", metavar="IN", type=Path, help="a folder of conversations, one conversation, or a JSONL file"
    )
    labelling.add_argument("out", metavar="OUT", type=Path, help="a folder")
    writing = commands.add_parser("corpus", help="write new labelled conversations")
    writing.add_argument("--config", type=Path, required=True)
    writing.add_argument("--out", type=Path, required=True, metavar="DIR")
    writing.add_argument("--count", type=int, default=1)
    writing.add_argument("--kind", choices=sorted(KINDS), default="friends")
    writing.add_argument("--language", default="English")
    writing.add_argument("--domain", default="")
    return parser


def _tell(done: Labelled, out: Path) -> int:
    ledger = done.ledger
    now, currency = ledger.now, ledger.price.currency
    print(f"{done.done} done, {done.rejected} rejected, {done.missing} without an answer, in {out}")
    guessed = ", tokens partly estimated" if ledger.estimated else ""
    print(
        f"{now.requests} requests, {ledger.cached} answers from the cache, {now.tokens_in} + {now.tokens_out} tokens{guessed}"
    )
    print(f"{now.cost:.4f} {currency} in this run, {ledger.total:.4f} {currency} in all")
    if done.stopped:
        print(f"ended early: {done.stopped}; the same command continues", file=sys.stderr)
    elif done.missing:
        print("some requests failed (see rejects.jsonl); the same command tries them again", file=sys.stderr)
    return EARLY if done.missing else 0


if __name__ == "__main__":
    sys.exit(main())
