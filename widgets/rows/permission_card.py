"""A question to the person. It never takes the focus by itself, and only its own letters answer it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from store.limits import CARD_DEAF_SECONDS
from store.rows import PermissionRow
from store.text import safe_text
from widgets.line import Line, Piece, fit_pieces, wrap
from widgets.marks import NEEDS_YOU
from widgets.palette import palette, styled
from widgets.visible import every_character

Choice = Literal["allow", "allow-always", "deny"]
KEYS: Final[dict[str, Choice]] = {"a": "allow", "w": "allow-always", "d": "deny"}
WORDS: Final = {"d": "Deny", "w": "Always", "a": "Allow"}
LONG_CHARS: Final = 600  # a longer question says how long it is


class PermissionCard(Widget, can_focus=True):
    """Deaf for a moment after it appears and after a paste; Enter and Space never answer it."""

    DEFAULT_CSS = """
    PermissionCard { width: 1fr; height: auto; border-left: outer $warning; padding: 0 1; background: $warning 8%; }
    PermissionCard:focus { border-left: outer $accent; background: $accent 15%; }
    PermissionCard:ansi { background: ansi_default; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "answer('a')", "Allow", id="card.allow", show=False),
        Binding("w", "answer('w')", "Always allow", id="card.always", show=False),
        Binding("d", "answer('d')", "Deny", id="card.deny", show=False),
        Binding("tab", "leave", "Rows", show=False),
        Binding("up", "scroll_text(-1)", "Up", show=False),
        Binding("down", "scroll_text(1)", "Down", show=False),
        Binding("pageup", "scroll_text(-5)", "Up", show=False),
        Binding("pagedown", "scroll_text(5)", "Down", show=False),
        Binding("home", "scroll_text(-100000)", "Top", show=False),
        Binding("end", "scroll_text(100000)", "End", show=False),
    ]

    class Leave(Message):
        """Tab: on to the rows."""

    @dataclass
    class Answered(Message):
        """The person answered."""

        key: str
        choice: Choice

    def __init__(self, model: PermissionRow) -> None:
        super().__init__()
        self.key = model.key
        self.model = model
        self.top = 0
        self.seen_end = False
        self.deaf = True
        self.sent: Choice | None = None
        self._hint = ""
        self._deaf_timer: Timer | None = None
        self._lines: tuple[int, list[Line]] | None = None

    @property
    def choices(self) -> str:
        """The letters it takes."""
        request = self.model.request
        return "da" if request is None or request.once or not request.lasting else "dwa"

    def on_mount(self) -> None:
        """Deaf at first: what is being typed isn't meant for it."""
        self.be_deaf()

    def be_deaf(self) -> None:
        """Take no key for the documented moment (it appeared, or something was pasted)."""
        self.deaf = True
        if self._deaf_timer is not None:
            self._deaf_timer.stop()
        self._deaf_timer = self.set_timer(CARD_DEAF_SECONDS, self._hear)
        self.refresh()

    def on_paste(self, event: events.Paste) -> None:
        """What follows a paste isn't meant for it."""
        event.stop()
        self.be_deaf()

    def _hear(self) -> None:
        self.deaf = False
        self.refresh()

    def refuse_again(self) -> None:
        """The answer couldn't be taken: the choices are there again."""
        self.sent = None
        self.refresh()

    def text(self, width: int) -> list[Line]:
        """What will happen, the facts, and why to look twice; whole, never cut short of its end."""
        if self._lines is None or self._lines[0] != width:
            self._lines = (width, self._make(width))
        return self._lines[1]

    def _make(self, width: int) -> list[Line]:
        request = self.model.request
        if request is None:
            return []
        summary = every_character(request.summary or request.tool_name).strip()
        out = wrap([(summary or "Go ahead?", "strong")], width, first=(f"{NEEDS_YOU} ", "warn"))
        detail, preview = request.detail, request.preview
        if not detail and not preview and request.input:
            detail = json.dumps(request.input, ensure_ascii=False, default=str)
        if request.place and request.place not in summary:
            out.extend(wrap([(every_character(request.place).strip(), "muted")], width, first=("  ", "")))
        if preview and preview.strip() not in request.summary:
            out.extend(wrap([(every_character(preview).strip("\n"), "")], width, first=("  ", "")))
        if detail:
            out.extend(wrap([(every_character(detail).strip("\n"), "")], width, first=("  ", "")))
        length = len(request.summary) + len(preview) + len(detail)
        if length > LONG_CHARS:
            out.extend(wrap([(f"{length:,} characters in all", "warn")], width, first=("  ", "")))
        if request.taint:
            caution = safe_text(request.taint, limit=1_000).strip()
            out.extend(wrap([(caution, "muted")], width, first=("  ", "")))
        return out

    def _choice_pieces(self, width: int) -> list[Piece]:
        """A piece for each choice, shorter where the card is narrow."""
        if self.sent is not None:
            return [("  ", ""), ("Saying no…" if self.sent == "deny" else "Allowing…", "muted")]
        style = "muted" if self.deaf else "key"
        words = [f"[{letter}] {WORDS[letter]}" for letter in self.choices]
        if sum(len(word) + 3 for word in words) > width:
            words = [f"[{letter}]" for letter in self.choices]
        pieces: list[Piece] = [("  ", "")]
        for word in words:
            pieces.extend(((word[:3], style), (f"{word[3:]}   ", "")))
        return pieces

    def _most(self) -> int:
        return max(2, self.app.size.height * 2 // 5)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The whole text if it fits in two fifths of the screen, else a window on it; the choices always."""
        return min(len(self.text(width)) + 1, self._most())

    def render_line(self, y: int) -> Strip:
        """A line of the text, a hint, or the choices at the foot."""
        width, height = self.content_size
        styles = palette(self.app)
        held = self.text(width)
        room = height - 1
        if self.top + room >= len(held):
            self.seen_end = True
        if y == height - 1:
            pieces = tuple(self._choice_pieces(width))
            rest = len(held) - self.top - room
            if rest > 0:
                pieces = (*pieces, (f"↓ {rest} more", "accent"))
            if self._hint:
                pieces = ((f"  {self._hint}", "warn"),)
        else:
            pieces = held[self.top + y].pieces if self.top + y < len(held) else ()
        pieces = fit_pieces(pieces, width)
        strip = Strip([Segment(text, styled(styles, style)) for text, style in pieces if text])
        return strip.adjust_cell_length(width).apply_style(self.rich_style)

    def action_scroll_text(self, by: int) -> None:
        """Scroll the text of a long question."""
        room = self.content_size.height - 1
        self.top = max(0, min(self.top + by, len(self.text(self.content_size.width)) - room))
        self._hint = ""
        self.refresh()

    def action_leave(self) -> None:
        """On to the rows."""
        self.post_message(self.Leave())

    def action_answer(self, letter: str) -> None:
        """Answer, unless it is deaf, answered already, or its end wasn't in view (No is always possible)."""
        if self.deaf or self.sent is not None or letter not in self.choices:
            return
        if not self.seen_end and letter != "d":
            self._hint = "Read it to its end first (↓)"
            self.refresh()
            return
        self.sent = KEYS[letter]
        self.refresh()
        self.post_message(self.Answered(self.key, self.sent))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel reads on."""
        event.stop()
        self.action_scroll_text(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel reads back."""
        event.stop()
        self.action_scroll_text(-1)

    def on_click(self, event: events.Click) -> None:
        """A click on a choice is its letter."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y != self.content_size.height - 1:
            return
        at, letter = 0, ""
        for text, _ in self._choice_pieces(self.content_size.width):
            letter = text[1] if text[:1] == "[" else letter
            if letter and at <= offset.x < at + len(text.rstrip()):
                self.action_answer(letter)
                return
            at += len(text)
