"""A row with things to do: a letter each, said at its foot; letters act only on the focused row, past its grace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from store.limits import CARD_DEAF_SECONDS
from widgets.line import Line, Piece
from widgets.row import Row

Deed = tuple[str, str, str]  # letter, action, words


class ActingRow(Row):
    """`deeds()` says what can be done now; each is also a word to click."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "act('pass-on')", "Pass it on", id="row.pass-on", show=False),
        Binding("x", "act('dismiss')", "Dismiss", id="row.dismiss", show=False),
        Binding("o", "act('open')", "Open", id="row.goto", show=False),
        Binding("i", "act('inbound')", "Messages from other chats", id="row.inbound", show=False),
        Binding("c", "act('check')", "Check now", id="row.check", show=False),
        Binding("s", "act('stop')", "Stop", id="row.stop", show=False),
        Binding("r", "act('resume')", "Resume", id="row.retry", show=False),
        Binding("g", "act('start-now')", "Start now", id="row.start-now", show=False),
        Binding("a", "act('allow')", "Allow", id="row.allow", show=False),
        Binding("d", "act('deny')", "Deny", id="row.deny", show=False),
    ]

    @dataclass
    class Acted(Message):
        """The person did one of the row's deeds."""

        row: ActingRow
        action: str

    indent: ClassVar[str] = "  "

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.deaf = False
        self._deaf_timer: Timer | None = None

    def deeds(self) -> list[Deed]:
        """What can be done now."""
        return []

    def hears_late(self) -> None:
        """What it asks is new: take no letter for a moment, since it may be meant for something else."""
        self.deaf = True
        if self._deaf_timer is not None:
            self._deaf_timer.stop()
        if self.is_attached:
            self._deaf_timer = self.set_timer(CARD_DEAF_SECONDS, self._hear)

    def on_mount(self) -> None:
        """Deaf at first."""
        self.hears_late()

    def on_paste(self, event: events.Paste) -> None:
        """What follows a paste isn't meant for it."""
        event.stop()
        self.hears_late()

    def _hear(self) -> None:
        self.deaf = False

    def loud(self) -> bool:
        """Whether the letters are said also while the row hasn't the focus: something waits to be done."""
        return False

    def on_focus(self) -> None:
        """The letters are said."""
        self._foot_may_change()

    def on_blur(self) -> None:
        """Quiet again."""
        self._foot_may_change()

    def _foot_may_change(self) -> None:
        if not self.loud() and self.deeds():
            self.changed()

    def foot(self, width: int) -> Line | None:
        """The line that says the letters; where it is narrow the last ones go without their words."""
        deeds = self.deeds() if self.loud() or self.has_focus else []
        if not deeds:
            return None
        said = [words for _, _, words in deeds]
        for n in range(len(deeds) - 1, -1, -1):
            if len(self.indent) + sum(len(w) + 6 if w else 6 for w in said) - 3 <= width:
                break
            said[n] = ""
        pieces: list[Piece] = [(self.indent, "")]
        for (letter, _, _), words in zip(deeds, said, strict=True):
            pieces += [(f"[{letter}]", "key"), (f" {words}" if words else "", "link"), ("  ", "")]
        return Line(tuple(piece for piece in pieces if piece[0]), quiet=True)

    def action_act(self, action: str) -> None:
        """Do it, if it can be done now."""
        if not self.deaf and any(action == name for _, name, _ in self.deeds()):
            self.post_message(self.Acted(self, action))

    def on_click(self, event: events.Click) -> None:
        """A click on a letter or its word does it; elsewhere it is a row like any other."""
        offset = event.get_content_offset(self)
        held = self.lines(self.text_width)
        foot = self.foot(self.text_width)
        if offset is None or foot is None or not 0 <= offset.y < len(held) or held[offset.y].pieces != foot.pieces:
            super().on_click(event)
            return
        at, letter = 1, ""  # the left gutter
        for text, _ in foot.pieces:
            letter = text[1] if text[:1] == "[" else letter if text.strip() else ""
            if letter and at <= offset.x < at + len(text):
                action = next(name for key, name, _ in self.deeds() if key == letter)
                self.post_message(self.Acted(self, action))
                return
            at += len(text)
