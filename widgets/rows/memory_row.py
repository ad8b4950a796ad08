"""Something remembered: kept, waiting for a yes, or forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from store.rows import AnyRow, MemoryRow
from store.text import safe_text
from widgets.line import Line, Piece, wrap
from widgets.row import Row

SAID: Final = {"kept": "Remembered", "pending": "May I remember this?", "forgotten": "Forgotten"}


class Memory(Row):
    """`k` keeps one that waits, `f` forgets it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "decide('keep')", "Keep", id="row.keep", show=False),
        Binding("f", "decide('forget')", "Forget", id="row.forget", show=False),
    ]
    kind = MemoryRow

    @dataclass
    class Decided(Message):
        """Keep or forget the memory."""

        key: str
        keep: bool

    def __init__(self, model: MemoryRow) -> None:
        super().__init__(model.key)
        self.model = model

    def show(self, model: AnyRow) -> None:
        """Take the memory as it is now."""
        if isinstance(model, MemoryRow) and model != self.model:
            self.model = model
            self.changed()

    def make(self, width: int) -> list[Line]:
        """What is remembered, and what can be done about it."""
        model = self.model
        gone = model.state == "forgotten"
        content = safe_text(model.content, limit=2_000).strip()
        words: list[Piece] = [(SAID[model.state], "warn" if model.state == "pending" else "muted"), (" · ", "muted")]
        out = wrap([*words, (content, "muted strike" if gone else "")], width, first=("· ", "muted"))
        if gone:
            return out
        if model.state == "pending":
            out.append(Line((("  ", ""), ("[k] ", "key"), ("Keep", "link")), "keep", quiet=True))
        out.append(Line((("  ", ""), ("[f] ", "key"), ("Forget", "link")), "forget", quiet=True))
        return out

    def choose(self, target: str) -> None:
        """Keep or forget."""
        self.action_decide(target)

    def press(self) -> None:
        """Enter on the row decides nothing: its lines and letters do."""

    def action_decide(self, choice: str) -> None:
        """Keep one that waits, or forget one that isn't forgotten yet."""
        state = self.model.state
        if (choice == "keep" and state == "pending") or (choice == "forget" and state != "forgotten"):
            self.post_message(self.Decided(self.key, choice == "keep"))
