"""The message box: Enter sends, ^J makes a line, a long paste is kept aside, what waits is shown above."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from store.limits import MESSAGE_CHARS, PASTE_PLACEHOLDER_CHARS
from store.text import safe_text

from .line import Line, fit_pieces
from .marks import count
from .net import NET
from .queue_view import QueueView
from .row import Row

BURST_SECONDS: Final = 0.15  # an Enter this soon after a paste, or after keys of the same burst, isn't a person's
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
HINTS_MOST: Final = 6


def without_controls(text: str) -> str:
    """What is sent: as typed or pasted, less control characters."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n"))


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command the box can hint at: its name without the slash, and what it does in a few words."""

    name: str
    words: str


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
        text = without_controls(text)[:MESSAGE_CHARS]
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


class CommandHints(Row):
    """The commands that begin with what was typed after the slash."""

    DEFAULT_CSS = "CommandHints { display: none; }"

    def __init__(self) -> None:
        super().__init__("-commands")
        self.can_focus = False
        self.commands: list[SlashCommand] = []

    def say(self, commands: list[SlashCommand]) -> None:
        """Show these; none hides it."""
        if commands != self.commands:
            self.commands = commands[:HINTS_MOST]
            self.display = bool(commands)
            self.changed()

    def make(self, width: int) -> list[Line]:
        """A line a command; Tab takes the first."""
        wide = max((len(command.name) for command in self.commands), default=0)
        return [
            Line(fit_pieces([(f"/{item.name:{wide}}", "" if at else "key"), (f"  {item.words}", "muted")], width))
            for at, item in enumerate(self.commands)
        ]


class Composer(Vertical):
    """The queue, the box and the command hints of one chat."""

    DEFAULT_CSS = """
    Composer { height: auto; max-height: 60%; border-top: solid $border-blurred; }
    Composer:focus-within { border-top: solid $accent; }
    """

    @dataclass
    class Sent(Message):
        """The person pressed Enter: the whole text, less control characters. A command begins with "/"."""

        text: str

    @dataclass
    class DraftChanged(Message):
        """The box's text changed by the person."""

        text: str

    @dataclass
    class QueueChanged(Message):
        """The person edited, reordered or dropped what waits."""

        texts: tuple[str, ...]

    @dataclass
    class Typed(Message):
        """A key or a paste arrived; `pasted` makes cards deaf."""

        pasted: bool = False

    @dataclass
    class Leave(Message):
        """Up in an empty box with nothing to recall, or Tab: to the transcript."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.box = Box()
        self.queue = QueueView()
        self.hints = CommandHints()
        self.commands: list[SlashCommand] = []
        self._sent: list[str] = []
        self._recalled = -1

    def compose(self) -> ComposeResult:
        """Queue above, hints, then the box."""
        yield self.queue
        yield self.hints
        yield self.box

    # what the screen calls

    def set_hint(self, words: str) -> None:
        """What an empty box says."""
        self.box.placeholder = safe_text(words, one_line=True, limit=200)

    def set_commands(self, commands: Iterable[SlashCommand]) -> None:
        """The commands that "/" lists."""
        self.commands = list(commands)

    def set_recall(self, texts: Sequence[str]) -> None:
        """What Up in an empty box brings back, newest first (this chat's, then others')."""
        self._sent = list(texts)
        self._recalled = -1

    def set_queue(self, texts: Sequence[str]) -> None:
        """What waits for the reply to end."""
        self.queue.set_texts(texts)

    def draft(self) -> str:
        """The text in the box, whole."""
        return without_controls(self.box.whole())

    def set_draft(self, text: str) -> None:
        """Put a draft in; a long one stands as one placeholder."""
        self.box.aside.clear()
        self.box.text = ""
        if text:
            self.box.take(text)

    def clear(self) -> None:
        """Empty the box."""
        self.box.aside.clear()
        self.box.text = ""
        self._recalled = -1

    def focus(self, scroll_visible: bool = True) -> Composer:
        """The focus goes to the box."""
        self.box.focus(scroll_visible)
        return self

    # what the box says

    @on(Box.Enter)
    def _send(self, event: Box.Enter) -> None:
        event.stop()
        text = self.draft()
        if text.strip():
            self.clear()
            self.post_message(self.Sent(text))

    @on(Box.Pasted)
    def _pasted(self, event: Box.Pasted) -> None:
        event.stop()
        self.post_message(self.Typed(pasted=True))

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(self.Typed())
        self.post_message(self.DraftChanged(self.draft()))
        self._hint_commands()

    @on(Box.Up)
    def _recall(self, event: Box.Up) -> None:
        event.stop()
        current = self._sent[self._recalled] if 0 <= self._recalled < len(self._sent) else ""
        if self.box.text and self.box.whole() != current:
            return
        at = self._recalled - event.by
        if at >= len(self._sent):
            if not self.box.text:
                self.post_message(self.Leave())
            return
        self._recalled = max(-1, at)
        text = self._sent[self._recalled] if self._recalled >= 0 else ""
        kept = self._recalled
        self.set_draft(text)
        self._recalled = kept
        self.box.move_cursor(self.box.document.end)

    @on(Box.Complete)
    def _complete(self, event: Box.Complete) -> None:
        event.stop()
        if self.hints.display and self.hints.commands:
            self.set_draft(f"/{self.hints.commands[0].name} ")
        else:
            self.post_message(self.Leave())

    def _hint_commands(self) -> None:
        text = self.box.text
        if not text.startswith("/") or " " in text or "\n" in text:
            self.hints.say([])
            return
        begun = text[1:].casefold()
        self.hints.say([command for command in self.commands if command.name.startswith(begun)])

    @on(QueueView.Changed)
    def _queue_changed(self, event: QueueView.Changed) -> None:
        event.stop()
        self.post_message(self.QueueChanged(event.texts))

    @on(QueueView.Edit)
    def _queue_edit(self, event: QueueView.Edit) -> None:
        event.stop()
        held = self.draft()
        self.set_draft(f"{held}\n{event.text}" if held.strip() else event.text)
        self.box.focus()

    @on(QueueView.Leave)
    def _queue_leave(self, event: QueueView.Leave) -> None:
        event.stop()
        self.box.focus()
