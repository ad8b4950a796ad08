"""Gemini's streamGenerateContent."""

from __future__ import annotations

from typing import Any

from app.providers.ears.base import BaseEar, Json, TextSlot, listed, part, tokens
from app.providers.endpoints import Endpoint
from app.providers.failures import from_stream
from store import ids
from store.events import Usage


class GoogleEar(BaseEar):
    """Gemini's streamGenerateContent."""

    FINISH = {"STOP": "stop", "MAX_TOKENS": "length"}
    FILTERS = frozenset(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"))

    def __init__(self, at: Endpoint) -> None:
        super().__init__(at)
        self._ids: set[str] = set()

    def hear(self, name: str, data: Any) -> Json | None:
        """Take one chunk."""
        if isinstance(data, list) and data:
            data = data[0]
        if not isinstance(data, dict) or data.get("error"):
            self.failure = from_stream(self.at, data.get("error") if isinstance(data, dict) else data)
            return None
        self._count(data.get("usageMetadata"))
        if part(data, "promptFeedback", "blockReason"):
            self.finish = "filter"
            return None
        candidate = next((c for c in listed(data.get("candidates")) if isinstance(c, dict)), None)
        if candidate is None:
            return None
        if raw := candidate.get("finishReason"):
            self.finish = "filter" if raw in self.FILTERS else self.FINISH.get(str(raw), "unknown")
        given = part(candidate, "content", "parts")
        parts = [p for p in (self._part(p) for p in listed(given) if isinstance(p, dict)) if p]
        self.began = self.began or bool(parts)
        if not parts and not raw:
            return None
        out: Json = {"content": {"parts": parts or [{"text": ""}], "role": "model"}, "index": 0}
        if raw:
            out["finishReason"] = raw if raw in self.FINISH else "SAFETY" if self.finish == "filter" else "OTHER"
        return {"candidates": [out], "modelVersion": self.at.model}

    def slot(self, event: Json) -> TextSlot | None:
        """The words of a chunk that is one text."""
        candidate = event["candidates"][0]
        parts = candidate["content"]["parts"]
        if "finishReason" not in candidate and len(parts) == 1 and "text" in parts[0]:
            return f"text {parts[0].get('thought')}", parts[0], "text"
        return None

    def _part(self, given: Json) -> Json | None:
        if isinstance(given.get("text"), str):
            thought = bool(given.get("thought"))
            words = self._whole("thinking" if thought else "text", given["text"])
            return ({"text": words} | ({"thought": True} if thought else {})) if words else None
        call = given.get("functionCall")
        if isinstance(call, dict):
            call_id = str(call.get("id") or "")
            call_id = ids.new_id(ids.CALL) if not call_id or call_id in self._ids else call_id
            self._ids.add(call_id)
            args = call.get("args") if isinstance(call.get("args"), dict) else {}
            return {"functionCall": {"id": call_id, "name": str(call.get("name") or "unnamed"), "args": args}}
        return None

    def _count(self, given: Any) -> None:
        if isinstance(given, dict):
            said, thought = tokens(given.get("candidatesTokenCount")), tokens(given.get("thoughtsTokenCount"))
            self.usage = Usage(
                input_tokens=tokens(given.get("promptTokenCount")),
                output_tokens=None if said is None else said + (thought or 0),
                cached_tokens=tokens(given.get("cachedContentTokenCount")),
            )
