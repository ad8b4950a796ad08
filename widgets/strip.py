"""The strip of the other chats where only one column fits: marks and titles on one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.message import Message

from store.models import ChatSummary

from .bar import Bar
from .chat_list import mark_of
from .line import Piece, fit
from .names import title_of


class ChatStrip(Bar):
    """A click picks a chat; the numbers are the leader's."""

    DEFAULT_CSS = "ChatStrip { height: 1; background: $surface; }"

    @dataclass
    class Pick(Message):
        """Show this chat."""

        chat: str

    def show(self, chats: Sequence[ChatSummary], current: str | None, unread: frozenset[str] = frozenset()) -> None:
        """The chats of the deck from left to right; those that need you come cut last."""
        self._spans: list[tuple[int, int, str]] = []
        room = max(8, (self.size.width or 80) // max(1, len(chats)) - 5)
        pieces: list[Piece] = []
        at = 0
        for number, chat in enumerate(chats, 1):
            mark, style = mark_of(chat, chat.id in unread)
            title = fit(title_of(chat.title), room)
            mine = "strong under" if chat.id == current else "muted"
            parts: list[Piece] = [(f" {number}", "muted"), (f"{mark} ", style), (title, mine), (" ", "")]
            size = sum(cell_len(text) for text, _ in parts)
            self._spans.append((at, at + size, chat.id))
            at += size
            pieces.extend(parts)
        self.say(pieces)

    def on_click(self, event: events.Click) -> None:
        """Pick the chat under the pointer."""
        for start, end, chat in getattr(self, "_spans", []):
            if start <= event.x < end:
                self.post_message(self.Pick(chat))
