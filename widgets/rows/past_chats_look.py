"""PastChatsLook: the assistant looked through earlier chats; opened, each line found leads to its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual.message import Message

from store.events import LookChat, LookLine
from store.rows import AnyRow, LookRow
from store.text import safe_text
from widgets.line import Line, Piece, fit_pieces, wrap
from widgets.marked import marked
from widgets.marks import FOLDED, OPEN, ago, count
from widgets.names import person, title_of, without_name
from widgets.row import Row

WHO: Final = {"you": "you", "assistant": "asst", "step": "step"}


class PastChatsLook(Row):
    """One quiet row; with nothing found it has nothing to open."""

    @dataclass
    class OpenAt(Message):
        """Open the chat at the message, lit. `message` is "" for the chat's end."""

        chat: str
        message: str

    kind = LookRow

    def __init__(self, model: LookRow, now_ms: int = 0) -> None:
        super().__init__(model.key)
        self.model = model
        self.now_ms = now_ms or model.at
        self.opened = False
        self.can_focus = bool(model.chats)

    def show(self, model: AnyRow) -> None:
        """Take the look as it is now."""
        if isinstance(model, LookRow) and model != self.model:
            self.model = model
            self.can_focus = bool(model.chats)
            self.changed()

    def make(self, width: int) -> list[Line]:
        """The row's sentence, and below it the chats it found, best first."""
        out = wrap(self._sentence(), width, rest=("  ", ""))
        if self.opened:
            for index, chat in enumerate(self.model.chats):
                out.extend(self._chat(chat, index, width))
        return out

    def _sentence(self) -> list[Piece]:
        model = self.model
        mark = "  " if not model.chats else f"{OPEN} " if self.opened else f"{FOLDED} "
        if model.action == "read":
            title = title_of(model.chats[0].title, "") if model.chats else ""
            shown = f"“{title}”" if title else "an earlier chat"
            return [(mark, "muted"), ("Read your chat", "muted"), (" · ", "muted"), (shown, "")]
        query = safe_text(model.query or "", one_line=True, limit=200)
        found = count(len(model.chats), "chat") if model.chats else "nothing found"
        close = ", close matches" if model.close and model.chats else ""
        asked: list[Piece] = [(" · ", "muted"), (f"“{query}”", "")] if query else []
        return [(mark, "muted"), ("Looked through your chats", "muted"), *asked, (f" · {found}{close}", "muted")]

    def _chat(self, chat: LookChat, index: int, width: int) -> list[Line]:
        meta = [
            person(chat.from_, 80),
            "archived" if chat.archived else "",
            ago(chat.last_active, self.now_ms),
        ]
        pieces: list[Piece] = [("    ", ""), (title_of(chat.title, "an earlier chat"), "strong")]
        pieces.extend((f" · {word}", "muted") for word in meta if word)
        out = [Line(fit_pieces(pieces, width), f"{index}:")]
        column = max((len(self._who(item)) for item in chat.lines), default=0)
        for number, item in enumerate(chat.lines):
            out.extend(self._line(item, f"{index}:{number}", column, width))
        return out

    def _who(self, item: LookLine) -> str:
        return WHO.get(item.who) or person(item.name, 12) or "other"

    def _line(self, item: LookLine, target: str, column: int, width: int) -> list[Line]:
        name = self._who(item).ljust(column)
        shown = marked(*without_name(item.text, item.marks, item.name))
        first = (f"      {name}  ", "you" if item.who == "you" else "muted")
        return wrap(shown, width, first=first, rest=(" " * (8 + column), ""), target=target)

    def press(self) -> None:
        """Open or fold; with nothing found, nothing."""
        if self.model.chats:
            self.opened = not self.opened
            self.changed()
            self.post_message(self.Resized(self))

    def choose(self, target: str) -> None:
        """A title opens its chat at its first line, a line at that line."""
        index, _, number = target.partition(":")
        chat = self.model.chats[int(index)]
        lines = chat.lines
        message = lines[int(number)].message if number else lines[0].message if lines else ""
        self.post_message(self.OpenAt(chat.id, message))
