"""Replies in the shape of OpenAI's Responses API, streamed."""

from __future__ import annotations

import json
from typing import Any

from tests.servers.fake import Piece, Reply

USAGE = {
    "input_tokens": 11,
    "input_tokens_details": {"cached_tokens": 3},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 18,
}


def event(kind: str, number: int, **data: Any) -> bytes:
    """One event."""
    body = {"type": kind, "sequence_number": number, **data}
    return f"event: {kind}\ndata: ".encode() + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def whole(status: str, output: list[dict[str, Any]], use: Any = None, **more: Any) -> dict[str, Any]:
    """The response object that opens and closes a stream."""
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": output}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None}
    return base | rest | {"usage": use} | more


def text(*words: str, status: str = "completed", use: Any = USAGE, **more: Any) -> Reply:
    """An answer of words."""
    said = "".join(words)
    part = {"type": "output_text", "text": "", "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    out: list[Piece] = [
        event("response.created", 0, response=whole("in_progress", [])),
        event("response.output_item.added", 1, output_index=0, item=item),
        event("response.content_part.added", 2, part=part, **where),
    ]
    out += [event("response.output_text.delta", 3, delta=word, logprobs=[], **where) for word in words]
    done = item | {"status": "completed", "content": [part | {"text": said}]}
    out += [
        event("response.output_text.done", 4, text=said, logprobs=[], **where),
        event("response.output_item.done", 5, output_index=0, item=done),
        event(f"response.{status}", 6, response=whole(status, [done], use, **more)),
    ]
    return Reply(tuple(out))


def calls(*wanted: tuple[str, str, str]) -> Reply:
    """An answer that calls tools: (call_id, name, arguments)."""
    out: list[Piece] = [event("response.created", 0, response=whole("in_progress", []))]
    items = []
    for index, (call_id, name, args) in enumerate(wanted):
        item = {"id": f"fc_{index}", "type": "function_call", "call_id": call_id, "name": name, "arguments": ""}
        where = {"item_id": f"fc_{index}", "output_index": index}
        out.append(event("response.output_item.added", 1, output_index=index, item=item | {"status": "in_progress"}))
        for part in (args[: len(args) // 2], args[len(args) // 2 :]):
            out.append(event("response.function_call_arguments.delta", 2, delta=part, **where))
        out.append(event("response.function_call_arguments.done", 3, arguments=args, name=name, **where))
        item = item | {"arguments": args, "status": "completed"}
        items.append(item)
        out.append(event("response.output_item.done", 4, output_index=index, item=item))
    out.append(event("response.completed", 5, response=whole("completed", items, USAGE)))
    return Reply(tuple(out))
