"""Find in one chat: the words, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from store.text import safe_text


class FindBar(Horizontal):
    """Enter and ↓ go to the next, ↑ to the one before; Esc closes and the marks go."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("down", "step(1)", show=False),
        Binding("up", "step(-1)", show=False),
        Binding("tab", "rows", show=False),
    ]

    @dataclass
    class Words(Message):
        """Other words are looked for; "" for none."""

        words: str

    @dataclass
    class Step(Message):
        """To the next (1) or the one before (-1)."""

        by: int

    @dataclass
    class Left(Message):
        """Closed (`rows` False), or the focus goes to the rows."""

        rows: bool

    def compose(self) -> ComposeResult:
        """The box and the count."""
        yield Static(Content("Find"), classes="find--name")
        yield Input(placeholder="words in this chat", compact=True, select_on_focus=True)
        yield Static(classes="find--count")

    def fill(self, words: str) -> None:
        """Put words in without looking for them again."""
        box = self.query_one(Input)
        with self.prevent(Input.Changed):
            box.value = safe_text(words, one_line=True, limit=200)

    @property
    def words(self) -> str:
        """What is looked for."""
        return self.query_one(Input).value

    def stands(self, current: int, total: int, more: bool) -> None:
        """`more`: earlier messages aren't loaded, so there may be others."""
        said = (
            "" if not self.words else f"{current} of {total}{'+' if more and total else ''}" if total else "No matches"
        )
        self.query_one(".find--count", Static).update(Content(said))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Words(event.value))

    @on(Input.Submitted)
    def _next(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Step(1))

    def action_step(self, by: int) -> None:
        """Next or before."""
        self.post_message(self.Step(by))

    def action_leave(self) -> None:
        """Close."""
        self.post_message(self.Left(rows=False))

    def action_rows(self) -> None:
        """To the rows, where n and N go on."""
        self.post_message(self.Left(rows=True))
