"""A question with two answers; nothing is done by a key that was meant for something else."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from store.text import safe_text


class Confirm(ModalScreen[bool]):
    """Asks; answers True only for the button that says what happens. Esc, or the quiet button, is no."""

    BINDINGS = [
        Binding("escape", "no", show=False),
        Binding("left,right,up,down", "other", show=False),
    ]

    def __init__(self, question: str, detail: str = "", *, yes: str, no: str = "Cancel", danger: bool = False) -> None:
        super().__init__()
        self._question, self._detail = safe_text(question, limit=600), safe_text(detail, limit=2_000)
        self._yes, self._no, self._danger = yes, no, danger

    def compose(self) -> ComposeResult:
        """The box."""
        with Vertical(id="box"):
            yield Static(Content(self._question), id="question")
            if self._detail:
                yield Static(Content(self._detail), id="detail")
            with Horizontal(id="buttons"):
                yield Button(Content(self._no), id="no", compact=True)
                yield Button(Content(self._yes), id="yes", compact=True, variant="error" if self._danger else "primary")

    def on_mount(self) -> None:
        """What can't be undone is never under the finger that is already down."""
        self.query_one("#no" if self._danger else "#yes").focus()

    def action_no(self) -> None:
        """Close without doing it."""
        self.dismiss(False)

    def action_other(self) -> None:
        """Move between the two buttons."""
        self.focus_next()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        event.stop()
        self.dismiss(event.button.id == "yes")
