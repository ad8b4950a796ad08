"""A scrolled view on a window of rows: what is mounted, what is fetched at its edges, what stays in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.message import Message
from textual.reactive import Reactive, ReactiveType
from textual.widget import Widget

from .earlier_row import EarlierRow
from .loaded import Loaded
from .row import Row

NEAR: Final = 3  # lines from an edge where the next rows are fetched


class PagedView(VerticalScroll, can_focus=True, can_focus_children=False):
    """Mounts the rows of `loaded.window`, follows the end, and keeps a line in place while rows come or go."""

    DEFAULT_CSS = """
    PagedView {
        layout: stream; height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        scrollbar-color: $foreground 20%; scrollbar-color-hover: $foreground 30%;
        scrollbar-background: $background; scrollbar-background-hover: $background;
    }
    PagedView:ansi { scrollbar-color: ansi_bright_black; scrollbar-color-hover: ansi_white; }
    """
    BLANK = True  # nothing of its own to draw: its lines cost nothing

    @dataclass
    class WantEarlier(Message):
        """The view came to the top of what is loaded; `before` is the oldest loaded row's key."""

        before: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.loaded = Loaded()
        self._widgets: dict[str, Row] = {}
        self._above = EarlierRow()
        self._hold: tuple[Widget, int] | None = None  # a row, and how far below the view's top it stays
        self._ready = False  # rows can be mounted
        self._asked = ""  # the row before which more was asked for

    def make_row(self, key: str) -> Row:
        """The widget of a loaded row."""
        raise NotImplementedError

    def find_focus(self) -> None:
        """The view has the focus and a row should."""

    @property
    def at_bottom(self) -> bool:
        """Whether new rows are followed."""
        return not self._anchor_released and self.loaded.at_end

    def row_widget(self, key: str) -> Row | None:
        """The widget of a row, where it is mounted."""
        return self._widgets.get(key)

    def compose(self) -> ComposeResult:
        """The row that says how much is above."""
        self._above.display = False
        yield self._above

    def _follow(self) -> None:
        if not self._ready:
            return
        self.anchor()
        self._anchor_released = False

    def _mount_window(self) -> None:
        """Make exactly the rows of the window widgets."""
        if not self._ready:
            return
        wanted = self.loaded.window
        keep = set(wanted)
        gone = [key for key in self._widgets if key not in keep]
        if gone:
            if self.screen.focused in [self._widgets[key] for key in gone]:
                self.screen.set_focus(self, scroll_visible=False)  # else Textual scrolls to a row of its choice
            self.remove_children([self._widgets.pop(key) for key in gone])
        fresh: list[Row] = []
        after: Widget = self._above
        for key in wanted:
            widget = self._widgets.get(key)
            if widget is None:
                widget = self._widgets[key] = self.make_row(key)
                fresh.append(widget)
                continue
            if fresh:
                self.mount_all(fresh, after=after)
                fresh = []
            after = widget
        if fresh:
            self.mount_all(fresh, after=after)
        self._say_above()
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        """Rows that don't fill the view: fetch what is above; and a focus that found no row moves to one."""
        if self.max_scroll_y <= 0 and self.loaded.hidden_above and self.size.height:
            self._more_above()
        if self.has_focus and self._hold is None:
            self.find_focus()

    def _say_above(self) -> None:
        if self._ready:
            self._above.say(self.loaded.hidden_above)

    def _more_above(self) -> None:
        """Mount the rows above (or ask for them), the view staying on its line."""
        if self.loaded.low:
            self._keep_place()
            self.loaded.above()
            self._mount_window()
        elif self.loaded.earlier > 0 and self.loaded.order and self._asked != self.loaded.order[0]:
            self._asked = self.loaded.order[0]
            self.post_message(self.WantEarlier(self._asked))

    def _more_below(self) -> None:
        if not self.loaded.at_end:
            self._keep_place()
            self.loaded.below()
            self._mount_window()

    def _keep_place(self) -> None:
        """Remember the first row in view; `arrange` puts it back at its place in the same frame."""
        top = self.scroll_offset.y
        for key in self.loaded.window:
            widget = self._widgets.get(key)
            if widget is not None and widget.size.height and widget.virtual_region.bottom > top:
                self._hold = (widget, widget.virtual_region.y - top)
                return

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """As Textual's, and a held row comes to its place on screen in the same frame."""
        result = super().arrange(size, optimal)
        if self._hold is not None:
            widget, below = self._hold
            place = next((item for item in result.placements if item.widget is widget), None)
            if place is not None:
                most = max(0, result.spatial_map.total_region.bottom - size.height)
                scroll = float(min(place.region.y - below, most))
                self._anchor_released = True
                self.set_reactive(Widget.scroll_y, scroll)
                self.set_reactive(Widget.scroll_target_y, scroll)
                if len(result.placements) == len(self._widgets) + self._above.display:
                    self.call_after_refresh(self._let_go)  # what was to come has come, what was to go has gone
        return result

    def set_reactive(self, reactive: Reactive[ReactiveType], value: ReactiveType) -> None:
        """As Textual's; its anchor would push a transcript shorter than the view down to the view's end."""
        if reactive is Widget.scroll_y or reactive is Widget.scroll_target_y:
            value = cast(ReactiveType, max(0.0, cast(float, value)))
        super().set_reactive(reactive, value)

    def _let_go(self) -> None:
        if self._hold is not None:
            self._hold = None
            self.vertical_scrollbar.position = self.scroll_y
            self._check_end()
            if self.has_focus:
                self.find_focus()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Fetch what is near the edge."""
        super().watch_scroll_y(old_value, new_value)
        if self._hold is not None or not self._ready:
            return
        if new_value < old_value and new_value <= NEAR:
            self.call_later(self._more_above)
        elif new_value > old_value and new_value >= self.max_scroll_y - NEAR:
            self.call_later(self._more_below)

    def _bring(self, key: str) -> None:
        if self.loaded.around(key):
            self._mount_window()

    def _reveal(self, widget: Row, at_line: int) -> None:
        """Bring a line of the row to a third of the view from its top, with the focus if the transcript has it."""
        self._hold = (widget, self.size.height // 3 - at_line)
        self.refresh(layout=True)
        if self.has_focus or self.has_focus_within:
            widget.focus(scroll_visible=False)

    def _check_end(self) -> None:
        """Scrolled to the very end: follow again."""
        if self.loaded.at_end:
            self._check_anchor()

    def on_earlier_row_pressed(self, event: EarlierRow.Pressed) -> None:
        """Fetch what is above."""
        event.stop()
        self._more_above()

    def on_row_resized(self, event: Row.Resized) -> None:
        """A row the person opened or folded keeps its first line where it is, also at the end."""
        event.stop()
        row = event.row
        if row in self._widgets.values():
            self._hold = (row, row.virtual_region.y - self.scroll_offset.y)
