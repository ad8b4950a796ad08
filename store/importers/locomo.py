"""The shape of the LoCoMo benchmark file: chats of two people, one object a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from store.events import Attachment, ChatCreated, Origin, UserMessage
from store.ids import import_prefix, imported_id
from store.importers.base import Head, Said, Times, cut_text, own_id, text_of
from store.importers.lines import Unreadable
from store.limits import CHAT_ID_CHARS, MESSAGE_ID_CHARS, TITLE_CHARS

_PEOPLE = 4
_NAME_CHARS = 80
_PREFIX_CHARS = 6


class Locomo:
    """Chats with `people` (the first is the person) and messages of `you` or `them`; questions aren't imported."""

    program = "LoCoMo"
    source = "LoCoMo"
    taint = "LoCoMo"
    by_order = False

    def __init__(self, times: Times) -> None:
        self._times = times
        self._prefix = import_prefix(self.source)
        self._order = 0

    def knows(self, line: Mapping[str, Any]) -> bool:
        """A chat, message or question line."""
        match line.get("type"):
            case "chat":
                return "people" in line and "id" in line
            case "message":
                return "chat" in line and "id" in line and "v" not in line
            case "question":
                return "gold_chats" in line
        return False

    def take(self, line: Mapping[str, Any]) -> Head | Said | None:
        """A chat's facts, or a message."""
        if line.get("type") == "chat":
            return self._head(line)
        if line.get("type") == "message":
            return self._said(line)
        return None

    def _head(self, line: Mapping[str, Any]) -> Head:
        chat = own_id(line.get("id"), CHAT_ID_CHARS - _PREFIX_CHARS)
        if not chat:
            raise Unreadable
        people = line.get("people")
        names = [p for p in people if isinstance(p, str)][:_PEOPLE] if isinstance(people, list) else []
        title = " and ".join(" ".join(name.split())[:_NAME_CHARS] for name in names) or "Imported chat"
        number = line.get("number")
        if isinstance(number, int) and not isinstance(number, bool):
            title = f"{title} · {number}"
        origin = Origin(kind="import", name=self.program, ref=chat)
        return Head(chat, ChatCreated(title=title[:TITLE_CHARS], origin=origin), self._times.ms(line.get("started")))

    def _said(self, line: Mapping[str, Any]) -> Said:
        chat = own_id(line.get("chat"), CHAT_ID_CHARS - _PREFIX_CHARS)
        message = own_id(line.get("id"), MESSAGE_ID_CHARS - _PREFIX_CHARS)
        text, role = line.get("text"), line.get("role")
        if not chat or not message or not isinstance(text, str) or role not in ("you", "them"):
            raise Unreadable
        self._order += 1  # in the file: what holds where no `seq` is given
        order = line.get("seq")
        if not isinstance(order, int) or isinstance(order, bool) or order < 0:
            order = self._order
        image = text_of(line, "image")
        event = UserMessage(
            message_id=imported_id(self._prefix, message),
            text=cut_text(text),
            author=" ".join(text_of(line, "name").split())[:_NAME_CHARS] or None,
            them=role == "them",
            attachments=(Attachment(caption=cut_text(image)),) if image else (),
        )
        return Said(chat, order, event, self._times.ms(line.get("at")), len(text) + len(image))
