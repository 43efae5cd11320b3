"""The prompted twin of the extractor: a large model writes events and facts freely, code keeps what is supported.

Takes passages with the turns before them, gives extractions, through the same prompt and schema as the teacher, from
any OpenAI-compatible endpoint. An answer that is cut off loses no whole event; one that cannot be read is asked for
once more, then a ModelError leaves the passage queued. Knows nothing about frames, storage or the graph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from seem.errors import ModelError
from seem.models.chat import ChatEndpoint, Reply
from seem.models.protocols import ExtractItem
from seem.prompts.reading import Read, read_object
from seem.prompts.schemas import EXTRACT
from seem.prompts.texts import Messages, extract_messages, spoken, system
from seem.prompts.window import split_long
from seem.types import Extraction, Passage
from seem.write.free import Noted, ground_free
from seem.write.summary import compose

TASK = "extract"
CONCURRENCY = 8
PIECE_WORDS = 1200
ATTEMPTS = 2
_KEPT = 1024
_AGAIN = "That was no JSON object with the keys events, facts and summary. Reply with that object only."


class PromptedExtractor:
    """A prompted model behind the interface of the tuned extractor."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        max_tokens: int = 1024,
        timeout: float = 120.0,
        heard: Callable[[Reply], None] | None = None,
    ) -> None:
        """Name the endpoint. ``max_tokens`` bounds one answer; a cut-off one is asked for again with twice as many.

        ``heard`` is told every reply, from several threads.
        """
        self._chat = ChatEndpoint(base_url, model, api_key_env=api_key_env, timeout=timeout)
        self._max_tokens = max_tokens
        self._heard = heard
        self._done: dict[str, Extraction] = {}
        digest = hashlib.sha256((system(TASK) + json.dumps(EXTRACT)).encode()).hexdigest()[:8]
        self.name = f"{model}+prompt@{digest}"

    def extract(
        self, items: Sequence[ExtractItem], *, progress: Callable[[int], None] | None = None
    ) -> list[Extraction]:
        """Extract a batch; one extraction each, in order. Raise the first ModelError once all have been tried."""
        done: list[Extraction] = []
        failed: list[ModelError] = []
        with ThreadPoolExecutor(CONCURRENCY) as pool:
            for n, found in enumerate(pool.map(self._tried, items)):
                if isinstance(found, ModelError):
                    failed.append(found)
                else:
                    done.append(found)
                if progress:
                    progress(n + 1)
        if failed:
            raise failed[0]
        for item in items:
            self._done.pop(_key(item), None)
        return done

    def _tried(self, item: ExtractItem) -> Extraction | ModelError:
        # The caller halves a batch that failed: what was answered is kept, so that nobody pays for it twice.
        key = _key(item)
        if key not in self._done:
            try:
                found = self._extract(*item)
            except ModelError as error:
                return error
            if len(self._done) >= _KEPT:
                self._done.clear()
            self._done[key] = found
            return found
        return self._done[key]

    def _extract(self, passage: Passage, context: Sequence[Passage], names: Sequence[str]) -> Extraction:
        noted: list[Noted] = []
        complete = True
        before = list(context)
        pieces = split_long(passage.text, PIECE_WORDS)
        for n, text in enumerate(pieces):
            piece = replace(passage, text=text, image=passage.image if n == len(pieces) - 1 else "")
            answer = self._answer(extract_messages(piece, before, names), passage.id)
            noted.append(ground_free(piece, before, names, answer.value or {}))
            complete = complete and answer.complete
            before.append(piece)
        return _joined(passage, noted, self.name, complete)

    def _answer(self, messages: Messages, passage_id: str) -> Read:
        best = Read(None, False)
        limit = self._max_tokens
        for _ in range(ATTEMPTS):
            reply = self._chat.ask(messages, EXTRACT, name=TASK, max_tokens=limit)
            if self._heard:
                self._heard(reply)
            read = read_object(reply.text)
            if _usable(read.value) and (read.complete or _size(read.value) > _size(best.value)):
                best = read
            if best.complete:
                return best
            if reply.finished:
                messages = [
                    *messages,
                    {"role": "assistant", "content": reply.text or "{}"},
                    {"role": "user", "content": _AGAIN},
                ]
            else:
                limit *= 2
        if _size(best.value):
            return best
        raise ModelError(
            f"model {self._chat.model!r} gave no readable answer for passage {passage_id!r} in {ATTEMPTS} attempts; "
            "the passage stays queued: retry it, raise extract.max_tokens or choose another extract.model"
        )


def _usable(value: Mapping[str, Any] | None) -> bool:
    return value is not None and isinstance(value.get("events"), list)


def _size(value: Mapping[str, Any] | None) -> int:
    return sum(len(value[key]) for key in ("events", "facts") if isinstance(value.get(key), list)) if value else 0


def _joined(passage: Passage, noted: Sequence[Noted], model: str, complete: bool) -> Extraction:
    events = tuple(dict.fromkeys(e for n in noted for e in n.events))
    facts = tuple(dict.fromkeys(f for n in noted for f in n.facts))
    dropped = sum(n.dropped for n in noted)
    kept = len(events) + len(facts)
    summary = " ".join(n.summary for n in noted if n.summary) or compose(events, passage.speaker)
    return Extraction(
        passage.id, events, facts, summary, model, (kept + 1) / (kept + dropped + 1), dropped, not complete
    )


def _key(item: ExtractItem) -> str:
    passage, context, names = item
    told = [passage.id, spoken(passage), str(passage.time), *map(spoken, context), "", *names]
    return hashlib.sha256("\0".join(told).encode("utf-8", "replace")).hexdigest()
