"""The wire types: what requests may hold, and for the documentation what replies hold.

Sizes that depend on the configuration are checked by ``serving.sizes``. Knows nothing about what is done with them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from serving.sizes import check_shape

Id = str | None
_ID: Any = Field(default=None, max_length=512)
Expand = Literal["auto", "always", "never"]


class Body(BaseModel):
    """A request; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _shaped(cls, told: Any) -> Any:
        check_shape(told)
        return told


class Whose(Body):
    """Whose memory is meant: at least one id, here or inside ``filters``."""

    user_id: Id = _ID
    agent_id: Id = _ID
    run_id: Id = _ID

    def ids(self) -> dict[str, Any]:
        """Give the ids that were given."""
        told = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}
        return {name: value for name, value in told.items() if value is not None}


class Add(Whose):
    """What to remember. Without ``wait`` the words are stored and findable at once, and extraction follows."""

    messages: str | dict[str, Any] | list[dict[str, Any] | str]
    readers: list[str] | None = Field(
        default=None,
        max_length=1000,
        description="Who may read them, * for everyone; left out: everyone, of a restricted key that key's principals.",
    )
    metadata: dict[str, Any] | None = None
    timestamp: str | float | None = None
    infer: bool = True
    wait: bool = True


class Search(Whose):
    """A question; nothing is generated."""

    query: str = Field(min_length=1)
    filters: dict[str, Any] | None = None
    top_k: int | None = Field(default=None, ge=1, le=1000)
    limit: int | None = Field(default=None, ge=1, le=1000)
    threshold: float = 0.0
    explain: bool = False
    expand: Expand | None = None
    as_of: str | float | None = Field(
        default=None, description="A moment of the story: what was said and held by then."
    )
    context_tokens: int | None = Field(default=None, ge=64, le=100_000)


class Ask(Whose):
    """A question to be answered from memory; ``stream``: server-sent events evidence, answer, done."""

    question: str = Field(min_length=1)
    filters: dict[str, Any] | None = None
    top_k: int | None = Field(default=None, ge=1, le=1000)
    expand: Expand | None = None
    as_of: str | float | None = Field(
        default=None, description="A moment of the story: what was said and held by then."
    )
    stream: bool = False


class Update(Body):
    """Other words or other metadata for a passage; ``data`` is ``text``."""

    text: str | None = None
    data: str | None = None
    metadata: dict[str, Any] | None = None


class Forget(Body):
    """What is meant: all that fits what is said. ``ids`` are of passages, or of frames and facts with theirs."""

    user_id: Id = _ID
    agent_id: Id = _ID
    run_id: Id = _ID
    ids: list[str] = Field(default=[], max_length=10_000)
    session: Id = _ID
    speaker: Id = _ID
    before: str | float | None = None
    everything: bool = False
    filters: dict[str, Any] | None = None

    def whose(self) -> dict[str, Any]:
        """Give the ids of the memory that were given."""
        return self.model_dump(include={"user_id", "agent_id", "run_id"}, exclude_none=True)

    def chosen(self) -> dict[str, Any]:
        """Give what says which passages are meant."""
        return self.model_dump(include={"ids", "session", "speaker", "before", "everything", "filters"})


class Retain(Whose):
    """Rules of retention, as in the section ``retention`` of the configuration."""

    older_than: str | None = None
    idle_session: str | None = None
    keep: int | None = Field(default=None, ge=0)
    keep_sessions: int | None = Field(default=None, ge=0)
    session: Id = _ID
    clock: Literal["stored", "said"] | None = None
    dry_run: bool = False

    def rules(self) -> dict[str, Any]:
        """Give the rules that were given."""
        return self.model_dump(exclude={"user_id", "agent_id", "run_id", "dry_run"}, exclude_none=True)


class Rights(Whose):
    """Who may read which passages: those named, or all of a memory that fit ``filters``. A reader ``*`` is everyone."""

    readers: list[str] = Field(min_length=1, max_length=1000)
    passages: list[str] = Field(default=[], max_length=10_000)
    filters: dict[str, Any] | None = None


class Split(Body):
    """The passages of a frame that tell of something else."""

    passages: list[str] = Field(min_length=1, max_length=1000)


class Merge(Body):
    """Frames that tell of one occurrence."""

    frames: list[str] = Field(min_length=2, max_length=100)


class Reassign(Body):
    """The frame to which a passage belongs; null: one of its own."""

    frame: str | None = None


class Embed(Body):
    """Texts to be embedded, as OpenAI's clients send them; base64 is of little-endian float32."""

    input: str | list[str]
    model: str = ""
    encoding_format: Literal["float", "base64"] = "float"
    user: str | None = None


class Reply(BaseModel):
    """A reply; more fields may come."""

    model_config = ConfigDict(extra="allow")


class Usage(Reply):
    """What models did for this request."""

    prompt_tokens: int
    completion_tokens: int
    embedded_texts: int


class Item(Reply):
    """A memory item: a passage in its original words."""

    id: str
    memory: str
    status: Literal["pending", "raw", "done", "failed"]


class Added(Reply):
    """What became of each message."""

    results: list[Item]
    problems: list[dict[str, Any]]
    usage: Usage


class Page(Reply):
    """One page of a list; ``next`` goes into ``after`` for the following one, and is null on the last."""

    results: list[dict[str, Any]]
    next: str | None
    usage: Usage


class Found(Reply):
    """What grounds an answer."""

    results: list[Item]
    frames: list[dict[str, Any]]
    facts: list[dict[str, Any]]
    context: str
    tokens: int
    route: str
    usage: Usage


class Answered(Found):
    """An answer with what grounds it."""

    answer: str
    model: str


class Frames(Reply):
    """The frames that a correction changed."""

    frames: list[dict[str, Any]]


class Deleted(Reply):
    """What was deleted: ids, or their number."""

    deleted: list[str] | int


class Receipt(Reply):
    """An erase receipt: numbers and ids, never content.

    ``clean``: no trace of what was erased was found in any file; null where the database lies in no files to be searched.
    """

    at: str
    actor: str | None
    removed: dict[str, int]
    refolded: dict[str, int]
    again: int
    waiting: dict[str, str]
    memories: list[dict[str, Any]]
    scan: dict[str, Any]
    clean: bool | None


class Changed(Reply):
    """The passages whose readers changed, those that were extracted again, and the errors of those that still wait."""

    changed: list[str]
    again: list[str]
    errors: dict[str, str]
    usage: Usage


class Retained(Reply):
    """What was due under which rule, and the receipt; none where nothing was erased."""

    due: int
    rules: dict[str, dict[str, int]]
    dry_run: bool
    receipt: Receipt | None


class Trail(Reply):
    """Lines of the audit trail; ``next`` goes into ``after`` for the following page, and is null on the last."""

    results: list[dict[str, Any]]
    next: int | None
    usage: Usage


class JobReply(Reply):
    """A job; ``event_id`` is its id under the name that other memory services give it."""

    job_id: str
    event_id: str
    kind: Literal["import", "export"]
    status: Literal["queued", "running", "done", "failed", "erased"]
    done: int
    total: int | None
    error: str | None


class Problem(Reply):
    """Every error: RFC 9457 with a stable ``code``."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
