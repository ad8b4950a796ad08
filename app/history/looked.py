"""What a look leaves in the chat that looked: the `chats.looked` event, and the marks it brings along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from app.guard.taint import looked_at
from app.history.answers import FoundChat, FoundLine, cut
from store.events import ChatsLooked, LookChat, LookLine, TaintSource
from store.ids import LOOK, new_id
from store.limits import LOOK_CHATS, LOOK_LINE_CHARS, LOOK_LINES


def looked(
    action: Literal["search", "read"],
    chats: Sequence[FoundChat],
    call_id: str,
    *,
    query: str | None = None,
    close: bool = False,
) -> ChatsLooked:
    """The event of one look: at most ten chats and three lines each, of what was returned."""
    return ChatsLooked(
        look_id=new_id(LOOK),
        call_id=call_id,
        action=action,
        query=query,
        close=True if close else None,
        chats=tuple(_chat(chat) for chat in chats[:LOOK_CHATS]),
    )


def _chat(chat: FoundChat) -> LookChat:
    return LookChat(
        id=chat.id,
        title=chat.title,
        archived=True if chat.archived else None,
        from_=chat.from_ or None,
        last_active=chat.last_active,
        lines=tuple(_line(line) for line in chat.lines[:LOOK_LINES]),
    )


def _line(line: FoundLine) -> LookLine:
    flat = " ".join(line.text.split())
    text = cut(flat, LOOK_LINE_CHARS)
    marks = tuple((a, min(b, len(text))) for a, b in line.marks if a < len(text)) if flat == line.text else ()
    return LookLine(message=line.message, who=line.who, at=line.at, text=text, name=line.name, marks=marks)


def carried(chats: Sequence[FoundChat]) -> tuple[TaintSource, ...]:
    """One mark for each returned chat that read something from outside or has someone else's words."""
    return tuple(looked_at(chat.title) for chat in chats if chat.untrusted)
