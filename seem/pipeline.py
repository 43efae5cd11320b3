"""THE TWO ARROWS: the only file that knows the order of the stages.

::

    remember(drafts):  store ──► extract ──► consolidate ──► fold ──► link ──►│ commit: one transaction │──► index
    recall(question):  seed ──► route ──► spread ──► fuse ──► expand ──► context

Models run outside every transaction; what is computed is committed only if the memory is still the one that it was
computed for, else computed again. The original words are durable before any model sees them. Knows nothing about the
names that users call things by.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from seem.access import Access
from seem.corrections import Corrections
from seem.errors import ModelError
from seem.forgetting import Forgetting
from seem.laps import Watch, laps
from seem.models.protocols import Extractor, Judge
from seem.prompts.parse import known
from seem.read.context import serialize
from seem.read.expand import expand
from seem.read.fusion import fuse_ranks, ranked
from seem.read.nearby import lend
from seem.read.route_signals import signals
from seem.read.seed import seed
from seem.read.spread import spread
from seem.rights import Principals
from seem.state import State, passage_text
from seem.states import States
from seem.store.batch import Change, Draft, Vector, WriteBatch
from seem.types import Context, Fact, Frame, Hit, Passage, StoredFact
from seem.wiring import Parts
from seem.write.fold import readable
from seem.write.held import held_at, said_by
from seem.write.integrate import CUT_OFF, NOWHERE, integrate
from seem.write.retell import retell

Progress = Callable[[int, int], None]

CHUNK = 128
DEPTH = 60
PLAIN = {"dense": 1.0, "bm25": 1.0}
FULL = {"dense": 1.5, "bm25": 1.0, "told": 1.0, "told_bm25": 0.5, "facts": 0.5, "parsed": 0.5, "walk": 0.5}


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of one draft: its passage, whether it is new, what was made of it, and a model's error."""

    passage: Passage
    created: bool
    frame: Frame | None = None
    facts: tuple[StoredFact, ...] = ()
    merged: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """How one question is read. Switches off one stage each: ``facts``, ``frames``, ``walk``, ``expand``.

    ``as_of`` reads the memory as it was at that moment of the story.
    """

    top_k: int = 10
    context_tokens: int = 1500
    expand: str = "auto"
    threshold: float = 0.0
    facts: bool = True
    frames: bool = True
    walk: bool = True
    weights: Mapping[str, float] = field(default_factory=lambda: FULL)
    as_of: datetime | None = None


