"""Anthropic's messages."""

from __future__ import annotations

from typing import Any

from app.providers.ears.base import BaseEar, Json, TextSlot, index_of, part, table, tokens
from app.providers.endpoints import Endpoint
from app.providers.failures import from_stream
from store import ids


class AnthropicEar(BaseEar):
    """Anthropic's messages."""

    FINISH = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "tool_use": "tool-calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "filter",
    }

    def __init__(self, at: Endpoint) -> None:
        super().__init__(at)
        self._ids: set[str] = set()

    def event_name(self, event: Json) -> str:
        """Its type."""
        return str(event["type"])

    def hear(self, name: str, data: Any) -> Json | None:
        """Take one event."""
        if not isinstance(data, dict):
            self.failure = from_stream(self.at, data)
            return None
        match data.get("type") or name:
            case "message_start":
                return self._start(data)
            case "content_block_start":
                return self._block(data)
            case "content_block_delta":
                return self._delta(data)
            case "content_block_stop":
                return {"type": "content_block_stop", "index": index_of(data)}
            case "message_delta":
                raw = part(data, "delta", "stop_reason")
                if raw:
                    self.finish = self.FINISH.get(str(raw), "unknown")
                self._count(data.get("usage"))
                delta = {"stop_reason": raw if raw in self.FINISH else "end_turn", "stop_sequence": None}
                return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0}}
            case "message_stop":
                self.ended = True
                return {"type": "message_stop"}
            case "error":
                self.failure = from_stream(self.at, data.get("error", data))
        if "error" in data and "type" not in data:
            self.failure = from_stream(self.at, data["error"])
        return None  # pings, and events this program doesn't know

    def slot(self, event: Json) -> TextSlot | None:
        """The words of a delta."""
        if event["type"] == "content_block_delta":
            for key in ("text", "thinking", "partial_json"):
                if key in event["delta"]:
                    return f"{event['index']} {key}", event["delta"], key
        return None

    def _start(self, data: Json) -> Json:
        message = table(data.get("message"))
        self._count(message.get("usage"))
        base = {"id": message.get("id") or "msg", "type": "message", "role": "assistant", "model": self.at.model}
        rest: Json = {"content": [], "stop_reason": None, "stop_sequence": None}
        return {"type": "message_start", "message": base | rest | {"usage": {"input_tokens": 0, "output_tokens": 0}}}

    def _block(self, data: Json) -> Json | None:
        block = table(data.get("content_block"))
        kind = part(block, "type")
        out: Json
        if kind == "tool_use":
            call_id = str(block.get("id") or "")
            call_id = ids.new_id(ids.CALL) if not call_id or call_id in self._ids else call_id
            self._ids.add(call_id)
            given = block.get("input")
            whole = given if isinstance(given, dict) else {}
            out = {"type": "tool_use", "id": call_id, "name": str(block.get("name") or "unnamed"), "input": whole}
        elif kind == "thinking":
            out = {"type": "thinking", "thinking": str(block.get("thinking") or ""), "signature": ""}
        elif kind == "text":
            out = {"type": "text", "text": self._whole("text", str(block.get("text") or ""))}
        else:
            return None
        self.began = True
        return {"type": "content_block_start", "index": index_of(data), "content_block": out}

    def _delta(self, data: Json) -> Json | None:
        delta = table(data.get("delta"))
        for kind, key in (("text_delta", "text"), ("thinking_delta", "thinking"), ("input_json_delta", "partial_json")):
            if part(delta, "type") == kind and isinstance(delta.get(key), str):
                words = self._whole(key, delta[key]) if key != "partial_json" else delta[key]
                self.began = self.began or bool(words)
                return {"type": "content_block_delta", "index": index_of(data), "delta": {"type": kind, key: words}}
        return None  # signatures and citations aren't kept

    def _count(self, given: Any) -> None:
        """Input counts come first, output last; what was read from a cache is part of the input."""
        if not isinstance(given, dict):
            return
        cached = tokens(given.get("cache_read_input_tokens"))
        wrote = tokens(given.get("cache_creation_input_tokens"))
        fresh = tokens(given.get("input_tokens"))
        if fresh is not None and (fresh or cached or wrote):
            self.usage = self.usage.model_copy(
                update={"input_tokens": fresh + (cached or 0) + (wrote or 0), "cached_tokens": cached}
            )
        if "output_tokens" in given:
            self.usage = self.usage.model_copy(update={"output_tokens": tokens(given["output_tokens"])})
