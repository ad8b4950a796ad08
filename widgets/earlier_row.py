"""The row at the top that says how much is above."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from .line import Line
from .marks import MORE, count
from .row import Row


class EarlierRow(Row):
    """Enter or a click fetches what is above; hidden while there is nothing."""

    @dataclass
    class Pressed(Message):
        """Earlier rows are wanted."""

    def __init__(self) -> None:
        super().__init__("-earlier")
        self.hidden_rows = 0

    def say(self, hidden: int) -> None:
        """How many rows are above."""
        if hidden != self.hidden_rows:
            self.hidden_rows = hidden
            self.display = hidden > 0
            self.changed()

    def make(self, width: int) -> list[Line]:
        """One quiet line."""
        return [Line(((f"{MORE}{count(self.hidden_rows, 'earlier message')}", "muted"),), quiet=True)]

    def press(self) -> None:
        """Fetch them."""
        self.post_message(self.Pressed())
