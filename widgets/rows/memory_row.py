"""Something remembered: kept, waiting for a yes, or forgotten. Each can be undone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from textual.binding import Binding, BindingType
from textual.message import Message

from store.rows import AnyRow, MemoryRow
from store.text import safe_text
from widgets.line import Line, Piece, wrap
from widgets.row import Row

SAID: Final = {"kept": "Remembered", "pending": "May I remember this?", "forgotten": "Forgotten"}
# what can be done in each state, as (letter, action, words)
DONE: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {
    "kept": (("u", "undo", "Undo"),),
    "pending": (("k", "keep", "Keep"), ("f", "forget", "Forget")),
    "forgotten": (("u", "undo", "Undo"),),
}
Action = Literal["keep", "forget", "undo"]


class Memory(Row):
    """`k` keeps one that waits, `f` forgets it, `u` undoes what was done last."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "decide('keep')", "Keep", id="row.keep", show=False),
        Binding("f", "decide('forget')", "Forget", id="row.forget", show=False),
        Binding("u", "decide('undo')", "Undo", id="row.undo", show=False),
    ]
    kind = MemoryRow

    @dataclass
    class Decided(Message):
        """Keep or forget the memory, or undo."""

        key: str
        action: Action

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
        for letter, action, words_ in DONE[model.state]:
            out.append(Line((("  ", ""), (f"[{letter}] ", "key"), (words_, "link")), action, quiet=True))
        return out

    def choose(self, target: str) -> None:
        """What the line says."""
        self.action_decide(target)

    def press(self) -> None:
        """Enter on the row decides nothing: its lines and letters do."""

    def action_decide(self, action: str) -> None:
        """Keep one that waits, forget one that isn't forgotten yet, undo what isn't waiting."""
        state = self.model.state
        match action:
            case "keep" if state == "pending":
                self.post_message(self.Decided(self.key, "keep"))
            case "forget" if state != "forgotten":
                self.post_message(self.Decided(self.key, "forget"))
            case "undo" if state != "pending":
                self.post_message(self.Decided(self.key, "undo"))
