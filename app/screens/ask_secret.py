"""Hidden words asked for in a box: a password with its name, a passphrase. What is wrong is said, and the box stays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from app.screens.host import Host
from app.screens.watched import WatchedTasks
from store.text import safe_text

MANY_LINES: Final = "What was pasted has {n} lines, and one line fits here; nothing was taken."
WORKING: Final = "One moment…"


@dataclass(frozen=True, slots=True)
class Field:
    """One line to fill in."""

    words: str
    hidden: bool = True
    most: int = 0  # characters; 0: no limit of its own


class SecretInput(Input):
    """Its words are never shown and never copied; of several lines none is taken, so that no part of a key is."""

    @dataclass
    class TooMany(Message):
        """Several lines were pasted."""

        lines: int

    def on_paste(self, event: events.Paste) -> None:
        """One line, or nothing."""
        lines = len(event.text.strip().splitlines())
        if lines > 1:
            event.prevent_default()
            event.stop()
            self.post_message(self.TooMany(lines))

    def action_copy(self) -> None:
        """A hidden word is never put on the clipboard; nor is a name from here."""

    def action_cut(self) -> None:
        """As above."""


class AskSecret(ModalScreen[bool]):
    """`take` gets what was typed and answers a sentence, or None when it is done: then the box closes (True)."""

    app: Host
    BINDINGS = [
        Binding("escape", "leave", show=False),
        # with priority: the focus has moved before the next key is given out, so no letter lands in the line before
        Binding("enter", "next", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        fields: Sequence[Field],
        take: Callable[[Sequence[str]], Awaitable[str | None]],
        *,
        detail: str = "",
        does: str = "keeps it",
    ) -> None:
        super().__init__()
        self._title, self._fields, self._take = title, tuple(fields), take
        self._detail, self._does = safe_text(detail, limit=1_000), does
        self._tasks = WatchedTasks(lambda error: self.app.fault(error))
        self._taking = False

    def compose(self) -> ComposeResult:
        """Title, what it is about, the lines, what is wrong, the keys."""
        with Vertical(id="box"):
            yield Static(Content(safe_text(self._title, one_line=True)), id="question")
            if self._detail:
                yield Static(Content(self._detail), id="detail")
            for field in self._fields:
                yield Static(Content(field.words), classes="label")
                yield SecretInput(password=field.hidden, max_length=field.most, compact=True)
            yield Static(id="wrong")
            yield Static(Content(f"⏎ {self._does} · Esc leaves it as it was"), id="hint")

    def on_mount(self) -> None:
        """Ready to type."""
        self.query_one("#wrong").display = False
        self.query(SecretInput).first().focus()

    def _say(self, words: str, style: str = "$text-error") -> None:
        wrong = self.query_one("#wrong", Static)
        wrong.display = bool(words)
        wrong.update(Content.styled(safe_text(words, one_line=True, limit=400), style))

    def on_secret_input_too_many(self, event: SecretInput.TooMany) -> None:
        """Say that nothing was taken."""
        event.stop()
        self._say(MANY_LINES.format(n=f"{event.lines:,}"))

    def on_input_changed(self, event: Input.Changed) -> None:
        """What was wrong may be right now."""
        event.stop()
        if event.value and not self._taking:
            self._say("")

    def action_next(self) -> None:
        """The next line, or all of it."""
        boxes = list(self.query(SecretInput))
        at = next((n for n, box in enumerate(boxes) if box is self.focused), len(boxes) - 1)
        if at + 1 < len(boxes):
            self.set_focus(boxes[at + 1])
        elif not self._taking:
            self._taking = True
            self._say(WORKING, "$foreground-muted")
            self._take_in(boxes, [])

    def _take_in(self, boxes: Sequence[SecretInput], values: list[str]) -> None:
        """Read each line once it has taken every key that was typed into it."""
        if len(values) == len(boxes):
            self._tasks.spawn(self._try(values), "secret")
            return
        box = boxes[len(values)]
        box.call_later(lambda: self._take_in(boxes, [*values, box.value]))

    async def _try(self, values: Sequence[str]) -> None:
        try:
            problem = await self._take(values)
        finally:
            self._taking = False
        if not self.is_attached:
            return
        if problem is None:
            self.dismiss(True)
            return
        self._say(problem)
        for box, field in zip(self.query(SecretInput), self._fields, strict=True):
            if field.hidden:
                box.clear()
        first = next(b for b, f in zip(self.query(SecretInput), self._fields, strict=True) if f.hidden)
        first.focus()

    def action_leave(self) -> None:
        """Close; what is being done goes on to its end."""
        if not self._taking:
            self.dismiss(False)

    async def on_unmount(self) -> None:
        """Nothing goes on after it."""
        await self._tasks.close()
