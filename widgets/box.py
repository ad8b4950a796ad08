"""The text area of the message box: what arrives by keys and pastes, and when Enter is really the person's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from store.limits import MESSAGE_CHARS, PASTE_PLACEHOLDER_CHARS

from .marks import count
from .net import NET

BURST_SECONDS: Final = 0.15  # an Enter this soon after a paste, or after keys of the same burst, isn't a person's
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def without_controls(text: str) -> str:
    """What is sent: as typed or pasted, less control characters."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n"))


class Box(TextArea):
    """The text area itself; it shows nothing a terminal obeys and knows what was pasted."""

    DEFAULT_CSS = """
    Box { height: auto; min-height: 1; max-height: 10; border: none; padding: 0 1; background: transparent; }
    Box:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,shift+enter", "newline", "New line", id="composer.newline", show=False),
        Binding("tab", "complete", "Complete", id="composer.complete", show=False),
    ]

    @dataclass
    class Enter(Message):
        """Enter was pressed by the person."""

    @dataclass
    class Up(Message):
        """Up (by -1) or Down (1) where the cursor can't go further."""

        by: int

    @dataclass
    class Complete(Message):
        """Tab."""

    @dataclass
    class Pasted(Message):
        """Something was pasted; cards are deaf for a moment."""

    @dataclass
    class TooLong(Message):
        """A paste longer than any message may be; it isn't taken."""

        chars: int

    def __init__(self) -> None:
        super().__init__(soft_wrap=True, show_line_numbers=False, tab_behavior="focus", compact=True)
        self.aside: dict[str, str] = {}  # a placeholder and the paste it stands for
        self._burst_until = 0.0

    async def _on_key(self, event: events.Key) -> None:
        burst = event.time < self._burst_until
        if burst:
            self._burst_until = event.time + BURST_SECONDS
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            if burst:
                self.insert("\n")
            else:
                self.post_message(self.Enter())
            return
        await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._burst_until = event.time + BURST_SECONDS
        self.take(event.text)
        self.post_message(self.Pasted())

    def take(self, text: str) -> None:
        """Put in a paste: as it is, or kept aside under one placeholder when it is long."""
        text = without_controls(text)
        if len(text) > MESSAGE_CHARS:
            self.post_message(self.TooLong(len(text)))
            return
        if len(text) > PASTE_PLACEHOLDER_CHARS:
            lines = text.count("\n") + 1
            size = count(lines, "line") if lines > 1 else f"{len(text):,} characters"
            mark = f"⟦pasted {len(self.aside) + 1}: {size}⟧"
            self.aside[mark] = text
            text = mark
        start, end = self.selection
        if result := self._replace_via_keyboard(text, start, end):
            self.move_cursor(result.end_location)

    def whole(self) -> str:
        """The text with every placeholder replaced by what it stands for."""
        text = self.text
        for mark, pasted in self.aside.items():
            text = text.replace(mark, pasted, 1)
        return text

    def action_newline(self) -> None:
        """A new line, never a send."""
        start, end = self.selection
        if result := self._replace_via_keyboard("\n", start, end):
            self.move_cursor(result.end_location)

    def action_complete(self) -> None:
        """Tab completes a command, else leaves the box."""
        self.post_message(self.Complete())

    def action_cursor_up(self, select: bool = False) -> None:
        """Up, or the message before where the box is empty."""
        if not select and self.cursor_at_first_line:
            self.post_message(self.Up(-1))
        super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down, or the message after."""
        if not select and self.cursor_at_last_line:
            self.post_message(self.Up(1))
        super().action_cursor_down(select)

    def render_line(self, y: int) -> Strip:
        """As Textual's, with nothing unseen in it, whatever the text holds."""
        strip = super().render_line(y)
        segments = list(strip)
        cleaned = NET.apply(segments, self.background_colors[1])
        return strip if cleaned is segments else Strip(cleaned, strip.cell_length)
