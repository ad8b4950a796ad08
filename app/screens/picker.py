"""Pick one of a list by moving or by letters; what is typed may also be taken as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from store.text import safe_text

SHOWN_MOST = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: what is answered, what is shown, and a quiet word beside it."""

    value: str
    label: str
    note: str = ""


class Picker(ModalScreen[str | None]):
    """Answers the chosen value, or what was typed when `free` says how that is taken; None when closed."""

    BINDINGS = [
        Binding("escape", "leave", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], *, free: str = "", empty: str = "Nothing here") -> None:
        super().__init__()
        self._title, self._choices, self._free, self._empty = title, list(choices), free, empty
        self._shown: list[Choice] = []

    def compose(self) -> ComposeResult:
        """A line to narrow the list, and the list."""
        with Vertical(id="box"):
            yield Input(placeholder="Type to narrow" + (f", or {self._free}" if self._free else ""), compact=True)
            yield OptionList(markup=False, compact=True)
            yield Static(Content("↑↓ move   ⏎ choose   Esc"), id="foot")

    def on_mount(self) -> None:
        """Fill it."""
        self.query_one("#box").border_title = Content(safe_text(self._title, one_line=True))
        self.query_one(OptionList).can_focus = False
        self.query_one(Input).focus()
        self._fill("")

    def add(self, choices: Sequence[Choice]) -> None:
        """More choices, found meanwhile."""
        known = {c.value for c in self._choices}
        self._choices.extend(c for c in choices if c.value not in known)
        if self.is_mounted:
            self._fill(self.query_one(Input).value)

    def _fill(self, typed: str) -> None:
        words = typed.casefold().split()
        self._shown = [c for c in self._choices if all(w in f"{c.label} {c.note}".casefold() for w in words)]
        if typed.strip() and self._free and typed.strip() not in {c.value for c in self._shown}:
            self._shown.append(Choice(typed.strip(), typed.strip(), self._free))
        listing = self.query_one(OptionList)
        at = listing.highlighted or 0
        listing.clear_options()
        listing.add_options([Option(_prompt(c)) for c in self._shown[:SHOWN_MOST]])
        if not self._shown:
            listing.add_option(Option(Content.styled(self._empty, "$foreground-muted"), disabled=True))
        else:
            listing.highlighted = 0 if words else min(at, len(self._shown) - 1)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow."""
        event.stop()
        self._fill(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Choose what is highlighted."""
        event.stop()
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._shown):
            self.dismiss(self._shown[at].value)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click chooses too."""
        event.stop()
        if event.option_index < len(self._shown):
            self.dismiss(self._shown[event.option_index].value)

    def action_move(self, by: int) -> None:
        """Move the highlight."""
        listing = self.query_one(OptionList)
        if self._shown:
            listing.highlighted = ((listing.highlighted or 0) + by) % min(len(self._shown), SHOWN_MOST)

    def action_leave(self) -> None:
        """Close, choosing nothing."""
        self.dismiss(None)


def _prompt(choice: Choice) -> Content:
    note = safe_text(choice.note, one_line=True, limit=120)
    return Content.assemble(safe_text(choice.label, one_line=True), (f"   {note}" if note else "", "$foreground-muted"))
