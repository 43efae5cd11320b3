"""What 1,000 passages cost: by the student on a machine that is paid by the hour, by the teacher for its tokens.

Takes prices read from YAML, a speed, and the turns that would be sent; gives money. Knows nothing about models.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seem.errors import ConfigError
from seem.prompts.texts import extract_messages
from seem.settings import build, read_yaml, setting
from training.corpus import Conversation, Turn

PRICES = Path(__file__).parents[2] / "configs" / "prices.yaml"
_LETTERS_A_TOKEN = 4
_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the student runs, and the price of an hour of it."""

    name: str = ""
    hour: float = setting(0.0, low=0, high=1e6)


@dataclass(frozen=True, slots=True)
class Hosted:
    """The teacher's price for a million tokens, and its tokens for one passage (null: estimated)."""

    name: str = ""
    input: float = setting(0.0, low=0, high=1e6)
    output: float = setting(0.0, low=0, high=1e6)
    tokens_in: float | None = setting(None, low=0, high=1e6)
    tokens_out: float | None = setting(None, low=0, high=1e6)


@dataclass(frozen=True, slots=True)
class Prices:
    """The whole tree."""

    currency: str = "USD"
    machine: Machine = Machine()
    teacher: Hosted = Hosted()


def load_prices(path: Path) -> Prices:
    """Read a file of prices; raise ConfigError with every problem in it."""
    problems: list[str] = []
    prices = build(Prices, read_yaml(path, problems), problems, {"student": "machine", "price": "teacher"})
    if problems:
        raise ConfigError(f"{path}:" + "".join(f"\n  {problem}" for problem in problems))
    return prices


def student_cost(passages_per_second: float | None, prices: Prices) -> float | None:
    """Give the price of the machine time of 1,000 passages; ``None`` where no speed was measured."""
    return None if not passages_per_second else 1000 / passages_per_second / _SECONDS * prices.machine.hour


def teacher_told(conversations: Sequence[Conversation], prices: Prices) -> dict[str, Any]:
    """Give the teacher's tokens for one passage, whether they are estimated, and the cost of 1,000 passages."""
    asked = [(turn, c.speakers) for c in conversations for turn in c.turns]
    t = prices.teacher
    tokens_in = _mean([_letters(turn, names) for turn, names in asked]) if t.tokens_in is None else t.tokens_in
    tokens_out = _mean([len(_answer(turn)) for turn, _ in asked]) if t.tokens_out is None else t.tokens_out
    return {
        "name": t.name,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "estimated": t.tokens_in is None or t.tokens_out is None,
        "cost_per_1000": (tokens_in * t.input + tokens_out * t.output) / 1000,
    }


def _mean(letters: Sequence[int]) -> float:
    return sum(letters) / len(letters) / _LETTERS_A_TOKEN if letters else 0.0


def _letters(turn: Turn, names: Sequence[str]) -> int:
    return sum(len(message["content"]) for message in extract_messages(turn.passage, turn.context, names))


def _answer(turn: Turn) -> str:
    x = turn.extraction
    facts = [{"s": f.subject, "r": f.relation, "o": f.object, "time": f.time and asdict(f.time)} for f in x.facts]
    return json.dumps({"events": [asdict(e) for e in x.events], "facts": facts, "summary": x.summary})
