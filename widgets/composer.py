"""The message box: Enter sends, ^J makes a line, a long paste is kept aside, what waits is shown above."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from store.limits import MESSAGE_CHARS
from store.text import safe_text

from .box import Box, without_controls
from .command_hints import CommandHints, SlashCommand
from .queue_view import QueueView


def too_long(chars: int) -> str:
    """Why a text isn't taken, and what to do."""
    return f"{chars:,} characters are more than a message can hold ({MESSAGE_CHARS:,}); send it in parts or as a file"


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
    class Go(Message):
        """Enter in an empty box while messages wait: send the first of them, where no reply is written."""

        texts: tuple[str, ...]

    @dataclass
    class Typed(Message):
        """A key or a paste arrived; `pasted` makes cards deaf."""

        pasted: bool = False

    @dataclass
    class Refused(Message):
        """One sentence: why something didn't go into the box or wasn't sent."""

        words: str

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
        self.box.placeholder = Content(safe_text(words, one_line=True, limit=200))

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
        if len(text) > MESSAGE_CHARS:
            self.post_message(self.Refused(too_long(len(text))))
        elif text.strip():
            self.clear()
            self.post_message(self.Sent(text))
        elif self.queue.texts:
            self.post_message(self.Go(tuple(self.queue.texts)))

    @on(Box.TooLong)
    def _too_long(self, event: Box.TooLong) -> None:
        event.stop()
        self.post_message(self.Refused(too_long(event.chars)))

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


__all__ = ["Composer", "SlashCommand"]
