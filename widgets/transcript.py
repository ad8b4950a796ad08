"""The transcript of one chat: a window of rows over what is loaded, paged, followed, searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.message import Message
from textual.reactive import Reactive, ReactiveType
from textual.widget import Widget

from store.rows import AnyRow, SaidRow

from .earlier_row import EarlierRow
from .loaded import Finds, Loaded
from .row import Row
from .rows import widget_for

LIT_SECONDS: Final = 2.0
NEAR: Final = 3  # lines from an edge where the next rows are fetched
LAST: Final = 1 << 60  # the seq of a row that isn't in the log yet


class Transcript(VerticalScroll, can_focus=True, can_focus_children=False):
    """Rows are put in by key; at most `ROWS_MOUNTED` are widgets, the rest wait as models."""

    DEFAULT_CSS = """
    Transcript {
        layout: stream; height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        scrollbar-color: $foreground 20%; scrollbar-color-hover: $foreground 30%;
        scrollbar-background: $background; scrollbar-background-hover: $background;
    }
    Transcript:ansi { scrollbar-color: ansi_bright_black; scrollbar-color-hover: ansi_white; }
    """
    BLANK = True  # nothing of its own to draw: its lines cost nothing
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "row(-1)", "Row above", id="transcript.up", show=False),
        Binding("down,j", "row(1)", "Row below", id="transcript.down", show=False),
        Binding("home,g", "first", "Beginning", id="transcript.first", show=False),
        Binding("end,G", "last", "End", id="transcript.last", show=False),
        Binding("n", "find(1)", "Next find", id="transcript.next", show=False),
        Binding("N", "find(-1)", "Find before", id="transcript.previous", show=False),
        Binding("tab,escape", "leave", "Message box", id="transcript.leave", show=False),
    ]

    @dataclass
    class WantEarlier(Message):
        """The view came to the top of what is loaded; `before` is the oldest loaded row's key."""

        before: str

    @dataclass
    class WantRow(Message):
        """`go_to` was asked for a row that isn't loaded."""

        key: str

    @dataclass
    class FindState(Message):
        """Where the find stands: the `current` (from 1) of `total`; both 0 when there is none."""

        words: str
        current: int
        total: int

    @dataclass
    class Leave(Message):
        """The person wants back to the message box."""

    def __init__(self, *, id: str | None = None, now_ms: int = 0) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.now_ms = now_ms
        self.loaded = Loaded()
        self.finds = Finds()
        self._widgets: dict[str, Row] = {}
        self._above = EarlierRow()
        self._hold: tuple[Widget, int] | None = None  # a row, and how far below the view's top it stays
        self._asked = ""  # the row before which more was asked for
        self._waiting: dict[str, AnyRow] = {}  # changes of this frame
        self._flushing = False

    # what the screen calls

    def show_page(self, rows: Sequence[AnyRow], earlier: int) -> None:
        """Begin anew with the last rows; `earlier` more lie before them."""
        self.loaded.reset(rows, earlier)
        self._asked = ""
        self._waiting.clear()
        self._hold = None
        self._mount_window()
        self._follow()
        self._refind()

    def prepend(self, rows: Sequence[AnyRow], earlier: int) -> None:
        """Older rows came; the line being read stays where it is."""
        fresh = self.loaded.prepend(rows, earlier)
        self._asked = ""
        if fresh and self.is_mounted and self.scroll_y <= NEAR:
            self._more_above()
        else:
            self._say_above()
        self._refind()

    def put(self, row: AnyRow) -> None:
        """A new or changed row; several changes of one frame are drawn once."""
        self._waiting[row.key] = row
        if not self._flushing and self.is_mounted:
            self._flushing = True
            self.call_later(self._flush)

    def stream(self, key: str, text_so_far: str, thinking: str = "", at: int = 0) -> None:
        """The text of a reply that is being written; its row appears with the first letters."""
        old = self._waiting.get(key) or self.loaded.rows.get(key)
        if not isinstance(old, SaidRow):
            self.put(SaidRow(key, at, LAST, "assistant", text_so_far, thinking=thinking, live=True))
        elif old.live:  # else it ended already; a late signal changes nothing
            self.put(replace(old, text=text_so_far, thinking=thinking or old.thinking))

    def drop(self, key: str) -> None:
        """A live row that came to nothing."""
        self._waiting.pop(key, None)
        if self.loaded.drop(key) and (widget := self._widgets.pop(key, None)):
            widget.remove()

    def go_to(self, key: str) -> bool:
        """Show the row, lit for a moment; False (and `WantRow`) when it isn't loaded."""
        self._flush()
        if key not in self.loaded.rows:
            self.post_message(self.WantRow(key))
            return False
        self._bring(key)
        widget = self._widgets[key]
        widget.add_class("-lit")
        self.set_timer(LIT_SECONDS, lambda: widget.remove_class("-lit"))
        current = self.finds.first_in(key)
        if current:
            self._mark_finds()
            self._tell_find()
        self._reveal(widget, widget.find_line(current[1]) if current else 0)
        return True

    def find(self, words: str) -> int:
        """Mark `words` in all loaded rows and go to the last place; answers how many there are. "" ends it."""
        self.finds.at = -1
        self.finds.look(words.strip(), self._models())
        if self.finds.step(-1):
            self._show_find()
        else:
            self._mark_finds()
        self._tell_find()
        return len(self.finds.places)

    @property
    def at_bottom(self) -> bool:
        """Whether new rows are followed."""
        return not self._anchor_released and self.loaded.at_end

    def row_widget(self, key: str) -> Row | None:
        """The widget of a row, where it is mounted."""
        return self._widgets.get(key)

    # the window

    def compose(self) -> ComposeResult:
        """The row that says how much is above."""
        self._above.display = False
        yield self._above

    def on_mount(self) -> None:
        """Follow the end."""
        self._mount_window()
        self._flush()
        self._follow()

    def _follow(self) -> None:
        self.anchor()
        self._anchor_released = False

    def _models(self) -> list[AnyRow]:
        return [self.loaded.rows[key] for key in self.loaded.order]

    def _mount_window(self) -> None:
        """Make exactly the rows of the window widgets."""
        if not self.is_mounted:
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
                widget = self._widgets[key] = self._make(key)
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
            self._focus_row()

    def _make(self, key: str) -> Row:
        widget = widget_for(self.loaded.rows[key], self.now_ms)
        if self.finds.words:
            current = self.finds.current
            widget.look_for(self.finds.words, current[1] if current and current[0] == key else -1)
        return widget

    def _say_above(self) -> None:
        if self.is_mounted:
            self._above.say(self.loaded.hidden_above)

    def _flush(self) -> None:
        """Take in the changes of this frame."""
        self._flushing = False
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        moved = False
        for key, model in waiting.items():
            old = self.loaded.rows.get(key)
            self.loaded.put(model)
            widget = self._widgets.get(key)
            if widget is None or old is None:
                moved = True
            elif old.seq != model.seq or type(old) is not type(model):
                moved = True
                self._widgets.pop(key).remove()
            else:
                widget.show(model)
        if moved:
            if self.at_bottom:
                self.loaded.trim()
            self._mount_window()
        if self.finds.words:
            self._refind()

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
                self._focus_row()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Fetch what is near the edge."""
        super().watch_scroll_y(old_value, new_value)
        if self._hold is not None or not self.is_mounted:
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

    # the row cursor

    def on_focus(self) -> None:
        """The focus belongs to a row."""
        if self._hold is None:
            self._focus_row()

    def _focus_row(self) -> None:
        rows = self._focusable()
        if rows:
            top = self.scroll_offset.y
            last = self.at_bottom
            self._focus(rows[-1] if last else next((r for r in rows if r.virtual_region.y >= top), rows[-1]))

    def _focusable(self) -> list[Row]:
        rows: list[Row] = [self._above] if self._above.display else []
        rows.extend(self._widgets[key] for key in self.loaded.window if key in self._widgets)
        return [row for row in rows if row.can_focus]

    def _focus(self, row: Row) -> None:
        row.focus(scroll_visible=False)
        at = row.virtual_region.y + row.cursor_line()
        if at < self.scroll_offset.y or at >= self.scroll_offset.y + self.size.height:
            self.release_anchor()
            self.scroll_to(y=max(0, at - self.size.height // 2), animate=False, immediate=True)
            self._check_end()

    def action_row(self, by: int) -> None:
        """To the next target of the row, or the next row; a long row is scrolled first."""
        row = self.screen.focused
        rows = self._focusable()
        if not isinstance(row, Row) or row not in rows:
            if rows:
                self._focus(rows[-1])
            return
        if row.move(by):
            self._focus(row)
            return
        region, top, height = row.virtual_region, self.scroll_offset.y, self.size.height
        if (by > 0 and region.bottom > top + height) or (by < 0 and region.y < top):
            self.scroll_relative(y=by * 3, animate=False)
            return
        at = rows.index(row) + by
        if 0 <= at < len(rows):
            rows[at].enter_from(by)
            self._focus(rows[at])
        elif by > 0 and self.loaded.at_end:
            self.post_message(self.Leave())
        elif by > 0:
            self._more_below()
        else:
            self._more_above()

    def action_first(self) -> None:
        """To the top of what is mounted, which fetches more."""
        self.release_anchor()
        self.scroll_home(animate=False, immediate=True)
        self._more_above()

    def action_last(self) -> None:
        """To the end, and follow it."""
        self._hold = None
        self.loaded.tail()
        self._mount_window()
        self._follow()
        rows = self._focusable()
        if rows and isinstance(self.screen.focused, Row):
            rows[-1].focus(scroll_visible=False)

    def action_leave(self) -> None:
        """Back to the message box."""
        self.post_message(self.Leave())

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

    # find

    def action_find(self, by: int) -> None:
        """To the next find or the one before, round the ends."""
        if self.finds.step(by):
            self._show_find()
        self._tell_find()

    def _refind(self) -> None:
        if self.finds.words:
            self.finds.look(self.finds.words, self._models())
            self._mark_finds()

    def _mark_finds(self) -> None:
        key, nth = self.finds.current or ("", -1)
        for row, widget in self._widgets.items():
            widget.look_for(self.finds.words, nth if row == key else -1)

    def _show_find(self) -> None:
        current = self.finds.current
        if current is not None:
            self._bring(current[0])
            self._mark_finds()
            widget = self._widgets[current[0]]
            self._reveal(widget, widget.find_line(current[1]))

    def _tell_find(self) -> None:
        self.post_message(self.FindState(self.finds.words, self.finds.at + 1, len(self.finds.places)))
