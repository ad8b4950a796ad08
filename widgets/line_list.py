"""A list without a bound (Line API): only the lines in view are drawn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from .line import Line, Piece
from .marks import CURSOR
from .palette import palette, styled


@dataclass(frozen=True, slots=True)
class Item:
    """An entry: `value` is what choosing it means (None: a heading, can't be chosen), `height` its lines."""

    value: Hashable | None
    height: int = 1
    data: object = None


class LineList(ScrollView, can_focus=True):
    """Items of one or more lines with one selected; subclasses draw them."""

    DEFAULT_CSS = """
    LineList { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden;
        scrollbar-color: $foreground 20%; scrollbar-background: $background; }
    LineList:ansi { scrollbar-color: ansi_bright_black; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "edge(1)", "First", show=False),
        Binding("end", "edge(-1)", "Last", show=False),
        Binding("enter", "choose", "Open", show=False),
    ]

    @dataclass
    class Moved(Message):
        """Another item is selected."""

        value: Hashable | None

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.items: list[Item] = []
        self.selected: Hashable | None = None
        self.lively = False  # draw the selection as if it had the focus (a search box has it)
        self.moved = False  # whether the person moved the selection
        self._flat: list[tuple[int, int]] = []  # line of the list: item, line of the item
        self._starts: dict[Hashable, int] = {}
        self._strips: dict[tuple[int, bool, bool], Strip] = {}
        self._look: tuple[object, ...] = ()

    # what a kind of list says for itself

    def draw(self, item: Item, nth: int, width: int) -> Line:
        """Line `nth` of an item."""
        raise NotImplementedError

    def chosen(self, value: Hashable) -> None:
        """Enter or a click on an item."""

    # items

    def set_items(self, items: Sequence[Item]) -> None:
        """Show these; the selection stays on its value, or on the first while the person hasn't moved it."""
        self.items = list(items)
        self._flat = [(at, nth) for at, item in enumerate(self.items) for nth in range(item.height)]
        self._starts = {}
        line = 0
        for item in self.items:
            if item.value is not None:
                self._starts.setdefault(item.value, line)
            line += item.height
        if not self.moved or self.selected not in self._starts:
            self.moved = self.moved and self.selected in self._starts
            self.selected = next(iter(self._starts), None)
        self._strips.clear()
        self.virtual_size = Size(0, len(self._flat))
        self.refresh()

    def select(self, value: Hashable | None) -> None:
        """Select an item and bring it into view."""
        if value in self._starts and value != self.selected:
            self.selected = value
            self._strips.clear()
            self.refresh()
            self.post_message(self.Moved(value))
        self._into_view()

    def _into_view(self) -> None:
        line = self._starts.get(self.selected) if self.selected is not None else None
        if line is not None:
            item = self.items[self._flat[line][0]]
            above = 1 if line and self.items[self._flat[line - 1][0]].value is None else 0
            self.scroll_to_region(Region(0, line - above, 1, item.height + above), animate=False, immediate=True)

    def action_move(self, by: int) -> None:
        """To the next item up or down."""
        values = list(self._starts)
        if not values:
            return
        at = values.index(self.selected) if self.selected in self._starts else -1
        self.moved = True
        self.select(values[max(0, min(at + by, len(values) - 1))])

    def action_page(self, by: int) -> None:
        """A screenful up or down."""
        self.action_move(by * max(1, self.size.height - 2))

    def action_edge(self, end: int) -> None:
        """To the first (1) or the last (-1)."""
        values = list(self._starts)
        if values:
            self.moved = True
            self.select(values[0 if end > 0 else -1])

    def action_choose(self) -> None:
        """Open the selected item."""
        if self.selected is not None:
            self.chosen(self.selected)

    def on_click(self, event: events.Click) -> None:
        """Select what is under the pointer and open it."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        line = offset.y + self.scroll_offset.y
        if line < len(self._flat):
            value = self.items[self._flat[line][0]].value
            if value is not None:
                self.moved = True
                self.select(value)
                self.chosen(value)

    # drawing

    def render_line(self, y: int) -> Strip:
        """One drawn line of the list."""
        width = self.scrollable_content_region.width
        styles = palette(self.app)
        look = (width, id(styles), self.has_focus)
        if look != self._look:
            self._strips.clear()
            self._look = look
        at = y + self.scroll_offset.y
        if at >= len(self._flat):
            return Strip.blank(width, self.rich_style)
        index, nth = self._flat[at]
        item = self.items[index]
        mine = item.value is not None and item.value == self.selected
        key = (at, mine, self.has_focus)
        strip = self._strips.get(key)
        if strip is None:
            gutter: Piece = (CURSOR if mine and not nth else " ", "accent")
            cursor = "cursor" if self.has_focus or self.lively else "resting"
            pieces = (gutter, *self.draw(item, nth, width - 1).pieces)
            if mine:
                pieces = tuple((text, f"{style} {cursor}") for text, style in pieces)
            strip = Strip([Segment(text, styled(styles, style)) for text, style in pieces if text])
            strip = strip.adjust_cell_length(width, styled(styles, cursor) if mine else None)
            strip = self._strips[key] = strip.apply_style(self.rich_style)
        return strip

    def notify_style_update(self) -> None:
        """Colours may have changed."""
        super().notify_style_update()
        self._strips.clear()
