"""LangGraph's ``BaseStore`` over a memory: every namespace is a memory of its own, every item a passage with its frame and facts.

Takes a ``Memory``, gives the store that graphs and LangMem's tools know. The texts of an item are what is found; its value is kept whole
beside them. A search over a prefix asks every namespace below it and merges by score. Knows nothing about graphs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from seem.errors import ConfigError, InputError
from seem.memory import Memory

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        validate_op_namespace,
    )
    from langgraph.store.base.embed import get_text_at_path
except ImportError as error:
    raise ConfigError("LangGraph is not installed: pip install 'seem-memory[langgraph]'") from error

Namespace = tuple[str, ...]
Told = dict[str, Any]
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "$eq": lambda v, w: v == w,
    "$ne": lambda v, w: v != w,
    "$gt": lambda v, w: v > w,
    "$gte": lambda v, w: v >= w,
    "$lt": lambda v, w: v < w,
    "$lte": lambda v, w: v <= w,
}


class SeemStore(BaseStore):
    """Long-term memory for graphs: ``builder.compile(store=SeemStore(Memory()))``."""

    def __init__(self, memory: Memory, root: str = "langgraph") -> None:
        """Keep the namespaces of this store apart from other users by the ``root`` of their names; labels hold no dots."""
        self._memory = memory
        self._root = f"{root}."

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations one after another and give their results, in order."""
        return [self._do(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same in a worker thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        validate_op_namespace(op)
        if isinstance(op, GetOp):
            told = self._found(op.namespace, op.key)
            return None if told is None else Item(**_item(op.namespace, told))
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._listed(op)
        self._put(op)
        return None

    def _found(self, namespace: Namespace, key: str) -> Told | None:
        told = self._memory.get_all(user_id=self._owner(namespace), filters={"key": key}, top_k=1)["results"]
        return told[0] if told else None

    def _put(self, op: PutOp) -> None:
        known = self._found(op.namespace, op.key)
        indexed = op.index is not False
        if known is not None and (op.value is None or known["metadata"]["indexed"] != indexed):
            self._memory.delete(known["id"])
            known = None
        if op.value is None:
            return
        value = dict(op.value)
        kept = {"key": op.key, "value": value, "indexed": indexed}
        text = _text(value, op.index or None)
        if known is not None:
            self._memory.update(known["id"], text, metadata=kept)
            return
        message = {"role": "user", "content": text, "id": op.key}
        told = self._memory.add([message], user_id=self._owner(op.namespace), metadata=kept, infer=indexed)
        if told["problems"]:
            raise InputError(f"the item {op.key!r} cannot be stored: {told['problems'][0]['why']}")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        most = op.offset + op.limit
        found: list[SearchItem] = []
        for namespace in self._namespaces():
            if namespace[: len(op.namespace_prefix)] == op.namespace_prefix:
                found += [SearchItem(**told) for told in self._searched(namespace, op, most)]
        if op.query:
            found.sort(key=lambda item: item.score or 0.0, reverse=True)
        return found[op.offset : most]

    def _searched(self, namespace: Namespace, op: SearchOp, most: int) -> Iterator[Told]:
        owner = self._owner(namespace)
        wanted: Told = {}
        if op.filter or not op.query:
            items = self._memory.get_all(user_id=owner)["results"]
            items = [told for told in items if _fits(told["metadata"]["value"], op.filter or {})]
            wanted = {"key": {"in": [told["metadata"]["key"] for told in items]}}
        if op.query:
            filters = {"indexed": True, **wanted}
            items = self._memory.search(op.query, user_id=owner, filters=filters, top_k=most)["results"]
        for told in items[:most]:
            yield {**_item(namespace, told), "score": told.get("score")}

    def _listed(self, op: ListNamespacesOp) -> list[Namespace]:
        found = (n for n in self._namespaces() if all(_matches(n, c) for c in op.match_conditions or ()))
        cut = sorted({namespace[: op.max_depth] for namespace in found})
        return cut[op.offset : op.offset + op.limit]

    def _namespaces(self) -> Iterator[Namespace]:
        head = f"user_id:{self._root}"
        for name in self._memory.parts.store.memories():
            if name.startswith(head):
                yield tuple(name.removeprefix(head).split("."))

    def _owner(self, namespace: Namespace) -> str:
        return self._root + ".".join(namespace)


def _item(namespace: Namespace, told: Told) -> Told:
    kept = told["metadata"]
    times = {"created_at": told["created_at"], "updated_at": told["updated_at"] or told["created_at"]}
    return {"namespace": namespace, "key": kept["key"], "value": kept["value"], **times}


def _text(value: Told, fields: list[str] | None) -> str:
    """Give the words of the fields (``None``: of all), or the whole as JSON where it has none."""
    found = list(_strings(value)) if fields is None else [t for f in fields for t in get_text_at_path(value, f)]
    return "\n".join(t for t in found if t.strip()) or json.dumps(value, ensure_ascii=False, sort_keys=True)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


def _fits(value: Any, wanted: Any) -> bool:
    """Tell whether a value has what a filter asks for: equal parts, or what an operator like ``$gte`` says."""
    if not isinstance(wanted, dict):
        return bool(value == wanted)
    if not any(name.startswith("$") for name in wanted):
        return isinstance(value, dict) and all(_fits(value.get(name), part) for name, part in wanted.items())
    unknown = [name for name in wanted if name not in _COMPARE]
    if unknown:
        raise InputError(f"filter: unknown operator {unknown[0]!r}; known are {', '.join(_COMPARE)}")
    try:
        return all(_COMPARE[name](value, part) for name, part in wanted.items())
    except TypeError:
        return False


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return len(part) == len(path) and all(p in ("*", label) for label, p in zip(part, path, strict=True))
