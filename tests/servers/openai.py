"""Replies in the shape of OpenAI's chat completions, streamed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.servers.fake import Piece, Reply

DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, "prompt_tokens_details": {"cached_tokens": 3}}


def event(data: Any) -> bytes:
    """One event."""
    return b"data: " + json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n\n"


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One chunk of the one choice."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return event(
        {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}
    )


def usage(value: Any = USAGE) -> bytes:
    """The last chunk, with the usage."""
    return event(
        {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": value}
    )


def call(index: int, name: str | None, args: str, call_id: str | None = None) -> bytes:
    """A piece of a tool call."""
    function = {"arguments": args} | ({"name": name} if name is not None else {})
    return chunk(
        {
            "tool_calls": [
                {"index": index, "type": "function", "function": function} | ({"id": call_id} if call_id else {})
            ]
        }
    )


def text(*words: str, finish: str | None = "stop", done: bool = True, use: Any = USAGE) -> Reply:
    """An answer of words, one chunk each."""
    return stream((chunk({"content": word}) for word in words), finish, done, use)


def calls(*wanted: tuple[str, str, str], before: str = "", finish: str = "tool_calls") -> Reply:
    """An answer that calls tools: (call_id, name, arguments), the arguments in two parts."""
    pieces = [chunk({"content": before})] if before else []
    for index, (call_id, name, args) in enumerate(wanted):
        half = len(args) // 2
        pieces += [call(index, name, args[:half], call_id), call(index, None, args[half:])]
    return stream(pieces, finish)


def stream(pieces: Iterable[Piece], finish: str | None = "stop", done: bool = True, use: Any = USAGE) -> Reply:
    """A reply of these pieces, then the finish, the usage and the end mark."""
    out: list[Piece] = [chunk({"role": "assistant", "content": ""}), *pieces]
    if finish is not None:
        out.append(chunk({}, finish))
    if use is not None:
        out.append(usage(use))
    if done:
        out.append(DONE)
    return Reply(tuple(out))
