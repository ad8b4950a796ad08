"""Replies in the shape of Anthropic's messages, streamed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.servers.fake import Piece, Reply

STOP_MARK_PIECES = 2  # message_delta and message_stop


def event(data: dict[str, Any]) -> bytes:
    """One event, named as its type."""
    return f"event: {data['type']}\ndata: ".encode() + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def start(use: Any = None) -> bytes:
    """The opening event."""
    given = {"input_tokens": 11, "output_tokens": 1, "cache_read_input_tokens": 3} if use is None else use
    message = {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": given}
    return event({"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}})


def words(index: int, parts: Iterable[str], kind: str = "text") -> list[bytes]:
    """A block of text, or of thinking."""
    key = "text" if kind == "text" else "thinking"
    block: dict[str, Any] = {"type": kind, key: ""} | ({"signature": ""} if kind == "thinking" else {})
    out = [event({"type": "content_block_start", "index": index, "content_block": block})]
    for part in parts:
        delta = {"type": f"{key}_delta", key: part}
        out.append(event({"type": "content_block_delta", "index": index, "delta": delta}))
    return [*out, event({"type": "content_block_stop", "index": index})]


def call(index: int, call_id: str, name: str, args: str) -> list[bytes]:
    """A block that calls a tool, its arguments in two parts."""
    block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    out = [event({"type": "content_block_start", "index": index, "content_block": block})]
    for part in (args[: len(args) // 2], args[len(args) // 2 :]):
        if part:
            delta = {"type": "input_json_delta", "partial_json": part}
            out.append(event({"type": "content_block_delta", "index": index, "delta": delta}))
    return [*out, event({"type": "content_block_stop", "index": index})]


def text(*parts: str, finish: str | None = "end_turn", use: Any = None) -> Reply:
    """An answer of words."""
    return stream(words(0, parts), finish, use)


def calls(*wanted: tuple[str, str, str], before: str = "", finish: str = "tool_use") -> Reply:
    """An answer that calls tools: (call_id, name, arguments)."""
    pieces = words(0, [before]) if before else []
    for index, (call_id, name, args) in enumerate(wanted, start=1 if before else 0):
        pieces += call(index, call_id, name, args)
    return stream(pieces, finish)


def stream(pieces: Iterable[Piece], finish: str | None = "end_turn", use: Any = None) -> Reply:
    """A reply of these pieces between the opening and the end."""
    out: list[Piece] = [start(use), event({"type": "ping"}), *pieces]
    if finish is not None:
        delta = {"stop_reason": finish, "stop_sequence": None}
        out.append(event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}))
        out.append(event({"type": "message_stop"}))
    return Reply(tuple(out))
