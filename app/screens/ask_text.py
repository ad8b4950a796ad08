"""One line, or several, asked for in a box: a title, a file, someone's words."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static, TextArea

from store.text import safe_text


class AskText(ModalScreen[str | None]):
    """Asks for words; None when closed. With `many` the box has several lines and ^S takes them."""

    BINDINGS = [
        Binding("escape", "leave", show=False),
        Binding("ctrl+s", "take", show=False),
    ]

    def __init__(self, title: str, value: str = "", *, hint: str = "", many: bool = False) -> None:
        super().__init__()
        self._title, self._hint, self._many = title, hint, many
        self._value = safe_text(value, one_line=not many)

    def compose(self) -> ComposeResult:
        """Title, box, hint."""
        with Vertical(id="box", classes="-many" if self._many else ""):
            yield Static(Content(safe_text(self._title, one_line=True)), id="question")
            if self._many:
                yield TextArea(self._value, id="words")
            else:
                yield Input(self._value, id="words", select_on_focus=True, compact=True)
            keys = "^S takes it · Esc leaves it as it was" if self._many else "⏎ takes it · Esc leaves it as it was"
            yield Static(Content(f"{self._hint} · {keys}" if self._hint else keys), id="hint")

    def on_mount(self) -> None:
        """Ready to type."""
        self.query_one("#words").focus()

    def action_leave(self) -> None:
        """Close, changing nothing."""
        self.dismiss(None)

    def action_take(self) -> None:
        """Take the words."""
        box = self.query_one("#words")
        self.dismiss(box.text if isinstance(box, TextArea) else box.value if isinstance(box, Input) else None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in the one-line box."""
        event.stop()
        self.dismiss(event.value)
