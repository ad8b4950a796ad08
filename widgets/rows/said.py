"""Words in the transcript: the person's, someone else's, forwarded ones, and the assistant's as they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from store.rows import AnyRow, SaidRow
from store.text import safe_text
from widgets.line import Line, Piece, line, wrap
from widgets.links import links_in
from widgets.markdown import lay_out, parse
from widgets.marks import BAR, FOLDED, OPEN, STOPPED, clock_time, count
from widgets.names import person
from widgets.row import Row

from .stream import Growing, cut_text

FIRST_LINES: Final = 300  # lines shown of a long message before "show more"
FIRST_CHARS: Final = 12_000
MORE_TIMES: Final = 8  # each "show more" shows this many times as much


class Said(Row):
    """One message. The assistant's is Markdown; all others are shown letter for letter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "links", "Open an address", id="row.links", show=False),
    ]

    @dataclass
    class Links(Message):
        """The person pressed on a message with these addresses: they may be opened, after a question."""

        addresses: tuple[str, ...]

    spaced: ClassVar[bool] = True

    kind = SaidRow

    def __init__(self, model: SaidRow) -> None:
        super().__init__(model.key)
        self.model = model
        self._grown = Growing()
        self._share = 1  # how many times FIRST_LINES are shown
        self._thinking_open = False

    def show(self, model: AnyRow) -> None:
        """Take the message as it is now."""
        if isinstance(model, SaidRow) and model != self.model:
            if self.model.live and not model.live:
                self._grown = Growing()
            self.model = model
            self.changed()

    def source(self) -> str:
        """The message as it was written."""
        return safe_text(self.model.text)

    def make(self, width: int) -> list[Line]:
        """Who and when, thinking folded, the words, and what is missing."""
        model = self.model
        out: list[Line] = []
        if model.who != "assistant":
            out.append(Line((*self._who(), (f"  {clock_time(model.at)}", "muted")), quiet=True))
        if model.thinking:
            out.extend(self._thinking(width))
        out.extend(self._words(width))
        for item in model.attachments:
            words = safe_text(item.caption, one_line=True) or "no words"
            out.extend(wrap([(f"[{item.kind}: {words}]", "muted")], width))
        if model.unfinished:
            out.append(Line(((f"{STOPPED} Didn't finish; this is what had come", "muted"),), quiet=True))
        return out or [Line((("…", "muted"),))]

    def _who(self) -> tuple[Piece, ...]:
        name = person(self.model.name)
        match self.model.who:
            case "you":
                return (("you", "you"),)
            case "forwarded":
                return (("forwarded from ", "muted"), (name or "someone", "them"), (" · not your words", "muted"))
            case _:
                return ((name or "someone else", "them"),)

    def _thinking(self, width: int) -> list[Line]:
        text = safe_text(self.model.thinking).strip()
        words = count(len(text.split()), "word")
        mark = OPEN if self._thinking_open else FOLDED
        head = Line(((f"{mark} Thinking", "muted"), (f" · {words}", "muted")), "thinking", quiet=True)
        if not self._thinking_open:
            return [head]
        return [head, *wrap([(text, "quote")], width, first=("  ", "")), Line()]

    def _words(self, width: int) -> list[Line]:
        model = self.model
        if model.who == "assistant" and model.live:
            return self._grown.lines(model.text, width)
        body = cut_text(model.text, FIRST_CHARS * self._share)
        if model.who == "assistant":
            lines = lay_out(parse(safe_text(body)), width, whole=self._share > 1)
        else:
            bar = (f"{BAR} ", "rule") if model.who == "forwarded" else ("", "")
            lines = wrap([(safe_text(body).rstrip(), "")], width, first=bar, rest=bar)
        most = FIRST_LINES * self._share
        if len(lines) <= most and len(body) == len(model.text):
            return lines
        hidden = model.text.count("\n", len(body)) + max(0, len(lines) - most)
        words = f"… {count(hidden, 'more line')}" if hidden > 1 else "… cut here"
        return [*lines[:most], line(f"{words} · Enter shows more", "accent", "more")]

    def choose(self, target: str) -> None:
        """Fold or open the thinking, or show more of a long message."""
        if target == "more":
            self._share *= MORE_TIMES
        else:
            self._thinking_open = not self._thinking_open
        self.changed()
        self.post_message(self.Resized(self))

    def press(self) -> None:
        """Enter on the message does what its one fold does."""
        targets = self.targets()
        if targets:
            self.choose(targets[0])
        else:
            self.action_links()

    def action_links(self) -> None:
        """Offer the addresses of the message."""
        addresses = links_in(self.model.text)
        if addresses:
            self.post_message(self.Links(addresses))

    def on_click(self, event: events.Click) -> None:
        """A click on a line with an address offers those of the message."""
        offset = event.get_content_offset(self)
        held = self.lines(self.text_width)
        if self.text_selection is None and offset is not None and 0 < offset.y < len(held):
            pressed = held[offset.y]
            if not pressed.target and "://" in pressed.plain:
                self.action_links()
