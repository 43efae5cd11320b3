"""Arguments in, text out: ``check`` validates a folder of conversations, ``import`` takes new ones into the corpus."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from seem.errors import InputError
from training.corpus.check import check
from training.corpus.conversation import read_json
from training.corpus.folder import CORPUS, Split, paths
from training.corpus.intake import take_in


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; give 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m training.corpus", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check", help="validate every conversation of a folder")
    checking.add_argument("folder", type=Path, nargs="?", default=CORPUS)
    importing = commands.add_parser("import", help="validate and take in new conversations, all or none")
    importing.add_argument("folder", type=Path)
    importing.add_argument("--split", choices=get_args(Split), default="train")
    importing.add_argument("--corpus", type=Path, default=CORPUS)
    options = parser.parse_args(arguments)
    try:
        if options.command == "check":
            return _check(options.folder)
        intake = take_in(options.folder, options.split, options.corpus)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(intake.added)} taken into {options.split}, {len(intake.present)} were there already")
    return 0


def _check(folder: Path) -> int:
    failed = 0
    for path in paths(folder):
        problems, size = check(read_json(path))
        told = asdict(size) | {"support": f"{size.support:.2f}"} if size else {}
        print(path.stem, *(f"{key}={value}" for key, value in told.items()))
        for problem in problems:
            print(f"  {problem}", file=sys.stderr)
        failed += bool(problems)
    print(f"{len(paths(folder))} conversations, {failed} with problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
