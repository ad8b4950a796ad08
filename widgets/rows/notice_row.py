"""One sentence of Shoal's own, with Retry where the reply can be tried again; and what a newer Shoal wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from store.rows import AnyRow, NoticeRow
from store.text import safe_text
from widgets.line import Line, Piece, wrap
from widgets.row import Row

LOOKS: Final = {"info": ("· ", "muted"), "warning": ("! ", "warn"), "error": ("! ", "bad")}


class Notice(Row):
    """A quiet sentence; an error has its words in the theme's error colour and a mark."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "retry", "Retry", id="row.retry", show=False)]

    @dataclass
    class Retry(Message):
        """Try the last reply again."""

        key: str

    kind = NoticeRow

    def __init__(self, model: NoticeRow) -> None:
        super().__init__(model.key)
        self.model = model

    def show(self, model: AnyRow) -> None:
        """Take the notice as it is now."""
        if isinstance(model, NoticeRow) and model != self.model:
            self.model = model
            self.changed()

    def make(self, width: int) -> list[Line]:
        """The sentence and, where it can be tried again, Retry."""
        mark, style = LOOKS[self.model.level]
        out = wrap([(safe_text(self.model.text, limit=4_000), style)], width, first=(mark, style))
        if self.model.retry:
            pieces: tuple[Piece, ...] = (("  ", ""), ("[r] ", "key"), ("Retry", "link"))
            out.append(Line(pieces, "retry", quiet=True))
        return out

    def choose(self, target: str) -> None:
        """Retry."""
        self.post_message(self.Retry(self.key))

    def press(self) -> None:
        """Enter on the row is Retry, where it has one."""
        self.action_retry()

    def action_retry(self) -> None:
        """Ask for the reply once more."""
        if self.model.retry:
            self.post_message(self.Retry(self.key))
