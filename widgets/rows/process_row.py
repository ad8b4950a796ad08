"""A background process: what runs, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from store.rows import AnyRow, ProcessRow
from store.text import safe_text
from widgets.line import Line, Piece, spread
from widgets.marks import IDLE, WORKING
from widgets.row import Row

ENDS: Final = {"exited": "ended", "stopped": "stopped", "limit": "stopped at its limit", "closed": "ended with Shoal"}


class Process(Row):
    """One line; `s` stops it while it runs."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "stop", "Stop", id="row.stop", show=False)]
    kind = ProcessRow

    @dataclass
    class Stop(Message):
        """Stop the process."""

        key: str

    def __init__(self, model: ProcessRow) -> None:
        super().__init__(model.key)
        self.model = model

    def show(self, model: AnyRow) -> None:
        """Take the process as it is now."""
        if isinstance(model, ProcessRow) and model != self.model:
            self.model = model
            self.changed()

    def make(self, width: int) -> list[Line]:
        """The command, and whether it runs."""
        model = self.model
        command = safe_text(model.command, one_line=True, mark_bidi=True, limit=400)
        mark: Piece = (f"{WORKING} ", "accent") if model.ended is None else (f"{IDLE} ", "muted")
        left = [mark, ("In the background  ", "muted"), (command, "")]
        if model.ended is None:
            return [spread(left, [("running · ", "muted"), ("[s] ", "key"), ("stop", "link")], width)]
        failed = model.exit_code not in (None, 0)
        words = ENDS.get(model.ended, "ended") + (f" · code {model.exit_code}" if failed else "")
        return [spread(left, [(words, "bad" if failed and model.ended == "exited" else "muted")], width)]

    def press(self) -> None:
        """Nothing to open."""

    def action_stop(self) -> None:
        """Stop it."""
        if self.model.ended is None:
            self.post_message(self.Stop(self.key))
