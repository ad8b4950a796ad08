"""A row of the transcript: one leaf widget that draws its own cached lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.geometry import Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from store.rows import AnyRow
from store.rows import Row as RowModel

from .line import Line, find_spans, mark_words
from .marks import CURSOR
from .palette import palette, styled

GUTTERS: Final = 2  # cells left and right of the text; the left one shows the focus


class Row(Widget, can_focus=True):
    """What every row does: lines kept by (version, width), fold, a cursor over its targets, find marks, selection."""

    DEFAULT_CSS = """
    Row { width: 1fr; height: auto; }
    Row.-spaced { margin: 1 0; }
    Row.-lit { background: $accent 25%; }
    Row.-lit:ansi { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "press", "Open", id="row.open", show=False),
        Binding("y", "copy", "Copy", id="row.copy", show=False),
    ]
    spaced: ClassVar[bool] = False  # whether a blank line stands before it
    kind: ClassVar[type[RowModel]] = RowModel  # the models it can show

    @dataclass
    class Copied(Message):
        """The person asked to copy this row's text."""

        text: str

    @dataclass
    class Resized(Message):
        """The row's height may have changed by the person's own hand (fold, show more)."""

        row: Row

    def __init__(self, key: str) -> None:
        super().__init__(classes="-spaced" if self.spaced else None)
        self.key = key
        self.version = 0
        self.cursor = -1  # which target is under the cursor; -1: the row itself
        self.finding = ""
        self.found = -1  # which of the finds in this row is the current one
        self._lines: tuple[tuple[int, int], list[Line]] | None = None
        self._strips: dict[int, Strip] = {}
        self._look: tuple[object, ...] = ()
        self._finds: tuple[tuple[int, int, str], list[list[tuple[int, int, int, bool]]]] | None = None
        self._base: Style | None = None  # the row's own colours
        self._ground = Color(0, 0, 0)
        self._height = -1

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
        return "\n".join(item.plain for item in self.lines(self.text_width) if not item.quiet)

    # lines

    @property
    def text_width(self) -> int:
        """Cells between the gutters."""
        width = self.size.width
        if not width and isinstance(self.parent, Widget):  # not laid out yet
            width = self.parent.scrollable_content_region.width
        return max(4, width - GUTTERS) if width else 80

    def lines(self, width: int) -> list[Line]:
        """The lines at `width`, kept until the row changes; the strips of those that stay the same are kept too."""
        key = (self.version, width)
        if self._lines is None or self._lines[0] != key:
            before = self._lines
            made = self.make(max(4, width))
            self._lines = (key, made)
            if before is None or before[0][1] != width or self.finding:
                self._strips.clear()
            else:
                old = before[1]
                self._strips = {y: s for y, s in self._strips.items() if y < len(made) and old[y] == made[y]}
        return self._lines[1]

    def changed(self) -> None:
        """The row is to be drawn anew: its changed lines, or with a layout when its height changed."""
        before = self._lines
        self.version += 1
        if not self.is_mounted or before is None or before[0][1] != self.text_width:
            self.refresh(layout=True)
            return
        made = self.lines(self.text_width)
        if len(made) != self._height:
            self.refresh(layout=True)
            return
        width = self.size.width
        for y, (old, new) in enumerate(zip(before[1], made, strict=False)):
            if old != new:
                self.refresh(Region(0, y, width, 1))

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Rows take the whole width."""
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many cells as there are lines."""
        self._height = len(self.lines(max(4, width - GUTTERS)))
        return self._height

    def render_lines(self, crop: Region) -> list[Strip]:
        """The drawn lines. Not Textual's way, which would draw every line again whenever the height changes."""
        self._check_look()
        width = self.size.width
        filters = self.get_line_filters()
        strips = []
        for y in crop.line_range:
            strip = self._strip(y, width)
            for item in filters:
                strip = strip.apply_filter(item, self._ground)
            strips.append(strip if crop.width == width else strip.crop(crop.x, crop.right))
        return strips

    def render_line(self, y: int) -> Strip:
        """One drawn line."""
        self._check_look()
        return self._strip(y, self.size.width)

    def _check_look(self) -> None:
        """Forget what was drawn when the row looks otherwise now; a row that is going keeps its look."""
        if not self.is_attached:
            return
        if self._base is None:
            self._base, self._ground = self.rich_style, self.background_colors[1]
            self._strips.clear()
        look = (
            id(palette(self.app)),
            self.has_focus,
            self.cursor,
            self.finding,
            self.found,
            self.text_selection,
        )
        if look != self._look:
            self._strips.clear()
            self._look = look

    def _strip(self, y: int, width: int) -> Strip:
        held = self.lines(self.text_width)
        strip = self._strips.get(y)
        if strip is None:
            base = self._base or Style.null()
            if y >= len(held):
                return Strip.blank(width, base)
            strip = self._strips[y] = self._draw(held[y], y, width, base)
        return strip

    def _draw(self, item: Line, y: int, width: int, base: Style) -> Strip:
        styles = palette(self.app)
        pieces = item.pieces
        if self.finding:
            spans = self._found()[y]
            pieces = mark_words(pieces, [(start, end) for start, end, nth, _ in spans if nth != self.found], "mark")
            pieces = mark_words(pieces, [(start, end) for start, end, nth, _ in spans if nth == self.found], "found")
        selection = self.text_selection if self.is_attached else None
        span = selection.get_span(y) if selection is not None else None
        if span is not None:
            end = len(item.plain) if span[1] == -1 else span[1]
            pieces = mark_words(pieces, [(span[0], end)], "selected")
        if item.target and self.has_focus and item.target == self._target():
            pieces = tuple((text, f"{style} cursor") for text, style in pieces)
        gutter = Segment(CURSOR if self.has_focus else " ", base + styled(styles, "accent"))
        segments = [Segment(text, base + styled(styles, style)) for text, style in pieces if text]
        text = Strip(segments).adjust_cell_length(width - 1, base).apply_offsets(0, y)
        return Strip([gutter, *text], width)

    # the cursor inside a row

    def targets(self) -> list[str]:
        """The distinct targets, top to bottom."""
        seen: dict[str, None] = {}
        for item in self.lines(self.text_width):
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
        held = self.lines(self.text_width)
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
        held = self.lines(self.text_width)
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
        held = self.lines(self.text_width)
        key = (self.version, self.text_width, self.finding)
        if self._finds is None or self._finds[0] != key:
            self._finds = (key, find_spans([item.plain for item in held], self.finding))
        return self._finds[1]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected part of the drawn text."""
        text = "\n".join(item.plain for item in self.lines(self.text_width))
        return selection.extract(text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Colours may have changed."""
        super().notify_style_update()
        self._base = None
