"""Between a row of the `event` table and an event."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from store import upcast
from store.events import EVENT_TYPES, Event, Stored, UnknownEvent, event_from

COLUMNS = "id, chat, seq, at, type, v, body, blob"


def stored_of(row: tuple[Any, ...], blob: Callable[[str], bytes | None]) -> Stored:
    """The event of a row of `COLUMNS`; a body that can't be read makes an UnknownEvent, never an error."""
    id_, chat, seq, at, type_, v, body, sha = row
    text: str | bytes | None = body if sha is None else blob(sha)
    return Stored(id_, chat, seq, at, _event(type_, v, text))


def _event(type_: str, v: int, text: str | bytes | None) -> Event:
    if text is None:
        return UnknownEvent(type=type_, v=v, raw={"type": type_, "v": v})
    cls = EVENT_TYPES.get(type_)
    if cls is not None and (type_, v) not in upcast.STEPS:
        try:
            event = cls.model_validate_json(text)
            if event.v <= cls.model_fields["v"].default:
                return event
        except ValueError:
            pass  # the long way, which answers an UnknownEvent
    try:
        raw = json.loads(text)
    except ValueError:
        raw = None
    if not isinstance(raw, dict):
        return UnknownEvent(type=type_, v=v, raw={"type": type_, "v": v})
    return event_from(upcast.newest(raw))


def body_of(event: Event) -> tuple[Event, str]:
    """The event and its JSON body. Lone surrogates, which no file can hold, become replacement marks in both."""
    if isinstance(event, UnknownEvent):
        text = json.dumps(event.raw, ensure_ascii=False)
        return event, text if _writable(text) else json.dumps(event.raw)
    try:
        return event, event.model_dump_json(exclude_none=True)
    except (UnicodeError, ValueError):
        clean = type(event).model_validate(whole(event.model_dump(exclude_none=True)))
        return clean, clean.model_dump_json(exclude_none=True)


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeError:
        return False
    return True


def whole(value: Any) -> Any:
    """The value with lone surrogates, which no file can hold, turned into replacement marks."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {whole(k): whole(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [whole(v) for v in value]
    return value
