"""Shoal's own export: the event lines of `shoal export --format json`, read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from store import events as ev
from store import upcast
from store.events import Event, event_from
from store.ids import import_prefix, imported_id
from store.importers.base import Head, Said, Times, cut_text, own_id, text_of
from store.importers.lines import Unreadable
from store.limits import CHAT_ID_CHARS, MESSAGE_ID_CHARS, TITLE_CHARS

_PREFIX_CHARS = 6
_IDS = ("message_id", "call_id", "look_id", "turn_id", "compact_id")
_TEXTS = ("text", "output", "thinking", "summary")
# Not taken: what only means something while Shoal runs, and Shoal's own sentences, which a file may not speak.
_TAKEN = (
    ev.ChatForked,
    ev.TitleChanged,
    ev.ChatArchived,
    ev.UserMessage,
    ev.ForwardedMessage,
    ev.AssistantDone,
    ev.ToolStarted,
    ev.ToolFinished,
    ev.ChatsLooked,
    ev.Taint,
    ev.ContextCompacted,
    ev.ContextCleared,
    ev.TurnCompleted,
)


class ShoalExport:
    """Events with their ids prefixed; the chat's origin becomes `import`, what it was is kept beside it."""

    program = "Shoal"
    source = "Shoal"
    taint = "import"
    by_order = True

    def __init__(self, times: Times) -> None:
        self._times = times
        self._prefix = import_prefix(self.source)

    def knows(self, line: Mapping[str, Any]) -> bool:
        """An event line."""
        return all(name in line for name in ("chat", "seq", "at", "type", "v"))

    def take(self, line: Mapping[str, Any]) -> Head | Said | None:
        """A chat's facts, or one event of it; an event of a newer Shoal isn't readable."""
        chat, order = own_id(line.get("chat"), CHAT_ID_CHARS - _PREFIX_CHARS), line.get("seq")
        if not chat or not isinstance(order, int) or isinstance(order, bool) or order < 0:
            raise Unreadable
        at = self._times.ms(line.get("at"))
        try:
            body = {k: v for k, v in line.items() if k not in ("id", "chat", "seq", "at")}
            event = event_from(upcast.newest(body))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Unreadable from error
        if isinstance(event, ev.UnknownEvent):
            raise Unreadable
        if isinstance(event, ev.ChatCreated):
            return Head(chat, self._created(chat, event), at, bool(event.title) and event.origin is None)
        taken = self._options(event) if isinstance(event, ev.OptionsChanged) else self._event(event)
        if taken is None:
            return None
        return Said(chat, order, taken, at, sum(len(text_of(line, name)) for name in _TEXTS) + 200)

    def _created(self, chat: str, was: ev.ChatCreated) -> ev.ChatCreated:
        return ev.ChatCreated(
            title=was.title[:TITLE_CHARS],
            folder=was.folder,
            model=was.model,
            origin=ev.Origin(kind="import", name=self.program, ref=chat),
            recorded_origin=was.origin,
            private=was.private,
        )

    @staticmethod
    def _options(event: ev.OptionsChanged) -> Event | None:
        """Only what says where the chat belongs: a file may not raise a mode or open a door."""
        if event.private is None and event.folder is None:
            return None
        return ev.OptionsChanged(private=event.private, folder=event.folder)

    def _event(self, event: Event) -> Event | None:
        if not isinstance(event, _TAKEN):
            return None
        changes: dict[str, Any] = {name: self._id(value) for name in _IDS if (value := getattr(event, name, None))}
        for name in _TEXTS:
            value = getattr(event, name, None)
            if isinstance(value, str):
                changes[name] = cut_text(value)
        match event:
            case ev.AssistantDone(calls=calls):
                changes["calls"] = tuple(c.model_copy(update={"call_id": self._id(c.call_id)}) for c in calls)
            case ev.TurnCompleted():
                changes |= {"error": None, "code": None}
            case ev.ChatForked() | ev.TitleChanged():
                pass
        return event.model_copy(update=changes)

    def _id(self, value: str) -> str:
        return imported_id(self._prefix, own_id(value, MESSAGE_ID_CHARS - _PREFIX_CHARS))
