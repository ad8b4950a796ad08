"""One sentence of Shoal's own, with what can be done about it; and what a newer Shoal wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from store.events import VAULT_LOCKED
from store.rows import AnyRow, NoticeRow
from store.text import safe_text
from widgets.line import Line, Piece, wrap
from widgets.row import Row

OPENS: Final = {VAULT_LOCKED: "Open the passwords"}
LOOKS: Final = {"info": ("· ", "muted"), "warning": ("! ", "warn"), "error": ("! ", "bad")}


class Notice(Row):
    """A quiet sentence; an error has its words in the theme's error colour and a mark."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "retry", "Retry", id="row.retry", show=False),
        Binding("o", "open", "Open", id="row.goto", show=False),
    ]

    @dataclass
    class Retry(Message):
        """Try the last reply again."""

        key: str

    @dataclass
    class Opened(Message):
        """Open what the notice is about."""

        code: str

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
        """The sentence and, where something can be done about it, that."""
        mark, style = LOOKS[self.model.level]
        out = wrap([(safe_text(self.model.text, limit=4_000), style)], width, first=(mark, style))
        if self.model.retry:
            pieces: tuple[Piece, ...] = (
                ("  ", ""),
                ("[r] ", "key"),
                ("Carry on" if self.model.paused else "Retry", "link"),
            )
            out.append(Line(pieces, "retry", quiet=True))
        if words := OPENS.get(self.model.code or ""):
            out.append(Line((("  ", ""), ("[o] ", "key"), (words, "link")), "open", quiet=True))
        return out

    def choose(self, target: str) -> None:
        """What the line says."""
        if target == "open":
            self.action_open()
        else:
            self.action_retry()

    def press(self) -> None:
        """Enter on the row does what its line says, where it has one."""
        self.action_retry()
        self.action_open()

    def action_open(self) -> None:
        """Open what it is about."""
        if self.model.code in OPENS:
            self.post_message(self.Opened(self.model.code or ""))

    def action_retry(self) -> None:
        """Ask for the reply once more."""
        if self.model.retry:
            self.post_message(self.Retry(self.key))
