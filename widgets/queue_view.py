"""What waits for the reply to end: edited, moved and dropped by keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from store.text import safe_text

from .line import Line, fit_pieces
from .row import Row


class QueueView(Row):
    """One line a waiting message; hidden while nothing waits."""

    DEFAULT_CSS = "QueueView { display: none; max-height: 6; } QueueView.-some { display: block; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "go(-1)", "Up", show=False),
        Binding("down", "go(1)", "Down", show=False),
        Binding("shift+up,K", "shift(-1)", "Sooner", id="queue.sooner", show=False),
        Binding("shift+down,J", "shift(1)", "Later", id="queue.later", show=False),
        Binding("e", "press", "Edit", id="queue.edit", show=False),
        Binding("x,delete", "drop", "Drop", id="queue.drop", show=False),
        Binding("escape,tab", "leave", "Message box", show=False),
    ]

    @dataclass
    class Changed(Message):
        """The queue as the person left it."""

        texts: tuple[str, ...]

    @dataclass
    class Edit(Message):
        """A message was taken out to be edited."""

        text: str

    @dataclass
    class Leave(Message):
        """Back to the box."""

    def __init__(self) -> None:
        super().__init__("-queue")
        self.texts: list[str] = []

    def set_texts(self, texts: Sequence[str]) -> None:
        """Show these."""
        if list(texts) != self.texts:
            self.texts = list(texts)
            self.cursor = min(self.cursor, len(self.texts) - 1)
            self.set_class(bool(self.texts), "-some")
            self.changed()

    def make(self, width: int) -> list[Line]:
        """A line a message, its keys at the first."""
        out = []
        for index, text in enumerate(self.texts):
            words = safe_text(text, one_line=True, limit=400)
            pieces = [(f"{index + 1} ", "muted"), ("next  " if not index else "later ", "muted"), (words, "")]
            out.append(Line(fit_pieces(pieces, width), f"{index}"))
        if out:
            keys = "e edit · J K move · x drop"
            words = f"queued · {keys}" if self.has_focus else f"queued · Shift+Tab, then {keys}"
            out.append(Line(fit_pieces([(words, "muted")], width), quiet=True))
        return out

    def watch_has_focus(self, has_focus: bool) -> None:
        """Begin at the first; say the keys, or how to come to them."""
        super().watch_has_focus(has_focus)
        if has_focus and self.cursor < 0:
            self.cursor = 0
        self.changed()

    def action_go(self, by: int) -> None:
        """To the message above or below; past the end, back to the box."""
        if self.cursor + by >= len(self.texts):
            self.post_message(self.Leave())
        elif self.cursor + by >= 0:
            self.move(by)

    def action_shift(self, by: int) -> None:
        """Move the message up or down in the queue."""
        at, to = self.cursor, self.cursor + by
        if 0 <= at < len(self.texts) and 0 <= to < len(self.texts):
            self.texts[at], self.texts[to] = self.texts[to], self.texts[at]
            self.cursor = to
            self._tell()

    def action_drop(self) -> None:
        """Take the message out for good."""
        if 0 <= self.cursor < len(self.texts):
            del self.texts[self.cursor]
            self.cursor = min(self.cursor, len(self.texts) - 1)
            self._tell()

    def choose(self, target: str) -> None:
        """Take it out and into the box, so that it isn't sent meanwhile."""
        text = self.texts.pop(int(target))
        self._tell()
        self.post_message(self.Edit(text))

    def action_leave(self) -> None:
        """Back to the box."""
        self.post_message(self.Leave())

    def _tell(self) -> None:
        had = self.has_focus and not self.texts
        self.set_class(bool(self.texts), "-some")
        self.changed()
        self.post_message(self.Changed(tuple(self.texts)))
        if had:
            self.post_message(self.Leave())
