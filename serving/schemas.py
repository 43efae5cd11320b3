"""The wire types: what requests may hold, and for the documentation what replies hold.

Sizes that depend on the configuration are checked by ``serving.sizes``. Knows nothing about what is done with them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Id = str | None
_ID: Any = Field(default=None, max_length=512)
Expand = Literal["auto", "always", "never"]


class Body(BaseModel):
    """A request; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


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
    context_tokens: int | None = Field(default=None, ge=64, le=100_000)


class Ask(Whose):
    """A question to be answered from memory; ``stream``: server-sent events evidence, answer, done."""

    question: str = Field(min_length=1)
    filters: dict[str, Any] | None = None
    top_k: int | None = Field(default=None, ge=1, le=1000)
    expand: Expand | None = None
    stream: bool = False


class Update(Body):
    """Other words or other metadata for a passage; ``data`` is ``text``."""

    text: str | None = None
    data: str | None = None
    metadata: dict[str, Any] | None = None


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


class Deleted(Reply):
    """What was deleted: ids, or their number."""

    deleted: list[str] | int


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
