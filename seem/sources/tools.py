"""Tool calls and their results, in the form of OpenAI's messages, as messages with words of their own.

Takes numbered messages and gives them in order: a call becomes one message after the words that came with it, a result
is told under the name of the tool that it answers (paired by ``tool_call_id``). Messages without either pass unchanged.
Knows nothing about files or drafts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from seem.sources.drafts import Problem

_RESULTS = ("tool", "function")
_NO_OUTPUT = "[no output]"


def expand(messages: Iterable[tuple[int, Any]], problems: list[Problem]) -> Iterator[tuple[int, Any]]:
    """Give the messages with calls and results told apart; a malformed call is told in ``problems`` and left out."""
    tools: dict[tuple[str, str], str] = {}
    for line, message in messages:
        if not isinstance(message, Mapping):
            yield line, message
        elif message.get("role") in _RESULTS:
            yield line, _result(message, tools)
        elif message.get("tool_calls") or message.get("function_call"):
            words = _worded(message)
            if words is not None:
                yield line, words
            for call in _calls(message):
                try:
                    yield line, _call(message, call, tools)
                except ValueError as error:
                    problems.append(Problem(line, str(error)))
                except RecursionError:
                    problems.append(Problem(line, "a tool call's arguments are nested too deeply"))
        else:
            worded = _worded(message)
            yield line, message if worded is None else worded


def _calls(message: Mapping[str, Any]) -> list[Any]:
    calls = message.get("tool_calls")
    calls = calls if isinstance(calls, list) else [calls] if calls else []
    legacy = message.get("function_call")
    return [*calls, {"function": legacy}] if legacy else calls


def _worded(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Give the message where it says something: words, a refusal, or a placeholder for what is no text."""
    content = message.get("content", message.get("text"))
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, Mapping)]
        if any(isinstance(part.get("text"), str) and part["text"].strip() for part in parts):
            return message
        kinds = [kind for part in parts if isinstance(kind := part.get("type"), str) and kind != "text"]
        if kinds:
            named = ", ".join(kind.removeprefix("input_").removesuffix("_url") for kind in kinds)
            return {**message, "content": f"[{named}]", "text": None, "infer": False}
    if content:
        return message
    return {**message, "content": message["refusal"]} if message.get("refusal") else None


def _call(message: Mapping[str, Any], call: Any, tools: dict[tuple[str, str], str]) -> Mapping[str, Any]:
    told = call.get("function", call.get("custom")) if isinstance(call, Mapping) else None
    name = told.get("name") if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or not isinstance(name, str) or not name.strip():
        raise ValueError("a tool call is an object with a function that has a name")
    arguments = told.get("arguments", told.get("input"))
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    call_id = call.get("id")
    ids = {"tool_call_id": call_id} if isinstance(call_id, str) and call_id else {}
    if ids:
        tools[repr(message.get("session")), str(call_id)] = name
    own = message.get("id")
    shared = {key: value for key, value in message.items() if key not in ("text", "tool_calls", "function_call")}
    return {
        **shared,
        "content": f"{name}({arguments})",
        "id": f"{own}/{call_id}" if own and ids else None,
        "metadata": _with(message, {"tool": name, **ids}),
    }


def _result(message: Mapping[str, Any], tools: Mapping[tuple[str, str], str]) -> Mapping[str, Any]:
    call_id = message.get("tool_call_id")
    ids = {"tool_call_id": call_id} if isinstance(call_id, str) and call_id else {}
    name = message.get("name") or tools.get((repr(message.get("session")), str(call_id)))
    content = message.get("content", message.get("text"))
    silent = content is None or (isinstance(content, str) and not content.strip()) or content == []
    told = {"text": None, "content": _NO_OUTPUT, "infer": False} if silent else {}
    return {**message, "name": name, "metadata": _with(message, ({"tool": name} if name else {}) | ids), **told}


def _with(message: Mapping[str, Any], more: Mapping[str, Any]) -> Any:
    told = message.get("metadata")
    return told if told is not None and not isinstance(told, Mapping) else {**(told or {}), **more}
