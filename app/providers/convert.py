"""Tidies a history so that every provider accepts it, whatever models, imports and crashes left in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from app.ports import AssistantMessage, Message, PersonMessage, ToolCall, ToolReturn

NO_RESULT = "This call was interrupted before it gave a result."
NOTHING = "(nothing)"  # providers refuse empty words
_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Asked:
    """What goes to the model at once: results of the calls before it, then words."""

    returns: tuple[ToolReturn, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """What the model said: words, then calls whose arguments are JSON objects."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


Round = Asked | Answered


def rounds(messages: Iterable[Message]) -> list[Round]:
    """The history as strictly alternating rounds, beginning with something asked.

    Each call has exactly one result right after it (a missing one says so), a result without its call is dropped,
    ids are unique over the whole history, arguments are JSON objects, and no text is empty.
    """
    out: list[Round] = []
    taken: set[str] = set()
    open_calls: dict[str, str] = {}  # id as recorded: id as sent, of the last answer
    order: list[ToolCall] = []
    returns: dict[str, ToolReturn] = {}
    texts: list[str] = []

    def close() -> None:
        nonlocal open_calls, order, returns, texts
        results = tuple(returns.get(c.id) or ToolReturn(c.id, c.name, NO_RESULT, error=True) for c in order)
        said = tuple(t for t in texts if t.strip())
        if results or said:
            out.append(Asked(results, said))
        open_calls, order, returns, texts = {}, [], {}, []

    for message in messages:
        match message:
            case PersonMessage(text):
                texts.append(text)
            case ToolReturn(id=call_id):
                sent = open_calls.get(call_id)
                if sent is not None and sent not in returns:
                    returns[sent] = replace(
                        message, id=sent, name=tool_name(message.name), text=message.text or NOTHING
                    )
            case AssistantMessage(text, calls) if text.strip() or calls:
                close()
                order = [_tidy_call(call, taken, open_calls) for call in calls]
                _answer(out, text, order)
    close()
    if not out or isinstance(out[-1], Answered):
        out.append(Asked(texts=("Go on.",)))
    return out


def _answer(out: list[Round], text: str, calls: list[ToolCall]) -> None:
    """Append an answer, joined to one right before it."""
    if not out:
        out.append(Asked(texts=(NOTHING,)))  # a history that begins with the model, such as an import
    last = out[-1]
    if isinstance(last, Answered):
        out[-1] = Answered("\n\n".join(t for t in (last.text, text) if t.strip()), (*last.calls, *calls))
    else:
        out.append(Answered(text if text.strip() else "", tuple(calls)))


def _tidy_call(call: ToolCall, taken: set[str], open_calls: dict[str, str]) -> ToolCall:
    """The call with an id used once, a name providers accept, and arguments that are a JSON object."""
    call_id = call.id or "call"
    base, count = call_id, 1
    while call_id in taken:
        count += 1
        call_id = f"{base}_{count}"
    taken.add(call_id)
    open_calls[call.id] = call_id
    return ToolCall(call_id, tool_name(call.name), json_object(call.args))


def tool_name(name: str) -> str:
    """A tool name as providers accept it: letters, digits, _ and -, at most 64."""
    return _NAME.sub("_", name)[:64] or "unnamed"


def json_object(args: str) -> str:
    """Arguments as a JSON object: none are `{}`, broken ones go in as text under a name that says so."""
    if not args.strip():
        return "{}"
    try:
        value: Any = json.loads(args)
    except (ValueError, RecursionError):
        return json.dumps({"not_json": whole_text(args)})
    if not isinstance(value, dict):
        return json.dumps({"not_an_object": value})
    try:
        args.encode("utf-8")
        return (
            args
            if "\\ud" not in args.lower()
            else json.dumps(json.loads(whole_text(json.dumps(value, ensure_ascii=False))))
        )
    except (UnicodeEncodeError, ValueError):
        return json.dumps({"not_json": whole_text(args)})


def whole_text(text: str) -> str:
    """Surrogate pairs joined, lone halves replaced, so that the text can be sent."""
    try:
        text.encode("utf-8")
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
