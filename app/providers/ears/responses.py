"""OpenAI's Responses API."""

from __future__ import annotations

from typing import Any

from app.providers.ears.base import BaseEar, Json, TextSlot, index_of, part, table, tokens
from app.providers.endpoints import Endpoint
from app.providers.failures import from_stream
from store import ids
from store.events import Usage


class ResponsesEar(BaseEar):
    """OpenAI's Responses API."""

    KNOWN = (
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.output_item.done",
        "response.content_part.added",
        "response.content_part.done",
        "response.output_text.delta",
        "response.output_text.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
    )

    def __init__(self, at: Endpoint) -> None:
        super().__init__(at)
        self._called = False
        self._ids: dict[int, str] = {}

    def event_name(self, event: Json) -> str:
        """Its type."""
        return str(event["type"])

    def hear(self, name: str, data: Any) -> Json | None:
        """Take one event."""
        if not isinstance(data, dict):
            self.failure = from_stream(self.at, data)
            return None
        kind = data.get("type") or name
        if kind in ("error", "response.failed") or ("error" in data and "type" not in data):
            self.failure = from_stream(self.at, part(data, "response", "error") or data.get("error") or data)
            return None
        if kind in ("response.completed", "response.incomplete"):
            return self._end(data, kind)
        if kind not in self.KNOWN:
            return None
        if kind.endswith(".delta"):
            self.began = True
            if not isinstance(data.get("delta"), str):
                return None
            if "arguments" not in kind:
                data["delta"] = self._whole(kind, data["delta"])
        self._item(data)
        return data

    def slot(self, event: Json) -> TextSlot | None:
        """The words of a delta."""
        if str(event["type"]).endswith(".delta"):
            return f"{event['type']} {event.get('item_id')} {event.get('content_index')}", event, "delta"
        return None

    def _item(self, data: Json) -> None:
        """Give each call an id of its own."""
        item = table(data.get("item"))
        if part(item, "type") != "function_call":
            return
        self._called, index = True, index_of({"index": data.get("output_index")})
        if index not in self._ids:
            call_id = str(item.get("call_id") or "")
            self._ids[index] = ids.new_id(ids.CALL) if not call_id or call_id in self._ids.values() else call_id
        item["call_id"] = self._ids[index]
        item["name"] = str(item.get("name") or "unnamed")

    def _end(self, data: Json, kind: str) -> Json | None:
        response = table(data.get("response"))
        why = part(response, "incomplete_details", "reason")
        self.ended = True
        if kind == "response.completed":
            self.finish = "tool-calls" if self._called else "stop"
        else:
            self.finish = {"max_output_tokens": "length", "content_filter": "filter"}.get(str(why), "unknown")
        given = response.get("usage")
        if isinstance(given, dict):
            self.usage = Usage(
                input_tokens=tokens(given.get("input_tokens")),
                output_tokens=tokens(given.get("output_tokens")),
                cached_tokens=tokens(part(given, "input_tokens_details", "cached_tokens")),
            )
        response.pop("usage", None)
        return data if response else None
