"""The ways of finding passages that the benchmarks compare: baselines, our read path, it with a stage off, others.

Takes a method's name and an imported case; gives a function from question, passages and tokens to what a reader would
be given. All methods search the same passages by the same text (``seem.state.passage_text``: speaker, words, caption;
no date), and hand over at most k passages and at most so many tokens. Knows nothing about evidence or scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from seem.errors import InputError
from seem.pipeline import Options, count_tokens
from seem.read.context import serialize
from seem.read.fusion import fuse_ranks, ranked
from seem.state import State
from seem.types import Passage
from training.benchmarks.costs import baseline_cost
from training.benchmarks.graph_method import LinkedPassages
from training.benchmarks.http_method import RemoteMemory
from training.benchmarks.memories import Cost, Imported, in_parts

Switch = Callable[[Options], Options]

BASELINES = ("dense", "bm25", "rrf")
GRAPH = "graph"
SWITCHES: Mapping[str, Switch] = MappingProxyType(
    {
        "seem": lambda options: options,
        "seem-no-facts": lambda options: replace(options, facts=False),
        "seem-no-propagation": lambda options: replace(options, walk=False),
        "seem-no-expansion": lambda options: replace(options, expand="never"),
        "seem-no-frames": lambda options: replace(options, frames=False),
        # As in the paper, every question is expanded.
        "seem-no-router": lambda options: replace(options, expand="always"),
    }
)
# The same read path over what the labels say, where the data has them: what perfect students would give.
GOLD = "seem-gold"
HTTP = "http"
METHODS = (*BASELINES, GRAPH, *SWITCHES, GOLD, HTTP)


@dataclass(frozen=True, slots=True)
class Found:
    """What a reader would be given: the labels of the passages, best first, the context, its tokens; and the seconds."""

    labels: tuple[str, ...]
    text: str
    tokens: int
    seconds: float


Asker = Callable[[str, int, int], Found]


@dataclass(frozen=True, slots=True)
class Opened:
    """A method made ready for one case: ``ask`` takes question, passages and tokens; ``cost`` is that of its memory."""

    ask: Asker
    cost: Cost


def check_methods(names: Sequence[str], http: str = "", *, gold: bool = False) -> None:
    """Refuse a name that is no method, or that lacks what it needs."""
    if unknown := [name for name in names if name not in METHODS]:
        raise InputError(f"there is no method {unknown[0]!r}; choose among {', '.join(METHODS)}")
    if HTTP in names and not http:
        raise InputError("the method http needs the address of the memory to measure: give --http URL")
    if GOLD in names and not gold:
        raise InputError("the method seem-gold needs labelled conversations, which this benchmark does not have")


def needs_models(names: Sequence[str]) -> bool:
    """Tell whether a method reads frames or facts of the students, so that the cases must be extracted."""
    return any(name in SWITCHES or name == GRAPH for name in names)


def opened(method: str, imported: Imported, http: str = "") -> Opened:
    """Make a method ready for one case."""
    if method in SWITCHES or method == GOLD:
        return Opened(_ours(SWITCHES.get(method, SWITCHES["seem"]), imported), imported.cost)
    if method == HTTP:
        return _remote(http, imported)
    if method == GRAPH:
        begun = time.perf_counter()
        with imported.pipeline.states.state(imported.memory) as state:
            linked = LinkedPassages(state)
        # It needs all of the import but the judging of frames, which is not timed apart.
        cost = replace(imported.cost, seconds=imported.cost.seconds + time.perf_counter() - begun)
        by_graph = _ranking(lambda state, question: linked.rank(imported.encoder.encode([question])), imported, True)
        return Opened(by_graph, cost)
    plain = _ranking(lambda state, question: _plain(method, state, imported, question), imported, method != "bm25")
    return Opened(plain, baseline_cost(method, imported))


def shown(passages: Sequence[Passage], text: str) -> list[Passage]:
    """Give the passages whose line stands in the context: one that the token budget left out was not handed over."""
    lines = "\n" + text
    return [passage for n, passage in enumerate(passages, 1) if f"\n[{n}] " in lines]


def _ours(switch: Switch, imported: Imported) -> Asker:
    def ask(question: str, k: int, tokens: int) -> Found:
        encoding = _encoding(imported, question)
        expand = imported.pipeline.parts.config.search.expand
        options = switch(Options(top_k=k, context_tokens=tokens, expand=expand))
        begun = time.perf_counter()
        context = imported.pipeline.recall(imported.memory, question, options)
        seconds = time.perf_counter() - begun + encoding
        handed = shown([hit.passage for hit in context.hits], context.text)
        return Found(_labels(handed, imported), context.text, context.tokens, seconds)

    return ask


def _ranking(rank: Callable[[State, str], list[str]], imported: Imported, encodes: bool) -> Asker:
    def ask(question: str, k: int, tokens: int) -> Found:
        encoding = _encoding(imported, question)
        with imported.pipeline.states.state(imported.memory) as state:
            begun = time.perf_counter()
            passages = [state.passages[p] for p in rank(state, question)[:k]]
            return _in_context(passages, tokens, imported, begun - (encoding if encodes else 0.0))

    return ask


def _remote(url: str, imported: Imported) -> Opened:
    with imported.pipeline.states.state(imported.memory) as state:
        passages = {str(state.passages[p].metadata[imported.label]): state.passages[p] for p in state.order}
    begun = time.perf_counter()
    remote = RemoteMemory(url, imported.memory)
    # As many turns as our own memory got.
    for part in in_parts(list(passages.items()), imported.parts, lambda item: item[1].session):
        remote.add(part)
    told = remote.told
    cost = Cost(time.perf_counter() - begun, told.get("bytes"), told.get("tokens_in"), told.get("tokens_out"))

    def ask(question: str, k: int, tokens: int) -> Found:
        begun = time.perf_counter()
        found = [passages[label] for label in remote.search(question, k)]
        return _in_context(found, tokens, imported, begun)

    return Opened(ask, cost)


def _in_context(passages: Sequence[Passage], tokens: int, imported: Imported, begun: float) -> Found:
    text, used = serialize(passages, [], [], budget=tokens, count=count_tokens, summary={})
    return Found(_labels(shown(passages, text), imported), text, used, time.perf_counter() - begun)


def _encoding(imported: Imported, question: str) -> float:
    imported.encoder.learn(question)
    return imported.encoder.seconds[question]


def _labels(passages: Sequence[Passage], imported: Imported) -> tuple[str, ...]:
    return tuple(str(passage.metadata[imported.label]) for passage in passages)


def _plain(method: str, state: State, imported: Imported, question: str) -> list[str]:
    # Whole rankings: a baseline that is cut off before it is fused would be a weaker one.
    everything = len(state.passages)
    lists: dict[str, list[str]] = {}
    if method in ("dense", "rrf"):
        vector = imported.encoder.encode([question])
        lists["dense"] = [i for i, _ in state.vectors["passage"].search(vector, everything)[0]]
    if method in ("bm25", "rrf"):
        lists["bm25"] = [i for i, _ in state.words["passage"].search(question, everything)]
    # The constant of the published method: the baseline keeps it, whatever our own search uses.
    return ranked(fuse_ranks(lists, dict.fromkeys(lists, 1.0), constant=60.0))
