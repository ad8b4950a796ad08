"""A row of the transcript: one leaf widget that draws its own cached lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from store.rows import AnyRow

from .line import Line, find_spans, mark_words
from .palette import palette, styled


class Row(Widget, can_focus=True):
    """What every row does: lines kept by (version, width), fold, a cursor over its targets, find marks, selection."""

    DEFAULT_CSS = """
    Row { width: 1fr; height: auto; padding: 0 1 0 0; border-left: blank; }
    Row:focus { border-left: outer $accent; }
    Row.-spaced { margin: 1 0; }
    Row.-lit { background: $accent 25%; }
    Row.-lit:ansi { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "press", "Open", id="row.open", show=False),
        Binding("c", "copy", "Copy", id="row.copy", show=False),
    ]
    spaced: ClassVar[bool] = False  # whether a blank line stands before it

    @dataclass
    class Copied(Message):
        """The person asked to copy this row's text."""

        text: str

    @dataclass
    class Resized(Message):
        """The row's height may have changed by the person's own hand (fold, show more)."""

        row: Row

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
        self.version = 0
        self.cursor = -1  # which target is under the cursor; -1: the row itself
        self.finding = ""
        self.found = -1  # which of the finds in this row is the current one
        self._lines: tuple[tuple[int, int], list[Line]] | None = None
        self._strips: dict[int, Strip] = {}
        self._look: tuple[object, ...] = ()
        self._finds: tuple[tuple[int, int, str], list[list[tuple[int, int, int, bool]]]] | None = None
        self._height = -1
        self.set_class(self.spaced, "-spaced")

    # what a kind of row says for itself

    def make(self, width: int) -> list[Line]:
        """The row's lines at `width` cells, of harmless text only."""
        raise NotImplementedError

    def show(self, model: AnyRow) -> None:
        """Take a newer model of the same key."""
        self.changed()

    def choose(self, target: str) -> None:
        """Enter, Space or a click on the line with `target`."""

    def press(self) -> None:
        """Enter or Space on the row itself."""

    def source(self) -> str:
        """What copying the row takes."""
        return "\n".join(item.plain for item in self.lines(self.size.width or 80) if not item.quiet)

    # lines

    def lines(self, width: int) -> list[Line]:
        """The lines at `width`, kept until the row changes."""
        key = (self.version, width)
        if self._lines is None or self._lines[0] != key:
            self._lines = (key, self.make(max(4, width)))
            self._strips.clear()
        return self._lines[1]

    def changed(self) -> None:
        """The row is to be drawn anew; the layout runs only when its height changed."""
        self.version += 1
        width = self.content_size.width
        if not self.is_mounted or not width or len(self.lines(width)) != self._height:
            self.refresh(layout=True)
        else:
            self.refresh()

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Rows take the whole width."""
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many cells as there are lines."""
        self._height = len(self.lines(width))
        return self._height

    def render_line(self, y: int) -> Strip:
        """One drawn line, kept while nothing about it changed."""
        width = self.content_size.width
        held = self.lines(width)
        if y >= len(held):
            return Strip.blank(width, self.rich_style)
        selection = self.text_selection
        styles = palette(self.app)
        base = self.rich_style
        look = (id(styles), base, self.cursor if self.has_focus else -1, self.finding, self.found, selection)
        if look != self._look:
            self._strips.clear()
            self._look = look
        strip = self._strips.get(y)
        if strip is None:
            strip = self._strips[y] = self._draw(held[y], y, width, styles, selection).apply_style(base)
        return strip

    def _draw(self, item: Line, y: int, width: int, styles: dict[str, Style], selection: Selection | None) -> Strip:
        pieces = item.pieces
        if self.finding:
            spans = self._found()[y]
            pieces = mark_words(pieces, [(start, end) for start, end, nth, _ in spans if nth != self.found], "mark")
            pieces = mark_words(pieces, [(start, end) for start, end, nth, _ in spans if nth == self.found], "found")
        span = selection.get_span(y) if selection is not None else None
        if span is not None:
            end = len(item.plain) if span[1] == -1 else span[1]
            pieces = mark_words(pieces, [(span[0], end)], "selected")
        if item.target and self.has_focus and item.target == self._target():
            pieces = tuple((text, f"{style} cursor") for text, style in pieces)
        strip = Strip([Segment(text, styled(styles, style)) for text, style in pieces if text])
        return strip.adjust_cell_length(width).apply_offsets(0, y)

    # the cursor inside a row

    def targets(self) -> list[str]:
        """The distinct targets, top to bottom."""
        seen: dict[str, None] = {}
        for item in self.lines(self.content_size.width or 80):
            if item.target:
                seen.setdefault(item.target)
        return list(seen)

    def _target(self) -> str:
        targets = self.targets()
        return targets[self.cursor] if 0 <= self.cursor < len(targets) else ""

    def move(self, by: int) -> bool:
        """Move the cursor among the row's targets; False when it would leave the row."""
        after = self.cursor + by
        if after < -1 or after >= len(self.targets()):
            return False
        self.cursor = after
        self.refresh()
        return True

    def enter_from(self, by: int) -> None:
        """The cursor came in from the row above (by 1) or below (by -1)."""
        self.cursor = -1 if by > 0 else len(self.targets()) - 1
        self.refresh()

    def cursor_line(self) -> int:
        """The line the cursor is on, counted from the row's top."""
        target = self._target()
        held = self.lines(self.content_size.width or 80)
        return next((y for y, item in enumerate(held) if target and item.target == target), 0)

    def action_press(self) -> None:
        """Open what the cursor is on."""
        target = self._target()
        if target:
            self.choose(target)
        else:
            self.press()

    def action_copy(self) -> None:
        """Offer the row's text for the clipboard."""
        self.post_message(self.Copied(self.source()))

    def on_click(self, event: events.Click) -> None:
        """A click opens the line under it; on the first line it presses the row."""
        if self.text_selection is not None:
            return
        offset = event.get_content_offset(self)
        held = self.lines(self.content_size.width)
        if offset is None or not 0 <= offset.y < len(held):
            return
        target = held[offset.y].target
        if target:
            self.cursor = self.targets().index(target)
            self.choose(target)
        elif offset.y == 0:
            self.press()

    # find and selection

    def finds(self) -> int:
        """How many places of this row have the words looked for."""
        return sum(begins for spans in self._found() for *_, begins in spans)

    def find_line(self, nth: int) -> int:
        """The line of the nth find."""
        last = 0
        for y, spans in enumerate(self._found()):
            for _, _, number, _ in spans:
                last = y
                if number >= nth:
                    return y
        return last

    def look_for(self, words: str, current: int = -1) -> None:
        """Mark `words`; the `current` find (or none, -1) stands out."""
        if (words, current) != (self.finding, self.found):
            self.finding, self.found = words, current
            self.refresh()

    def _found(self) -> list[list[tuple[int, int, int, bool]]]:
        """Per line: start, end, number of the find, whether it begins there (one may run over a line's end)."""
        held = self.lines(self.content_size.width or 80)
        key = (self.version, self.content_size.width, self.finding)
        if self._finds is None or self._finds[0] != key:
            self._finds = (key, find_spans([item.plain for item in held], self.finding))
        return self._finds[1]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected part of the drawn text."""
        text = "\n".join(item.plain for item in self.lines(self.content_size.width))
        return selection.extract(text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Colours may have changed."""
        super().notify_style_update()
        self._strips.clear()
