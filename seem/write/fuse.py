"""Several extractions of one occurrence to its summary, by a model (F_fuse): the tuned small one, or a prompted large one.

Takes groups of passages with their extractions; gives one summary each. What the model wrote is held against what it was shown; where it does not
hold, the summary composed by code stands and the refusal is counted. Knows nothing about frames, storage or the graph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from seem.models.chat import ChatEndpoint
from seem.models.decoder import Decoder
from seem.models.greedy import Generated, Request
from seem.models.protocols import JudgeInput
from seem.prompts.fuse import fuse_grammar, fuse_prompt
from seem.prompts.reading import read_object
from seem.prompts.schemas import FUSE
from seem.prompts.texts import fuse_messages
from seem.prompts.window import clean_name
from seem.types import TimeSpan
from seem.write.free import Shown
from seem.write.polarity import is_negated
from seem.write.retell import Composer
from seem.write.summary import compose
from seem.write.times import describe

TASK = "fuse"
CONCURRENCY = 8
_WORD = re.compile(r"\w+(?:[.:,/-]\w+)*")


class TunedFuser:
    """The tuned fuser. ``refused`` counts the summaries that did not hold, ``forced`` of ``tokens`` the steps at which the grammar chose."""

    def __init__(self, decoder: Decoder, adapter: str = "fuse", *, max_tokens: int = 120) -> None:
        """Load the adapter."""
        self._decoder = decoder
        manifest = decoder.load(adapter, task=TASK)
        self._max_tokens = max_tokens
        self.name = f"{decoder.base.name}+{TASK}@{manifest.version}"
        self.refused = self.forced = self.tokens = 0

    def fuse(self, groups: Sequence[Sequence[JudgeInput]]) -> list[str]:
        """Give one summary a group."""
        told = [notes(members) for members in groups]
        requests = [Request(fuse_prompt(n), fuse_grammar(n)) for n in told]
        outputs = self._decoder.generate(requests, task=TASK, max_tokens=self._max_tokens) if requests else []
        composed = Composer().fuse(groups)
        return [self._kept(output, n, plain) for output, n, plain in zip(outputs, told, composed, strict=True)]

    def _kept(self, output: Generated, shown: Sequence[str], plain: str) -> str:
        self.tokens += output.tokens
        self.forced += output.forced
        if output.finished and holds(output.text, shown):
            return output.text.strip()
        self.refused += 1
        return plain


class PromptedFuser:
    """A prompted model behind the fuser's interface. ``refused`` counts what was unreadable or named what nobody said."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        max_tokens: int = 1024,
        timeout: float = 120.0,
    ) -> None:
        """Name the endpoint."""
        self._chat = ChatEndpoint(base_url, model, api_key_env=api_key_env, timeout=timeout, section=TASK)
        self._max_tokens = max_tokens
        self.name = f"{model}+prompt"
        self.refused = 0

    def fuse(self, groups: Sequence[Sequence[JudgeInput]]) -> list[str]:
        """Give one summary a group; raise ModelError where the endpoint cannot be reached."""
        with ThreadPoolExecutor(CONCURRENCY) as pool:
            answers = list(pool.map(self._ask, groups))
        out = []
        for members, answer, plain in zip(groups, answers, Composer().fuse(groups), strict=True):
            said = (read_object(answer).value or {}).get("summary")
            words = " ".join(said.split()) if isinstance(said, str) else ""
            shown = Shown([fuse_messages(members)[1]["content"], *notes(members)])
            good = bool(words) and shown.names(words)
            self.refused += not good
            out.append(words if good else plain)
        return out

    def _ask(self, members: Sequence[JudgeInput]) -> str:
        return self._chat.ask(fuse_messages(members), FUSE, name=TASK, max_tokens=self._max_tokens).text


def notes(members: Sequence[JudgeInput]) -> list[str]:
    """Give what each passage told as one line: when and by whom it was said, and its events as sentences."""
    return [
        f"{_said(passage.time.date().isoformat() if passage.time else '', clean_name(passage.speaker))}: "
        f"{compose(extraction.events, passage.speaker)}"
        for passage, extraction in members
    ]


def holds(summary: str, shown: Sequence[str]) -> bool:
    """Tell whether a summary keeps what single words cannot show: every number beside a word that stood beside it, and the denials."""
    if not summary.strip() or is_negated(summary) != any(is_negated(note) for note in shown):
        return False
    beside = {pair for note in shown for pair in _pairs(note)}
    counted: dict[str, bool] = {}
    for pair in _pairs(summary):
        for word in pair:
            if word[0].isdigit():
                counted[word] = counted.get(word, False) or pair in beside
    return all(counted.values())


def _pairs(text: str) -> list[tuple[str, str]]:
    words = ["^", *(word.casefold() for word in _WORD.findall(text)), "$"]
    return list(zip(words, words[1:], strict=False))


def _said(day: str, speaker: str) -> str:
    spoken = describe(TimeSpan(day, day, day)).removeprefix("on ") if day else ""
    return f"{spoken}, {speaker}" if spoken else speaker