class Pipeline:
    """Every memory of one store, loaded on demand; safe to use from several threads."""

    def __init__(self, parts: Parts) -> None:
        """Take the parts; nothing is loaded yet."""
        self.parts = parts
        self.states = States(parts)
        self.corrections = Corrections(parts, self.states, self.digest)
        self.access = Access(parts, self.states, self.digest)
        self.forgetting = Forgetting(parts, self.states, self.digest)
        # Told the seconds of each stage of a search, so that a server can measure.
        self.watch: Watch | None = None

    # ── remember ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def remember(
        self,
        memory: str,
        drafts: Sequence[Draft],
        *,
        wait: bool = True,
        progress: Progress | None = None,
        principals: Principals | None = None,
    ) -> list[Remembered]:
        """Store the drafts, then extract, fuse and link what is new; give what became of each, in order.

        Without ``wait`` they are stored and findable, and extraction is left to ``retry``. ``principals`` are the
        writer's: he is told what he may read.
        """
        self.states.refuse_other_encoder(memory)
        stored = self._store(memory, drafts)
        if principals is not None:
            stored = self.access.apart(memory, drafts, stored, principals, self._store)
        # A passage that is known but still waits was left behind by a crash: a repeat finishes it.
        waiting = list({p.id: p for p, _ in stored if p.status == "pending"}.values())
        self._index_words(memory, [*(p for p, created in stored if created and p.status != "pending"), *waiting])
        errors = self.digest(memory, waiting, progress=progress) if wait else {}
        with self.states.state(memory, principals) as state:
            return [self._told(state, passage, created, errors.get(passage.id, "")) for passage, created in stored]

    def digest(
        self,
        memory: str,
        passages: Sequence[Passage],
        *,
        progress: Progress | None = None,
        former: Mapping[str, Sequence[str]] = NOWHERE,
    ) -> dict[str, str]:
        """Run the models over stored passages and commit; give the error of each that failed; it stays queued.

        ``former`` names those with which a passage shared a frame before its words changed.
        """
        try:
            extractor, judge = self.parts.extractor, self.parts.judge
        except ModelError as error:
            # A model that is not there says nothing about the passages: they wait without losing an attempt.
            return {p.id: str(error) for p in passages}
        if extractor is None:
            return {}
        errors: dict[str, str] = {}
        for start in range(0, len(passages), CHUNK):
            chunk = passages[start : start + CHUNK]
            told = None if progress is None else partial(_shifted, progress, start, len(passages))
            errors |= self._digest(memory, chunk, extractor, judge, told, former)
        return errors

    def _digest(
        self,
        memory: str,
        chunk: Sequence[Passage],
        extractor: Extractor,
        judge: Judge | None,
        told: Callable[[int], None] | None,
        former: Mapping[str, Sequence[str]],
    ) -> dict[str, str]:
        """Extract one batch and commit; where the model fails, halve the batch, so that one bad passage fails alone."""
        words = {p.id: p.text for p in chunk}
        with self.states.state(memory) as state:
            waiting = [state.passages[p.id] for p in chunk if _waits(state, p.id, p.text)]
            items = [(p, state.before(p), names_for(p, state)) for p in waiting]
        shown = {p.id: tuple(b.id for b in before) for p, before, _ in items}
        named = {p.id: names for p, _, names in items}
        try:
            extracted = extractor.extract(items, progress=told) if items else []
            extractions = [replace(x, shown=shown[x.passage_id]) for x in extracted if x.passage_id in shown]
        except ModelError as error:
            if len(chunk) > 1:
                half = len(chunk) // 2
                first = self._digest(memory, chunk[:half], extractor, judge, told, former)
                return first | self._digest(memory, chunk[half:], extractor, judge, told, former)
            failed = {p.id: str(error) for p in chunk}
            self.states.commit(
                memory, lambda state: WriteBatch(failed={i: e for i, e in failed.items() if i in state.passages})
            )
            return failed

        def batch(state: State) -> WriteBatch:
            # Meanwhile a passage may have gone, got other words or other readers, or been done by another process.
            waiting = [x for x in extractions if _waits(state, x.passage_id, words[x.passage_id])]
            present = [x for x in waiting if state.covered(x, named[x.passage_id])]
            settings = self.parts.config.judge
            folded = integrate(
                state,
                present,
                self.parts.encoder,
                judge,
                candidates=settings.candidates,
                former=former,
                split_below=settings.split_below,
            )
            return retell(folded, state, self.parts.fuser, self.parts.encoder)

        try:
            if extractions:
                self.states.commit(memory, batch)
        except ModelError as error:
            # The judge, the fuser or the encoder failed: nothing was written, and the passages wait without losing an attempt.
            return {x.passage_id: str(error) for x in extractions}
        return {x.passage_id: CUT_OFF for x in extractions if x.truncated}

    def retry(self, memory: str | None = None, limit: int = 1000) -> dict[str, str]:
        """Run the models over passages whose extraction is still queued, of one memory or all."""
        queued: dict[str, list[Passage]] = {}
        for passage in self.parts.store.pending(memory, limit):
            queued.setdefault(passage.memory, []).append(passage)
        errors: dict[str, str] = {}
        for owner, passages in queued.items():
            self._index_words(owner, passages)
            errors |= self.digest(owner, passages)
        return errors

    def _store(self, memory: str, drafts: Sequence[Draft]) -> list[tuple[Passage, bool]]:
        """Store the drafts; the loaded state follows where no other writer came between."""
        with self.states.lock(memory):
            known = self.states.loaded(memory)
            stored = self.parts.store.add_passages(memory, drafts)
            new = [p for p, created in stored if created]
            if known is not None and new and self.parts.store.generation(memory) == known.generation + 1:
                known.apply(WriteBatch(passages=new), known.generation + 1)
        return stored

    def _index_words(self, memory: str, passages: Sequence[Passage]) -> None:
        """Make the vectors of those passages that have none yet, and note their arrival."""
        with self.states.state(memory) as state:
            missing = [p for p in passages if p.id not in state.vectors["passage"]]
        if not missing:
            return
        vectors = self.parts.encoder.encode([passage_text(p) for p in missing])
        rows: dict[str, Vector] = {p.id: vectors[n] for n, p in enumerate(missing)}

        def batch(state: State) -> WriteBatch:
            fresh = [p for p in missing if _same_words(state, p.id, p.text) and p.id not in state.vectors["passage"]]
            return WriteBatch(
                encoder=self.parts.encoder.fingerprint,
                vectors=[("passage", p.id, rows[p.id]) for p in fresh],
                history=[Change(p.id, "ADD", None, p.text) for p in fresh],
            )

        self.states.commit(memory, batch)

    # ── recall ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def recall(
        self,
        memory: str,
        question: str,
        options: Options,
        *,
        allowed: Collection[str] | None = None,
        principals: Principals | None = None,
    ) -> Context:
        """Find what grounds an answer, for a reader. ``allowed`` limits everything to these passages, before ranking."""
        lap = laps(self.watch)
        vector = self.parts.encoder.encode([question])[0]
        lap("encode")
        patterns = self._patterns(question) if options.facts else []
        settings = self.parts.config.search
        lap("parse")
        with self.states.state(memory, principals) as state:
            lap("load")
            held: Mapping[str, StoredFact] | None = None
            if options.as_of is not None:
                allowed = said_by(state, options.as_of, allowed)
                held = held_at(state, options.as_of, allowed)
            depth = max(DEPTH, 3 * options.top_k)
            seeds = seed(question, vector, state, depth=depth, allowed=allowed, patterns=patterns, facts_held=held)
            lap("seed")
            arm = options.expand
            if arm not in ("always", "never"):
                arm = self.parts.router.choose(question, vector, signals(question, seeds, state, allowed=allowed))
            lists = {name: ids for name, ids in seeds.lists.items() if _wanted(name, options)}
            scores = fuse_ranks(lists, options.weights)
            if options.walk:
                lists["walk"] = spread(
                    seeds,
                    ranked(scores),
                    state,
                    damping=settings.damping,
                    iterations=settings.iterations,
                    allowed=allowed,
                )
                scores = fuse_ranks(lists, options.weights)
            lap("walk")
            scores = lend(scores, state, allowed=allowed)
            hits = ranked(scores)
            chosen = hits[: options.top_k]
            if options.frames and arm in ("always", "expand"):
                chosen = expand(
                    hits, scores, state, budget=options.top_k, hold=(options.top_k + 1) // 2, allowed=allowed
                )
            # Rounded as scores are shown, so that a threshold taken from a result keeps that result.
            chosen = [p for p in chosen if round(scores.get(p, 0.0), 6) >= options.threshold]
            lap("expand")
            context = self._context(state, question, chosen, scores, lists, options, arm, allowed, held)
            lap("context")
            return context

    def _patterns(self, question: str) -> list[tuple[Fact, Vector]]:
        parser = self.parts.parser
        found = parser.parse(question) if parser else []
        return list(zip(found, self.parts.encoder.encode([known(p) for p in found]), strict=True)) if found else []

    def _context(
        self,
        state: State,
        question: str,
        chosen: Sequence[str],
        scores: Mapping[str, float],
        lists: Mapping[str, Sequence[str]],
        options: Options,
        arm: str,
        allowed: Collection[str] | None,
        held: Mapping[str, StoredFact] | None,
    ) -> Context:
        hits = [
            Hit(state.passages[p], scores.get(p, 0.0), {n: ids.index(p) + 1.0 for n, ids in lists.items() if p in ids})
            for p in chosen
        ]
        frames = (
            [state.frames[f] for f in dict.fromkeys(state.frame_of[p] for p in chosen if p in state.frame_of)]
            if options.frames
            else []
        )
        frames = [f for frame in frames if (f := readable(frame, state.passages, state.extractions, allowed))]
        known = state.facts if held is None else held
        cited = dict.fromkeys(i for p in chosen for i in sorted(state.facts_of.get(p, ()))) if options.facts else ()
        facts = [known[i] for i in cited if i in known]
        facts = [f for f in facts if allowed is None or set(f.provenance) <= set(allowed)]
        text, tokens = serialize(
            [h.passage for h in hits],
            frames,
            facts,
            budget=options.context_tokens,
            count=count_tokens,
            summary={f.id: f.summary for f in frames},
        )
        return Context(question, tuple(hits), tuple(frames), tuple(facts), text, tokens, arm)

    # ── take back (see seem.corrections) ──────────────────────────────────────────────────────────────────────────────

    def forget(self, memory: str, passage_ids: Collection[str], *, actor: str = "") -> int:
        """Delete passages and everything that only they support; give their number (see ``seem.forgetting``)."""
        return self.forgetting.forget({memory: passage_ids}, actor=actor).passages

    def revise(
        self,
        passage: Passage,
        *,
        text: str | None,
        metadata: Mapping[str, object] | None,
        actor: str = "",
        principals: Principals | None = None,
    ) -> Remembered:
        """Give a passage other words (and extract it again) or other metadata; the old words stay in the history."""
        current, error = self.corrections.revise(passage, text=text, metadata=metadata, actor=actor)
        with self.states.state(passage.memory, principals) as state:
            return self._told(state, current, False, error)

    def reset(self, memory: str) -> dict[str, int]:
        """Delete a whole memory, without residue; give the number of rows by table."""
        receipt = self.forgetting.forget({}, whole=[memory])
        return {"passages": receipt.passages, **receipt.gone[0].counts}

    def reindex(self, memory: str) -> int:
        """Make every vector anew from the stored texts, with the configured encoder; give their number."""
        return self.corrections.reindex(memory)

    def _told(self, state: State, passage: Passage, created: bool, error: str) -> Remembered:
        current = state.passages.get(passage.id, passage)
        frame_id = state.frame_of.get(passage.id)
        frame = state.frames[frame_id] if frame_id else None
        facts = tuple(state.facts[i] for i in sorted(state.facts_of.get(passage.id, ())))
        return Remembered(current, created, frame, facts, frame is not None and len(frame.provenance) > 1, error)


def _shifted(progress: Progress, start: int, total: int, done: int) -> None:
    progress(start + done, total)


def _same_words(state: State, passage_id: str, text: str) -> bool:
    return passage_id in state.passages and state.passages[passage_id].text == text


def _waits(state: State, passage_id: str, text: str) -> bool:
    return _same_words(state, passage_id, text) and state.passages[passage_id].status in ("pending", "failed")


def names_for(passage: Passage, state: State) -> list[str]:
    """Name the people in play: who spoke in the passage's session, then others of the memory, the latest first."""
    readers = passage.readers
    return list(dict.fromkeys([*state.speakers(readers, passage.session), *state.speakers(readers)]))[:6]


def count_tokens(text: str) -> int:
    """Estimate tokens without a tokenizer: a word is one, a long one more, as common vocabularies have it."""
    return sum(1 + len(word) // 6 for word in text.split())


def _wanted(name: str, options: Options) -> bool:
    return not ((name in ("facts", "parsed") and not options.facts) or (name.startswith("told") and not options.frames))
