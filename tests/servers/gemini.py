"""Replies in the shape of Gemini's streamGenerateContent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.servers.fake import Piece, Reply

USAGE = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18, "cachedContentTokenCount": 3}


def event(data: Any) -> bytes:
    """One event."""
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\r\n\r\n"


def chunk(parts: list[dict[str, Any]], finish: str | None = None, **more: Any) -> bytes:
    """One chunk of the one candidate."""
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return event({"candidates": [candidate], "modelVersion": "m", **more})


def text(*words: str, finish: str | None = "STOP", use: Any = USAGE) -> Reply:
    """An answer of words."""
    return stream((chunk([{"text": word}]) for word in words), finish, use)


def calls(*wanted: tuple[str, str], before: str = "") -> Reply:
    """An answer that calls tools: (name, arguments)."""
    pieces = [chunk([{"text": before}])] if before else []
    pieces += [chunk([{"functionCall": {"name": name, "args": json.loads(args)}}]) for name, args in wanted]
    return stream(pieces)


def stream(pieces: Iterable[Piece], finish: str | None = "STOP", use: Any = USAGE) -> Reply:
    """A reply of these pieces and the last chunk."""
    last = [chunk([{"text": ""}], finish, **({"usageMetadata": use} if use is not None else {}))] if finish else []
    return Reply((*pieces, *last))
